"""Forests whose structure comes from a public seed: only their leaves are paid for."""
