"""Processes that work beside this one, so that its threads do not wait for one interpreter."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from queue import SimpleQueue
from typing import IO, Any, Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")

# Modules are found where this process finds them, and not in the working directory before.
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from collect.readers import serve; serve()"
# Threads for linear algebra, which nobody here asks for, would make the start half as long again.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}


class Apply(Protocol):
    """Gives a function of an argument."""

    def __call__(self, function: Callable[[A], B], argument: A) -> B:
        """Give `function(argument)`."""


class Reader:
    """A process that is started anew, not forked, so that no thread's lock is caught in it.

    It keeps nothing: what it is asked when it has died, or could not start, is done in this one.
    """

    def __init__(self) -> None:
        """Start the process; it ends when this one does."""
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE, *sys.path],
                env={**os.environ, **_ENVIRONMENT},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # What fails there is done here again, and told.
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for this process alone, which ends the other.
                process_group=0,
            )

    def __call__(self, function: Callable[[A], B], argument: A) -> B:
        """Give `function(argument)`; pickle must know both, the function by its name."""
        process = self._process
        if process and process.stdin and process.stdout:
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                _send(process.stdin, (function, argument))
                answer: B = _receive(process.stdout)
                return answer
            self.close()
        return function(argument)

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@contextmanager
def readers(count: int) -> Iterator[Apply]:
    """Give what applies a function in one of `count` processes; for as many threads at a time."""
    idle: SimpleQueue[Reader] = SimpleQueue()

    def apply(function: Callable[[A], B], argument: A) -> B:
        reader = idle.get()
        try:
            return reader(function, argument)
        finally:
            idle.put(reader)

    with ExitStack() as stack:
        for _ in range(count):
            reader = Reader()
            stack.callback(reader.close)
            idle.put(reader)
        yield apply


def serve() -> None:
    """Be the process of a Reader: answer what is asked, until nothing more can be."""
    answers = sys.stdout.buffer
    # What anything prints must not come between the answers.
    sys.stdout = sys.stderr
    with suppress(EOFError):
        while True:
            function, argument = _receive(sys.stdin.buffer)
            _send(answers, function(argument))


def _send(stream: IO[bytes], value: Any) -> None:
    pickle.dump(value, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    return pickle.load(stream)  # noqa: S301 - at the other end is this very program
