"""While a run runs: sealed trials arrive, its status is told, a command of the user's is called."""
