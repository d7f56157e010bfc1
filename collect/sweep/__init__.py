"""What happens around a run: its place in a sweep, its trials pulled, its status, a hook."""
