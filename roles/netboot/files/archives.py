"""Debian archives for the installers, each file fetched once."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import threading
from collections import Counter, defaultdict
from pathlib import Path

from plan import Plan

FETCH_S = 600
FETCHES_AT_ONCE = 8
RESERVE_BYTES = 1 << 30
# An install needs about a thousand packages and requests some dozen indices that do not exist.
FETCHES_OF_ONE = 5000
MISSES_OF_ONE = 500

_INDEX = r"(?:In)?Release(?:\.gpg)?|Packages|[A-Za-z0-9_-]+(?:\.yml)?\.(?:xz|gz|bz2|lzma|zst)"
_FILE = re.compile(
    r"/([a-z-]+)/((?:pool/(?:[A-Za-z0-9.+_~:-]+/)+[A-Za-z0-9.+_~:-]+\.u?deb)"
    rf"|(?:dists/(?:[A-Za-z0-9.+_~:-]+/)+(?:{_INDEX}|by-hash/[A-Za-z0-9]+/[0-9a-f]+)))"
)


class Archives:
    """Debian archives, each file fetched once by apt's own helper.

    This class checks nothing: installer and apt check all files against Debian's signatures. It
    limits how much one machine can make this host fetch, and keeps some of the disk free.
    """

    def __init__(self, plan: Plan) -> None:
        """Begin with the files of earlier installs, or with an empty directory."""
        plan.cache.mkdir(parents=True, exist_ok=True)
        self._plan = plan
        self._lock = threading.Lock()
        self._locks: dict[Path, threading.Lock] = defaultdict(threading.Lock)
        self._fetched: set[Path] = set()
        self._fetches: Counter[str] = Counter()
        self._misses: Counter[str] = Counter()
        self._slots = threading.BoundedSemaphore(FETCHES_AT_ONCE)
        self._numbers = itertools.count()

    def file(self, path: str, address: str) -> Path | None:
        """Return the file of an archive for a machine, or None if the archive has no such file."""
        place = _FILE.fullmatch(path)
        if place is None or place.group(1) not in self._plan.archives or "/../" in path:
            return None
        archive, inner = place.groups()
        kept = self._plan.cache / archive / inner
        # Files there never change; indices are fetched once in each run.
        if not (is_lasting(inner) and kept.is_file()) and self._may_fetch(kept, address):
            with self._locks[kept]:
                if kept not in self._fetched:
                    self._fetch(archive, inner, kept, address)
        return kept if kept.is_file() else None

    def _may_fetch(self, kept: Path, address: str) -> bool:
        with self._lock:
            if kept in self._fetched or kept in self._locks:
                return kept not in self._fetched
            if (
                self._fetches[address] >= FETCHES_OF_ONE
                or self._misses[address] >= MISSES_OF_ONE
                or shutil.disk_usage(self._plan.cache).free < RESERVE_BYTES
            ):
                return False
            self._fetches[address] += 1
            self._locks[kept]  # made under the lock of all
            return True

    def _fetch(self, archive: str, inner: str, kept: Path, address: str) -> None:
        with self._slots:
            uris = (f"{mirror.rstrip('/')}/{inner}" for mirror in self._plan.archives[archive])
            found = any(self._load(uri, kept) for uri in uris)
        with self._lock:
            if found or not is_lasting(inner):
                self._fetched.add(kept)
            else:
                # An index names it, so it was out of reach: the next request tries again.
                self._locks.pop(kept, None)
            self._misses[address] += not found

    def _load(self, uri: str, target: Path) -> bool:
        """Fetch one file; if the archive lacks it, leave no file."""
        partial = self._plan.cache / f".partial-{next(self._numbers)}"
        partial.unlink(missing_ok=True)
        try:
            done = subprocess.run(
                [*self._plan.fetch, uri, str(partial)],
                capture_output=True,
                check=False,
                timeout=FETCH_S,
            )
            if done.returncode or not partial.is_file():
                return False
            target.parent.mkdir(parents=True, exist_ok=True)
            partial.replace(target)
        except (OSError, subprocess.TimeoutExpired):
            return False
        finally:
            partial.unlink(missing_ok=True)
        return True


def is_lasting(inner: str) -> bool:
    """Return whether a file of an archive never changes."""
    return inner.startswith("pool/") or "/by-hash/" in inner
