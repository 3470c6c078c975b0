"""Attacks on all forests: enumerated small leaves (`exact`), repeated fits (`black_box`), replayed fits (`replay`)."""
