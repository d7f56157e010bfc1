"""The words that an inventory gives ssh reach ssh, and nothing in them is run on the way."""

import json
import os
import shlex
import subprocess

import pytest
from loading import ROOT

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  roles:
    - role: known_host
      known_host_name: worker1
      known_host_address: 127.0.0.1
      known_host_port: 9
      known_host_fingerprint: "SHA256:{fingerprint}"
      known_host_ssh_args: {arguments}
"""


def know(tmp_path, arguments):
    """Let the role ask 127.0.0.1 at a port where nothing answers."""
    play = tmp_path / "play.yml"
    play.write_text(PLAY.format(fingerprint="A" * 43, arguments=json.dumps(arguments)))
    return subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "--inventory", "localhost,", play],
        cwd=tmp_path,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")},
            "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
            "ANSIBLE_NOCOLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", ["$(touch ran)", "); touch ran; (", "-o 'User=a`touch ran`'"])
def test_what_a_shell_would_run_is_not_run(tmp_path, arguments):
    done = know(tmp_path, arguments.replace("ran", str(tmp_path / "ran")))
    assert done.returncode == 2, done.stdout
    assert not (tmp_path / "ran").exists()


def test_words_reach_ssh_as_they_were_quoted(tmp_path):
    known = tmp_path / "known hosts"
    said = tmp_path / "what ssh said"
    options = [f'-oUserKnownHostsFile="{known}"', f"-E{said}"]
    done = know(tmp_path, shlex.join(options))
    assert done.returncode == 2
    assert "shows no ed25519 host key" in done.stdout
    assert "Connection refused" in said.read_text()


def test_quotes_that_do_not_close_are_refused_with_the_line_to_correct(tmp_path):
    done = know(tmp_path, "-o 'User=a")
    assert done.returncode == 2
    assert "correct ansible_ssh_common_args in the inventory" in " ".join(done.stdout.split())
