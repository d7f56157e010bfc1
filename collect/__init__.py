"""Plans sweeps and turns their sealed logs into cells, statistics, charts and one report."""
