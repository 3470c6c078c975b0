"""The papers' theorems about their forests, as functions of public numbers, and measurements of the same quantities."""
