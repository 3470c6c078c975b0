"""Simulated releases of forests on a table. They are computed from raw rows, so they are for the curator only."""
