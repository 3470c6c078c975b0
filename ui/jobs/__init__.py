"""Background jobs of the pages: simulated releases, sweeps, and baselines; who computes, where, and how long."""
