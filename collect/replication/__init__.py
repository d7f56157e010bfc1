"""A document beside a run: evidence, claims and exhibits."""
