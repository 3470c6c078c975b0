"""Measures of simulated releases. They depend on raw rows: they are for the curator, and never for publication."""
