"""The page Audit: attacks that one can watch."""
