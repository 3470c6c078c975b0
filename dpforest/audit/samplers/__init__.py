"""Checks of the samplers: exact identities, every value of a lane (16 random bits), rare draws, and frequencies."""
