"""Commands of the program `dpforest`: release a forest, predict new rows with it, and verify its file."""
