"""Attacks on all shipped forests: enumeration of small leaves (`exact`), repeated fits (`black_box`), and `replay`."""
