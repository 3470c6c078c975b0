"""The page Releases: predictions of released forests, records of releases, and this computer's ledger."""
