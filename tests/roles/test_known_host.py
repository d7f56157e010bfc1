"""The words that an inventory gives ssh reach ssh, and nothing in them is run on the way."""

import contextlib
import json
import os
import pty
import re
import select
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
    said = " ".join(done.stdout.split())
    assert "the quotes of -o 'User=a do not close; correct ansible_ssh_common_args of" in said


FAKE_SSH = r"""#!/bin/bash
known=$(printf '%s\n' "$@" | sed -n 's/^UserKnownHostsFile=//p' | head -n 1)
address=${@: -2:1}
case "$*" in
  -G*) printf 'port 22\nuserknownhostsfile %s\n' "${known:-$HOME/known}" ;;
  *192.0.2.9*)
    printf 'no route\033[0m\r\nPseudo-terminal will not be allocated, as there is none.\r\n' >&2
    exit 255 ;;
  *) echo "$address $(cut -d' ' -f1,2 "$HOME/key.pub")" >"$known" ;;
esac
"""
INVENTORY = """
all:
  children:
    control: {hosts: {localhost: {ansible_connection: local}}}
    nodes:
      vars: {ansible_ssh_common_args: -o IdentitiesOnly=yes}
      hosts: {rack01: {ansible_host: 192.0.2.1}, rack02: {ansible_host: 192.0.2.2}}
"""


@pytest.fixture
def rack(tmp_path):
    """Two nodes that show one key, of which no known_hosts has anything."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text(FAKE_SSH)
    (tmp_path / "bin/ssh").chmod(0o755)
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"]
    subprocess.run(make, check=True)
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    return tmp_path


def fingerprint_of(rack):
    said = subprocess.run(
        ["ssh-keygen", "-l", "-f", rack / "key.pub"], capture_output=True, text=True, check=True
    )
    return said.stdout.split()[1]


def next_of(terminal):
    """Return what a terminal shows next; a blank where it shows nothing for a while."""
    ready, _, _ = select.select([terminal], [], [], 1)
    return os.read(terminal, 4096) if ready else b" "


def trust(rack, answer):
    """Run trust.yml at a terminal at which this is typed; its end and all that it showed."""
    command = [ROOT / ".venv/bin/ansible-playbook", "-i", rack / "hosts.yml", "playbooks/trust.yml"]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        own = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
        path = f"{rack / 'bin'}:{os.environ['PATH']}"
        os.execve(command[0], [str(w) for w in command], own | {"HOME": str(rack), "PATH": path})  # noqa: S606
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone at the end
        while more := next_of(terminal):
            shown += more
            # Ansible throws away what was typed before it reads, so that it is typed again.
            if answer and more == b" " and b"into known_hosts" in shown:
                os.write(terminal, answer.encode() + b"\r")
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, " ".join(re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).split())


def test_the_fingerprints_are_shown_and_written_after_a_yes(rack):
    code, shown = trust(rack, "yes")
    assert code == 0, shown
    assert f"rack01 {fingerprint_of(rack)}" in shown
    assert "ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub" in shown
    known = (rack / "known").read_text().splitlines()
    assert [line.split()[0] for line in known] == ["192.0.2.1", "192.0.2.2"]
    code, shown = trust(rack, "")
    assert code == 0, shown
    assert "Type yes" not in shown


@pytest.mark.parametrize("before", [None, "192.0.2.7 ssh-ed25519 AAAA\n"])
def test_known_hosts_that_is_a_link_stays_one(rack, before):
    (rack / "known").symlink_to("elsewhere/known_hosts")
    behind = rack / "elsewhere/known_hosts"
    behind.parent.mkdir()
    if before:
        behind.write_text(before)
    program = ROOT / "roles/known_host/files/know_host"
    path = f"{rack / 'bin'}:{os.environ['PATH']}"
    subprocess.run(
        [program, "rack01", "192.0.2.1", "22", fingerprint_of(rack)],
        env={**os.environ, "HOME": str(rack), "PATH": path},
        check=True,
    )
    assert (rack / "known").is_symlink()
    text = behind.read_text()
    assert text.startswith(before or "192.0.2.1 ")
    assert "\n192.0.2.1 ssh-ed25519 " in f"\n{text}"


CONFIGURED_SSH = r"""#!/bin/bash
known=$(printf '%s\n' "$@" | sed -n 's/^UserKnownHostsFile=//p' | head -n 1)
words=$*
case $words in *" -p "*) port=${{words#* -p }}; port=${{port%% *}} ;; *) port=2222 ;; esac
case $words in
  -G*) printf '%s\n' "hostname {hostname}" {more} "port $port" "userknownhostsfile $HOME/known" ;;
  *) echo "{place} $(cut -d' ' -f1,2 "$HOME/key.pub")" >"$known" ;;
