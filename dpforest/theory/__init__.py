"""What the papers prove of their forests, as functions of public numbers, and the same measured."""
