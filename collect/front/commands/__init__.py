"""The commands that `rackbench` adds to those of `collect`, one in each file."""
