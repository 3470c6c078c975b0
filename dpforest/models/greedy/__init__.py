"""Forests that choose their splits from the data, by the mechanisms of `dpforest.privacy`."""
