"""Attacks on all that is shipped: by enumeration (`exact`), from outside (`black_box`), from inside (`replay`)."""
