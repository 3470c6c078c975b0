"""Commands of the program `dpforest`: release a forest, and predict new rows with it."""
