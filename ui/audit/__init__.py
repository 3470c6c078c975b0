"""The page Audit, which attacks a mechanism while the user watches."""
