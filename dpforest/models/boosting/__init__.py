"""Random trees whose leaves hold noisy gradient sums, one round after another."""
