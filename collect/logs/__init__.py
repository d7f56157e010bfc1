"""The raw log of each trial, read once, and what is counted of it."""
