"""Proven logs become cells."""
