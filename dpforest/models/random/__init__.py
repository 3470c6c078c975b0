"""Forests whose structure comes from a public seed, so their trees cost no budget."""
