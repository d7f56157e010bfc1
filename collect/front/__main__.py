"""`python -m collect.front` is the program `rackbench`."""

import sys

from collect.front.cli import main

sys.exit(main())
