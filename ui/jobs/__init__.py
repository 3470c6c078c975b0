"""Background jobs of the pages: simulated releases, sweeps and baselines. Also: which job computes, where, how long."""
