"""The page Explore: a forest on a table, and the effect of ε on it."""
