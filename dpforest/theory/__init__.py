"""Theorems of the papers on their forests, as functions of public numbers, and measurements of the same quantities."""
