"""A paper beside a run: evidence, claims and exhibits."""
