"""`rackbench doctor` and `rackbench trust`: what is missing, and which keys are taken in."""

import subprocess
import time

import pytest

from collect.front import ssh
from collect.front.cli import main
from collect.front.commands import doctor, trust
from collect.front.inventory import Node, read_inventory
from collect.front.kit import Kit


def node(name="worker1", address="192.0.2.7", port=22, arguments=""):
    return Node(name, address, port, "me", "", arguments, ("workers",))


def host_key(directory, name):
    """A key as a machine would show it."""
    file = directory / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
    public = " ".join((directory / f"{name}.pub").read_text().split()[:2])
    listed = subprocess.run(["ssh-keygen", "-l", "-f", f"{file}.pub"], capture_output=True, text=True, check=True)
    return public, listed.stdout.split()[1]


def test_a_half_filled_inventory_is_a_finding_with_what_mends_it(checkout, capsys):
    checkout.have(client1="FILL-IN")
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "client1 has no address yet" in said
    assert "mend: ${EDITOR:-nano}" in said


def test_every_machine_is_asked_and_each_finding_has_its_mend(checkout, capsys, monkeypatch):
    checkout.have(workers=2)
    said = {
        "client1": f"{time.time():.3f}\ncan-sudo\nhas-python\nmemory-mb 4000",
        "broker1": f"{time.time() - 90:.3f}\ncan-sudo\nhas-python\nmemory-mb 4000",
        "worker1": f"{time.time():.3f}\nmemory-mb 900",
        "worker2": "",
    }

    def answer(asked, command):
        code = 0 if said[asked.name] else 255
        return subprocess.CompletedProcess([], code, said[asked.name], "Permission denied")

    monkeypatch.setattr(doctor, "_closed", lambda asked: "")
    monkeypatch.setattr(doctor, "_is_synchronised", lambda: False)
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: {"SHA256:x"})
    monkeypatch.setattr(ssh, "answer", answer)
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    for words in (
        "no time server keeps this machine's clock",
        "broker1 (192.0.2.2): its clock is 90 s off",
        "worker1 (192.0.2.3): USER may not use sudo without a password",
        "worker1 (192.0.2.3): has no python3",
        "worker1 (192.0.2.3): has 900 MiB of memory",
        "worker2 (192.0.2.4): no login (Permission denied)",
    ):
        assert words in text
    assert "client1 (" not in text.partition("machines:")[2].partition("\n")[2]
    assert text.count("- ") >= text.count("  mend: ") > 0


def test_a_machine_that_is_off_and_one_that_is_not_trusted(monkeypatch):
    monkeypatch.setattr(doctor, "_closed", lambda asked: "its port 22 cannot be reached")
    (off,) = doctor.of_machine(node())
    assert "port 22" in off.text
    monkeypatch.setattr(doctor, "_closed", lambda asked: "")
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: set())
    (strange,) = doctor.of_machine(node())
    assert strange.mend == "rackbench trust"


def test_keys_that_are_missing_or_open_to_others(tmp_path):
    key = tmp_path / "key"
    assert "ssh-keygen" in next(doctor.of_key(key)).mend
    key.touch(mode=0o644)
    key.chmod(0o644)
    assert next(doctor.of_key(key)).mend == f"chmod 600 {key}"
    key.chmod(0o600)
    assert list(doctor.of_key(key)) == []


def test_the_virtual_lab_needs_root_memory_and_its_network(checkout, monkeypatch):
    checkout.have(kind="virtual")
    kit = Kit(checkout.root, checkout.root / ".venv/bin", None, ("inventory/virtual",))
    inventory = read_inventory(kit)
    monkeypatch.setattr(doctor, "has_root", lambda: False)
    monkeypatch.setattr(doctor, "_links", lambda prefix: ["eth7"])
    found = " ".join(finding.text for finding in doctor.of_virtual_lab(inventory, 100))
    assert "needs root" in found
    assert "is taken on this machine by eth7" in found
    assert "5 virtual machines need 5120" in found


@pytest.mark.parametrize("version", [(3, 9), (3, 10)])
def test_an_old_python(version):
    assert "3.11" in next(doctor.of_python(version)).text
    assert list(doctor.of_python((3, 13))) == []


def test_a_name_that_nobody_knows():
    assert "no name server" in doctor._closed(node(address="no-such-machine.invalid"))


def test_keys_are_taken_in_after_a_question_and_a_changed_one_never(checkout, tmp_path, monkeypatch, capsys):
    known = tmp_path / "ssh/known_hosts"
    public, fingerprint = host_key(tmp_path, "one")
    other, _ = host_key(tmp_path, "two")
    known.parent.mkdir()
    known.write_text(f"192.0.2.2 {other}")  # without an end of line
    checkout.have(workers=1)
    monkeypatch.setattr(trust, "known_hosts", lambda asked: known)
    monkeypatch.setattr(ssh, "known_hosts", lambda asked: known)

    def shown(asked):
        if asked.name == "worker1":
            return "Connection refused"
        return ssh.HostKey(f"{ssh.known_as(asked)} {public}\n", fingerprint)

    monkeypatch.setattr(trust, "shown_key", shown)
    assert main(["trust"]) == 2
    assert fingerprint in capsys.readouterr().out
    assert known.read_text().count("\n") == 0
    assert main(["trust", "--yes"]) == 1
    said = capsys.readouterr().out
    assert "differs from the known key" in said
    assert "shows no key (Connection refused)" in said
    assert "taken in: client1" in said
    assert known.read_text().splitlines() == [f"192.0.2.2 {other}", f"192.0.2.1 {public}"]
    assert main(["trust", "--yes"]) == 1
    assert f"client1 (192.0.2.1): {fingerprint}, known" in capsys.readouterr().out


def test_ssh_says_where_the_keys_of_a_machine_are(tmp_path):
    asked = node(arguments=f"-o UserKnownHostsFile={tmp_path}/known", port=2222)
    assert ssh.known_hosts(asked) == tmp_path / "known"
    assert ssh.known_as(asked) == "[192.0.2.7]:2222"
    assert ssh.known_fingerprints(asked) == set()
