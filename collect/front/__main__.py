"""`python -m collect.front` is the program `rackbench`."""

import sys

from collect.start import rackbench

sys.exit(rackbench())
