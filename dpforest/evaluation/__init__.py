"""Measures of simulated releases. They depend on raw rows, so they are for the curator, and never for publication."""
