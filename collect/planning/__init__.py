"""A night planned from a pilot, and interim analyses of a run that may stop early."""
