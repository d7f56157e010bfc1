"""Runs `true` once for each of N combinations, as execo's documentation shows: N SSH_OPTIONS HOST.

It runs in an environment of its own (requirements.txt next to this file).
"""

import sys
import tempfile

from execo import Host, Remote
from execo_engine import ParamSweeper, sweep


def main() -> int:
    number, *options, host = sys.argv[1:]
    connection = {"ssh_options": tuple(options)}
    with tempfile.TemporaryDirectory() as state:
        sweeper = ParamSweeper(state, sweep({"replicate": list(range(int(number)))}))
        while combination := sweeper.get_next():
            if not Remote("true", [Host(host)], connection_params=connection).run().ok:
                return 1
            sweeper.done(combination)
    return 0


if __name__ == "__main__":
    sys.exit(main())
