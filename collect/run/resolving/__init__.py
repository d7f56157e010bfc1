"""A study resolved to one of its profiles: each value found, each level and name checked."""
