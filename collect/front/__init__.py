"""The program `rackbench`: one door to playbooks and analysis."""
