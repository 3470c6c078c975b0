"""Background jobs of the pages, which simulate releases and fit models, and the order and limits of this work."""
