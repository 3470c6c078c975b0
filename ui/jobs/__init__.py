"""Background jobs of the pages: simulated releases, sweeps and baselines. Also their order, processes and limits."""
