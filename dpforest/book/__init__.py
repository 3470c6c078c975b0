"""A ledger across releases: what all releases on the same people cost together, kept in a file that survives."""
