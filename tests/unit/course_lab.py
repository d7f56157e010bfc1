"""Programs that stand for those of the lab course, for a walk through it without a lab.

`collect` and the playbook of a sweep run in forks of one process that has loaded the libraries, as
loading them takes longer than the work.
"""

import json
import os
import shutil
import socket
import sys
from pathlib import Path

from synthetic import make_run

from collect.cli import main

ROOT = Path(__file__).parents[2]
STANDS_FOR = {
    "ansible-playbook": 'exec "$PYTHON" -S "$LAB" sweep "$@"',
    "make": """
for t in "$@"; do grep -q "^$t:" "$ROOT/Makefile" || echo "make $t" >> "$FAULTS"; done""",
    "collect": """
words=(); for w in "$@"; do [ "$w" = --watch ] || words+=("$w"); done
"$PYTHON" -S "$LAB" collect "${words[@]}"; code=$?; echo "$code $*" >> "$CODES"; exit $code""",
    "python": 'exec "$PYTHON" "$@"',
    "python3": """
if [ "$2" = venv ]; then mkdir -p "$3/bin"; touch "$3/bin/activate"
else exec "$PYTHON" "$@"; fi""",
    "pip": '[ "$1" = install ] || echo "pip $*" >> "$FAULTS"',
    "sleep": '[ "$1" != 1 ]',  # an endless loop ends at once
    "ssh": 'echo "$*" >> "$REMOTE"; echo "sort.pool1 1 2 3 4 5 20"',
    "systemctl": 'echo "here $*" >> "$REMOTE"',
}
"""Each logs how it was called; a call that would not work in the lab is a fault."""
CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ["SERVER"])
    asked = json.dumps([os.getcwd(), *sys.argv[1:]]).encode()
    socket.send_fds(server, [asked], [1, 2])
    sys.exit(int(server.recv(9) or b"9"))
"""


def some_times(planned, rng):
    """Times of a fork with a level of its own."""
    level = rng.lognormal(0, 0.1)
    return (level * rng.lognormal(0, 0.1, planned.calls * planned.threads)).tolist()


def pretended_sweep(words):
    """Leave what a sweep would: a run made up; refuse what the playbook would refuse."""
    playbook, *options = words
    given = dict(word.split("=", 1) for word in options if word != "-e")
    assert (ROOT / playbook).is_file(), playbook
    assert set(given) == {"study", "profile", "run"}, given
    study = Path("playbooks/studies", given["study"] + ".yml").read_text()
    run = Path("results", given["run"])
    shutil.rmtree(run, ignore_errors=True)  # a sample of that name
    make_run(run, some_times, study=study, profile=given["profile"])
    return 0


def serve(place):
    """Answer at a socket, each request in a fork, until this process is ended."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        while True:
            client, _ = server.accept()
            asked, outputs, *_ = socket.recv_fds(client, 1 << 16, 2)
            if os.fork() == 0:
                os._exit(_answer(client, json.loads(asked), outputs))
            for output in outputs:
                os.close(output)
            client.close()
            os.wait()


def _answer(client, words, outputs):
    directory, program, *arguments = words
    for place, output in enumerate(outputs, start=1):
        os.dup2(output, place)
    os.chdir(directory)
    code = pretended_sweep(arguments) if program == "sweep" else main(arguments)
    sys.stdout.flush()
    client.send(str(code).encode())
    return 0


if __name__ == "__main__":
    # All that the commands load, once.
    import collect.exchange.export
    import collect.planning.night
    import collect.report.compare.show
    import collect.report.page  # noqa: F401

    serve(sys.argv[1])
