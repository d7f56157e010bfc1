"""The exit codes of every command."""

GOOD, FINDINGS, BAD_INPUT = 0, 1, 2
EXIT_CODES = "exit codes: 0 success, 1 findings, 2 bad usage or input"
