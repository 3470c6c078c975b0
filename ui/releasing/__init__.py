"""The release of a forest: its button and dialog, the book of this computer, and the ledger of the session."""
