"""The page Releases: use of released forests, records of releases, and the ledger of this computer."""
