"""The public schema and the way in: from files and frames to codes, every cell by itself."""
