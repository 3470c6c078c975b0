"""Tests of the ledger across releases."""
