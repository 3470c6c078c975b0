"""Modules that several pages share."""
