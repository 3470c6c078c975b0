"""The page Audit, which shows attacks live."""
