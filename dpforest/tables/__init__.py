"""The public schema of a table, and readers that turn each cell of a file or data frame into a code independently."""
