"""A Debian archive that the installer can be loaded from, where the nearest one cannot serve it.

Mirrors made for apt often lack the newest installer components (udebs). The tests then install
with the point release before: its kernel, its components, and an index that names those. Nothing
signs such an index, so the tests' machines are told to do without; a whole archive needs no help.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import re
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SUITE = "trixie"
INDEX = "main/debian-installer/binary-amd64/Packages"
IMAGES = "debian-installer-13-netboot-amd64"
UNSIGNED = "debian-installer/allow_unauthenticated=true"
READERS = 12
PAUSES_S = (1, 2, 4)

Entry = dict[str, str]


class Mirror:
    """The archive that apt uses on this machine."""

    def __init__(self) -> None:
        asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
        wanted = ["Created-By: Packages", "Origin: Debian", "Component: main"]
        listed = subprocess.run([*asked, *wanted], capture_output=True, text=True, check=True)
        self.uri = listed.stdout.splitlines()[0].rstrip("/")

    def read(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(f"{self.uri}/{path}", method=method)  # noqa: S310
        for pause_s in PAUSES_S:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                    return bytes(answer.read())
            except urllib.error.HTTPError:
                raise
            except urllib.error.URLError:
                time.sleep(pause_s)
        raise ConnectionError(f"the archive does not answer for {path}")

    def holds(self, path: str) -> bool:
        try:
            self.read(path, "HEAD")
        except urllib.error.HTTPError:
            return False
        return True


def usable_archive(scratch: Path) -> dict[str, object]:
    """The inventory's settings for the nearest archive: none where it is whole, or else those of
    one that is mended in `scratch`.
    """
    mirror = Mirror()
    entries = parse(lzma.decompress(mirror.read(f"dists/{SUITE}/{INDEX}.xz")).decode())
    lost = set(missing(mirror, entries))
    if not lost:
        return {}
    earlier = earlier_installer(mirror, scratch)
    # What is built from one source has one version.
    versions = {place(e): earlier[e["Package"]] for e in entries if e["Package"] in earlier}
    earlier |= {e["Package"]: versions[place(e)] for e in entries if place(e) in versions}
    mended = {entry["Package"]: entry for entry in entries if place(entry) not in lost}
    gone = [entry for entry in entries if place(entry) in lost]
    with ThreadPoolExecutor(READERS) as readers:
        for before in readers.map(lambda entry: earlier_entry(mirror, entry, earlier), gone):
            if before:
                mended.setdefault(before["Package"], before)
    write_index(mirror, mended.values(), scratch / "archive")
    return {
        "netboot_installer_dir": str(scratch / "installer"),
        "netboot_mirrors": [f"copy://{scratch}/archive", mirror.uri],
        "netboot_kernel_options": [UNSIGNED],
    }


def parse(index: str) -> list[Entry]:
    """The packages of an index."""
    fields = re.compile(r"^([A-Za-z0-9-]+): (.*(?:\n .*)*)", re.MULTILINE)
    return [dict(fields.findall(part)) for part in index.split("\n\n") if part.strip()]


def place(entry: Entry) -> str:
    """The source and version of a package: what is uploaded together is there together."""
    return entry["Filename"].rpartition("/")[0] + " " + entry["Version"]


def missing(mirror: Mirror, entries: Iterable[Entry]) -> Iterator[str]:
    """The places of which the mirror does not hold the files."""
    samples = {place(entry): entry["Filename"] for entry in entries}
    with ThreadPoolExecutor(READERS) as readers:
        held = readers.map(mirror.holds, samples.values())
        yield from (at for at, there in zip(samples, held, strict=True) if not there)


def earlier_installer(mirror: Mirror, scratch: Path) -> dict[str, str]:
    """Lay down kernel and initrd of the release before; the version of each component in it."""
    index = lzma.decompress(mirror.read(f"dists/{SUITE}/main/binary-amd64/Packages.xz")).decode()
    (newest,) = re.findall(rf"^Filename: (\S+/{IMAGES}_\S+)$", index, re.MULTILINE)
    base, update = re.fullmatch(r"(.*deb13u)(\d+)_all\.deb", newest).groups()  # type: ignore[union-attr]
    package = scratch / "images.deb"
    package.write_bytes(mirror.read(f"{base}{int(update) - 1}_all.deb"))
    subprocess.run(["dpkg-deb", "-x", package, scratch / "images"], check=True)
    (kernel,) = (scratch / "images").rglob("text/debian-installer/amd64/linux")
    (scratch / "installer").mkdir()
    for name in ("linux", "initrd.gz"):
        (scratch / "installer" / name).write_bytes((kernel.parent / name).read_bytes())
    listing = subprocess.run(
        ["cpio", "--quiet", "--to-stdout", "-i", "var/lib/dpkg/status"],
        input=gzip.decompress((kernel.parent / "initrd.gz").read_bytes()),
        capture_output=True,
        check=True,
    )
    return {entry["Package"]: entry["Version"] for entry in parse(listing.stdout.decode())}


def earlier_entry(mirror: Mirror, entry: Entry, earlier: dict[str, str]) -> Entry | None:
    """A component as it was before, or None where the mirror does not hold that either."""
    path = earlier_file(entry, earlier)
    try:
        content = mirror.read(path)
    except urllib.error.HTTPError:
        return None
    (control,) = parse(control_of(content))
    digest = hashlib.sha256(content).hexdigest()
    return {**control, "Filename": path, "Size": str(len(content)), "SHA256": digest}


def earlier_file(entry: Entry, earlier: dict[str, str]) -> str:
    """Where the component of the release before lies."""
    directory, _, name = entry["Filename"].rpartition("/")
    package, version, machine = name.split("_")
    kernels = [other for other in earlier if other.startswith("kernel-image-")]
    if abi := re.search(r"-(\d+\.\d+\.\d+\+deb13-amd64-di)$", package):
        kept = kernels[0].removeprefix("kernel-image-")
        package, version = package.replace(abi.group(1), kept), earlier[kernels[0]]
    elif package in earlier:
        version = earlier[package].partition(":")[2] or earlier[package]
    elif rebuilt := re.fullmatch(r"(.*\+b)(\d+)", version):
        version = f"{rebuilt.group(1)}{int(rebuilt.group(2)) - 1}"
    return f"{directory}/{package}_{version}_{machine}"


def control_of(package: bytes) -> str:
    """The control file of a .udeb."""
    found = subprocess.run(
        ["dpkg-deb", "--ctrl-tarfile", "/dev/stdin"], input=package, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as files:
        control = files.extractfile("./control")
        assert control is not None
        return control.read().decode()


def write_index(mirror: Mirror, entries: Iterable[Entry], root: Path) -> None:
    """Write the index and a Release file with its checksum."""
    text = "\n".join(
        "".join(f"{name}: {value}\n" for name, value in entry.items()) for entry in entries
    )
    packed = lzma.compress(text.encode())
    suite = root / "dists" / SUITE
    (suite / INDEX).parent.mkdir(parents=True)
    (suite / f"{INDEX}.xz").write_bytes(packed)
    release = mirror.read(f"dists/{SUITE}/Release").decode()
    digest = hashlib.sha256(packed).hexdigest()
    line = re.compile(rf"^ [0-9a-f]{{64}} +\d+ {re.escape(INDEX)}\.xz$", re.MULTILINE)
    release, found = line.subn(f" {digest} {len(packed)} {INDEX}.xz", release)
    assert found == 1
    # The other forms of the index are not there, and have no checksum that anyone could look up.
    release = re.sub(
        rf"^ [0-9a-f]+ +\d+ {re.escape(INDEX)}(\.gz)?\n", "", release, flags=re.MULTILINE
    )
    (suite / "Release").write_text(release)
