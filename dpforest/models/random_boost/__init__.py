"""Random trees whose leaves say gradients, one noisy round after another."""
