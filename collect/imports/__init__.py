"""Measurements of other tools as runs, so that they can be laid beside ours."""
