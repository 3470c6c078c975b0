"""The meaning of a guarantee for one person, and the success of simulated attacks."""
