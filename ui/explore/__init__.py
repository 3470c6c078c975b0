"""The page Explore: a forest on a table, and what ε does to it."""
