"""Simulated releases of forests on a table, for the curator only, because the results are computed from raw rows."""
