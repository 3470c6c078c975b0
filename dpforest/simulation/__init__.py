"""Simulated releases of forests on a table. They are computed from raw rows, for whoever holds the table."""
