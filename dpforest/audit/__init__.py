"""Attacks on all shipped forests: by enumeration (`exact`), on fits as black boxes (`black_box`), and by `replay`."""
