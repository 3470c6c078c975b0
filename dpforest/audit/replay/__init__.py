"""Attacks from inside: record a fit, replay it on a neighboring table with the same draws."""
