"""Checks of the samplers: exact identities, every value of a lane, forced rare draws, and frequencies."""
