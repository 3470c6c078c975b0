"""The public schema, and readers of files and data frames. Readers turn each cell into a code independently."""
