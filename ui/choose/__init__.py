"""The page Choose ε: from an accuracy or a risk to a budget."""
