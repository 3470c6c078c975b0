"""Projects, which the app saves without being asked: what a user stated about a file, without the file's rows."""
