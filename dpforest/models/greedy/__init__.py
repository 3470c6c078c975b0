"""Forests that choose their splits from the data, through the door."""
