"""Measures of simulated releases. They depend on raw rows, so only the curator (the data holder) may see them."""