esac
"""


@pytest.mark.parametrize(
    ("hostname", "alias", "port", "place"),
    [
        ("192.0.2.8", "", "22", "192.0.2.8"),
        ("192.0.2.8", "", "2222", "[192.0.2.8]:2222"),
        ("192.0.2.8", "", "", "[192.0.2.8]:2222"),
        ("192.0.2.8", "rack-one", "22", "rack-one"),
        ("192.0.2.8", "rack-one", "2222", "rack-one"),
        ("rack01", "", "22", "rack01"),
    ],
)
def test_a_key_is_sought_by_the_name_that_ssh_itself_uses(rack, hostname, alias, port, place):
    more = f'"hostkeyalias {alias}"' if alias else ""
    fake = CONFIGURED_SSH.format(hostname=hostname, more=more, place=place)
    (rack / "bin/ssh").write_text(fake)

    def know_host(fingerprint):
        done = subprocess.run(
            [ROOT / "roles/known_host/files/know_host", "rack01", "rack01", port, fingerprint],
            env={**os.environ, "HOME": str(rack), "PATH": f"{rack / 'bin'}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()[0]

    assert know_host("show") == "new"
    know_host(fingerprint_of(rack))
    assert know_host("show") == "known"
    (rack / "key.pub").rename(rack / "former.pub")
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", rack / "new"]
    subprocess.run(make, check=True)
    (rack / "new.pub").rename(rack / "key.pub")
    assert know_host("show") == "other"
    know_host(fingerprint_of(rack))
    assert len((rack / "known").read_text().splitlines()) == 1


def test_without_home_known_hosts_is_that_of_the_account(rack):
    """A unit of systemd; nothing is written."""
    of_the_account = FAKE_SSH.replace("${known:-$HOME/known}", "~/no-such/known")
    (rack / "bin/ssh").write_text(of_the_account.replace("$HOME", str(rack)))
    path = f"{rack / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / "roles/known_host/files/know_host", "rack01", "192.0.2.1", "22", "show"],
        env={**{k: v for k, v in os.environ.items() if k != "HOME"}, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", f"new {fingerprint_of(rack)}\n")


@pytest.mark.parametrize("answer", ["no", "y"])
def test_nothing_is_written_without_a_yes(rack, answer):
    code, shown = trust(rack, answer)
    assert code == 2, shown
    assert "Nothing was written into known_hosts" in shown
    assert not (rack / "known").exists()


def test_a_key_that_changed_is_refused_and_the_others_are_written(rack):
    other = (rack / "key.pub").read_text().split()
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", rack / "new"]
    subprocess.run(make, check=True)
    before = f"192.0.2.1 {other[0]} {other[1]}\n"
    (rack / "known").write_text(before)
    (rack / "new.pub").rename(rack / "key.pub")
    code, shown = trust(rack, "yes")
    assert code == 2, shown
    assert "The host key of rack01 differs from the one in known_hosts" in shown
    assert "replace_node.yml -e node=rack01" in shown
    text = (rack / "known").read_text()
    assert text.startswith(before)
    assert text.splitlines()[1].startswith("192.0.2.2 ")


def test_a_node_that_is_away_is_named_with_the_reason_alone(rack):
    hosts = rack / "hosts.yml"
    hosts.write_text(hosts.read_text().replace("192.0.2.2", "192.0.2.9"))
    code, shown = trust(rack, "yes")
    assert code == 2, shown
    assert "rack02 (192.0.2.9) shows no ed25519 host key: no route[0m. Check" in shown
    assert (rack / "known").read_text().startswith("192.0.2.1 ")
