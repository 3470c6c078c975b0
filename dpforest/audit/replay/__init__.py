"""Attacks by replay: record a fit, and replay it on a neighboring table with the same draws."""
