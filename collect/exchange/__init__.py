"""The formats of other tools, in and out."""
