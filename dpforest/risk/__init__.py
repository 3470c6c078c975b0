"""Bounds on the risk of one person under a guarantee, and success rates of simulated attacks."""
