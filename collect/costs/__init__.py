"""What a call costs: its parts, its packets, its processor time, and what limits it."""
