"""A bundle of packages that is not the one that was made: refused here, and on the node."""

import hashlib
import os
import re
import subprocess

import pytest
from loading import ROOT

MAKE = ROOT / "roles/bundle/files/make_bundle"
INSTALL = ROOT / "roles/baseline/files/install_from_bundle"
PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {{name: bundle, tasks_from: proven}}
      vars: {{bundle_file: {path}{more}}}
"""


@pytest.fixture
def bundle(tmp_path):
    """What stands for a bundle, with its digest beside it."""
    path = tmp_path / "a bundle.tar"
    path.write_bytes(os.urandom(10_000))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name("a bundle.tar.sha256").write_text(f"{digest}  a bundle.tar\n")
    return path


def change_a_byte(path):
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)


def prove(bundle, more=""):
    """Run the role's proof; its exit status and what it said, on one line."""
    play = bundle.with_name("play.yml")
    play.write_text(PLAY.format(path=f"'{bundle}'", more=more))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "--inventory", "localhost,", play],
        env={**inherited, "ANSIBLE_ROLES_PATH": str(ROOT / "roles"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r"\s+", " ", done.stdout)


def test_the_bundle_that_was_made_is_proven(bundle):
    code, said = prove(bundle)
    assert code == 0, said


def test_a_changed_byte_is_refused_with_both_digests(bundle):
    wanted = hashlib.sha256(bundle.read_bytes()).hexdigest()
    change_a_byte(bundle)
    code, said = prove(bundle)
    assert code == 2
    assert (
        f"wanted SHA-256 {wanted}, found {hashlib.sha256(bundle.read_bytes()).hexdigest()}" in said
    )


def test_a_bundle_without_its_digest_is_refused(bundle):
    bundle.with_name("a bundle.tar.sha256").unlink()
    code, said = prove(bundle)
    assert code == 2
    assert "a bundle.tar.sha256, which is not there" in said


def test_a_digest_that_came_another_way_counts_before_the_one_beside(bundle):
    code, said = prove(bundle, f", bundle_sha256: '{'0' * 64}'")
    assert code == 2
    assert f"wanted SHA-256 {'0' * 64}" in said


@pytest.mark.parametrize("wanted", ["", "0" * 64])
def test_a_node_installs_nothing_of_a_bundle_that_is_not_the_one_that_was_sent(
    bundle, tmp_path, wanted
):
    places = tmp_path / "places"
    places.mkdir()
    done = subprocess.run(
        ["bash", INSTALL, bundle, wanted, "1", "no-such-package"],
        env={**os.environ, "TMPDIR": str(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "nothing of it was installed" in done.stderr
    assert list(places.iterdir()) == []


def test_where_all_of_it_is_installed_the_bundle_is_not_even_read(tmp_path):
    command = ["bash", INSTALL, tmp_path / "no.tar", "", "1", "dpkg", "bash"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_two_bundles_at_once_are_made_one_after_the_other_and_readable_for_all(tmp_path):
    target = tmp_path / "made/trixie.tar"
    tool = tmp_path / "mmdebstrap"
    tool.write_text(
        f"#!/bin/sh\nset -C\necho begun >'{target}.partial' || exit\n"
        f"sleep 0.3\necho whole >>'{target}.partial'\n"
    )
    tool.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    made = [
        subprocess.Popen(
            ["bash", MAKE, target, "trixie", "chrony"],
            env={**os.environ, "PATH": path},
            umask=0o077,
        )
        for _ in range(2)
    ]
    assert [one.wait() for one in made] == [0, 0]
    assert target.read_text() == "begun\nwhole\n"
    for one in (target, target.with_name("trixie.tar.sha256")):
        assert one.stat().st_mode & 0o777 == 0o644
    assert target.parent.stat().st_mode & 0o777 == 0o755
