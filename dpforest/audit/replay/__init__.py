"""Attacks by replay: record a fit, and repeat it on a neighboring table with the same random draws."""
