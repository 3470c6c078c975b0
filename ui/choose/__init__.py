"""The page Choose ε: the smallest ε for an accuracy, and what an ε means."""
