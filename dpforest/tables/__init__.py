"""The public schema, and the readers of files and frames: every cell becomes a code by itself."""
