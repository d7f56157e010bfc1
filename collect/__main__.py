"""`python -m collect` is the `collect` command."""

import sys

from collect.start import collect

sys.exit(collect())
