"""Projects that save themselves: what a user stated about a file, without its rows."""
