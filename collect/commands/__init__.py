"""The commands of `collect`, one in each file: what `add` asks for and what `run` does with it."""
