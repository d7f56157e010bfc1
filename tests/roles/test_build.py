"""When the Java programs are built again."""

import hashlib
import os
import subprocess

import pytest
from rendering import Role


@pytest.fixture
def built(tmp_path):
    """A directory of built files that stand for the real ones, and their checksums."""
    dist = tmp_path / "dist"
    dist.mkdir()
    (tmp_path / "pom.xml").touch()
    sums = {}
    for name in ("axis.war", "openmq.zip"):
        (dist / name).write_text(name)
        sums[name] = hashlib.sha256(name.encode()).hexdigest()
    (tmp_path / "artefacts.sha256").write_text(f"{sums['openmq.zip']}  m.zip  org:mq:zip:6.5\n")
    lines = [f"{digest}  {name}\n" for name, digest in sums.items()]
    (dist / "SHA256SUMS").write_text("".join(lines))
    for source in (tmp_path / "pom.xml", tmp_path / "artefacts.sha256"):
        os.utime(source, (1, 1))
    return tmp_path


def why(directory, release="6.5"):
    """Return why the role would build again; nothing if it would not."""
    role = Role("java_apps", java_apps_openmq_version=release)
    task = role.task("main", "has changed or is older than its sources")
    command = role.render(task["ansible.builtin.shell"]["cmd"])
    done = subprocess.run(
        ["sh", "-c", command], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_what_was_built_from_these_sources_is_not_built_again(built):
    assert why(built) == ""
    assert why(built, "6.6") == "another release of OpenMQ was built"
    (built / "Main.java").touch()
    os.utime(built / "dist/SHA256SUMS", (1000, 1000))
    assert why(built) == "./Main.java"
    (built / "dist/SHA256SUMS").unlink()
    assert why(built) == "nothing was built"


@pytest.mark.parametrize("name", ["axis.war", "openmq.zip", "SHA256SUMS"])
@pytest.mark.parametrize("change", ["changed", "lost"])
def test_a_file_that_was_changed_or_lost_after_the_build_is_built_again(built, name, change):
    file = built / "dist" / name
    held, times = file.read_text(), (file.stat().st_atime, file.stat().st_mtime)
    file.unlink()
    if change == "changed":
        file.write_text(held.replace("a", "b").replace("o", "0"))
        os.utime(file, times)  # as a fault of a disk leaves it
    lost = name == "SHA256SUMS" and change == "lost"
    assert why(built) == ("nothing was built" if lost else "what was built has changed")
