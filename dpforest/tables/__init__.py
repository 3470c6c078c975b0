"""The public schema, and the readers of files and data frames: each cell becomes a code independently of others."""
