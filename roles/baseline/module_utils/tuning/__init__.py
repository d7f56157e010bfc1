"""What the module tuning sets, a file a subject."""
