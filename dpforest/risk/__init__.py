"""What a guarantee means for one person, and what attackers achieve."""
