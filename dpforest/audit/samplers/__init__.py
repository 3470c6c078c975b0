"""Attacks on the samplers: exact identities, every lane, forced tails, frequencies."""
