"""The parts of the module virtual_lab, each with its subject."""
