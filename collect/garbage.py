"""Python's search for objects that only hold each other, put off while much is made that stays."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Make no such search while the function runs, nor later among what was there at its end.

    Ten thousand records, which all stay, would be gone through again and again. So this is for what
    is called a few times in a process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()


# At the end of the process some libraries look whether they were freed.
atexit.register(gc.unfreeze)
