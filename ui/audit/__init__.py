"""The page Audit, which attacks a mechanism while the user watches.

The attack yields a lower bound on the privacy loss of the mechanism.
"""
