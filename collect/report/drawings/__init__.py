"""Drawings of the page: what stands where, in percent of a width that fits every screen."""
