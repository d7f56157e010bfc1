"""Processes that work beside this one, so that its threads do not wait for one interpreter."""

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedRWPair
from queue import SimpleQueue
from typing import IO, Any, Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")

# Modules are found where this process finds them, and not in the working directory before.
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from collect.cells.readers import serve; serve()"
# Linear algebra, which nobody here asks for, would have threads, and those do not go with forks.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}


class Reader(Generic[A, B]):
    """A process that gives the function of what it is asked, at the other end of a connection.

    It keeps nothing: what it is asked when it has died, or never was, is done in this process.
    """

    def __init__(self, function: Callable[[A], B], connection: socket.socket) -> None:
        """Ask over `connection`."""
        self._function = function
        self._stream: BufferedRWPair | None = connection.makefile("rwb")

    def __call__(self, argument: A) -> B:
        """Give the function of an argument; both go through pickle."""
        if self._stream:
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                _send(self._stream, argument)
                answer: B = _receive(self._stream)
                return answer
            self._stream = None
        return self._function(argument)


@contextmanager
def readers(count: int, function: Callable[[A], B]) -> Iterator[Callable[[A], B]]:
    """Give what applies a function in one of `count` processes; for as many threads at a time.

    pickle must know the function by its name.
    """
    idle: SimpleQueue[Reader[A, B]] = SimpleQueue()

    def apply(argument: A) -> B:
        reader = idle.get()
        try:
            return reader(argument)
        finally:
            idle.put(reader)

    with ExitStack() as stack:
        pairs = [socket.socketpair() for _ in range(count)]
        for ours, _ in pairs:
            idle.put(Reader(function, stack.enter_context(ours)))
        stack.enter_context(_processes(function, [theirs for _, theirs in pairs]))
        yield apply


@contextmanager
def _processes(function: Callable[[A], B], connections: Sequence[socket.socket]) -> Iterator[None]:
    """Run a process for each connection, forked from one that is started anew.

    That one has loaded what they need and has no thread yet whose lock they could wait for.
    """
    numbers = [connection.fileno() for connection in connections]
    process = None
    with suppress(OSError):
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CODE, *sys.path],
            env={**os.environ, **_ENVIRONMENT},
            pass_fds=numbers,
            stdin=subprocess.PIPE,
            # What fails there is done here again, and told; what is printed there is nobody's.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C is for this process alone, which ends the others.
            process_group=0,
        )
        if process.stdin:
            _send(process.stdin, (function, numbers))
    for connection in connections:
        connection.close()
    try:
        yield
    finally:
        if process:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate()


def serve() -> None:
    """Load a function and be forked into one process for each connection; end when all have."""
    function, numbers = _receive(sys.stdin.buffer)
    # The signal to end is for the others, so that nobody else has to wait for those.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in numbers:
        if not os.fork():
            try:
                _answer(function, number, numbers)
            finally:
                os._exit(0)
    for number in numbers:
        os.close(number)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    # The way out by its libraries takes a tenth of a second, for which somebody waits.
    os._exit(0)


def _answer(function: Callable[[Any], Any], number: int, numbers: Sequence[int]) -> None:
    """Answer what is asked over one connection, until nothing more can be."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in numbers:
        if other != number:
            os.close(other)
    stream = socket.socket(fileno=number).makefile("rwb")
    while True:
        _send(stream, function(_receive(stream)))


def _send(stream: IO[bytes] | BufferedRWPair, value: Any) -> None:
    pickle.dump(value, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _receive(stream: IO[bytes] | BufferedRWPair) -> Any:
    return pickle.load(stream)  # noqa: S301 - at the other end is this very program
