"""Attacks from inside: record a fit, replay it on a neighbouring table with the same draws."""
