"""Simulated releases: what forests on a table would look like if they were released, for whoever holds the table."""
