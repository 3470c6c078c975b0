"""Projects: what a user stated about a file, without the rows of the file. The app saves projects by itself."""
