"""The exit codes of every command."""

GOOD, FINDINGS, BAD_INPUT = 0, 1, 2
