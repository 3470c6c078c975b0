"""The page Compare: forests side by side."""
