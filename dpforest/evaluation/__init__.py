"""Simulated releases and what they are worth: for looking at, never for publishing."""
