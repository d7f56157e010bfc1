"""`python -m collect` is the `collect` command."""

import sys

from collect.cli import main

sys.exit(main())
