"""A paper next to a run: evidence, claims and exhibits."""
