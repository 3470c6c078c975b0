"""Attacks on all shipped forests: by enumeration (`exact`), as a black box (`black_box`), and by replay (`replay`)."""
