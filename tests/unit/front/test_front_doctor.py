"""`rackbench doctor` and `rackbench trust`: what is missing, and which keys become known."""

import dataclasses
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from machine import wait_for
from stand_in import end, failed, play

from collect.front import ssh
from collect.front.cli import main
from collect.front.commands import doctor
from collect.front.inventory import Inventory, Node, read_inventory
from collect.front.kit import Kit


def node(name="worker1", address="192.0.2.7", port=22, arguments=""):
    return Node(name, address, port, "me", "", arguments, ("workers",))


def test_a_half_filled_inventory_is_a_finding_with_what_mends_it(checkout, capsys):
    checkout.have(client1="FILL-IN")
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "client1 has no address yet" in said
    assert "fix: ${EDITOR:-nano}" in said


def test_another_way_to_root_than_sudo_is_a_finding_with_what_unsets_it(
    checkout, capsys, monkeypatch
):
    monkeypatch.setenv("ANSIBLE_BECOME_METHOD", "doas")
    assert main(["doctor"]) == 1
    assert "\n  fix: unset ANSIBLE_BECOME_METHOD\n" in capsys.readouterr().out


def test_every_machine_is_asked_and_each_finding_has_its_mend(checkout, capsys, monkeypatch):
    checkout.have()

    def answered(late_s=0):
        return f"time {time.time() - late_s:.3f}\ncan-sudo\nhas-python\nmemory-mb 4000"

    held = "held 8080 nginx nginx.service www-data\nheld 8080 java none me"
    said = {
        "client1": f"Welcome to this machine\n{answered()}",
        "broker1": answered(late_s=9000),
        "worker1": f"time {time.time():.3f}\nmemory-mb 900",
        "worker2": "",
        "worker3": f"{answered()}\n{held}",
    }

    def answer(asked, command):
        code = 0 if said[asked.name] else 255
        return subprocess.CompletedProcess([], code, said[asked.name], "Permission denied")

    monkeypatch.setattr(doctor, "_closed", lambda asked: None)
    monkeypatch.setattr(doctor, "_is_synchronised", lambda: False)
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: {"SHA256:x"})
    monkeypatch.setattr(ssh, "answer", answer)
    monkeypatch.setattr("getpass.getuser", lambda: "me")
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    for words in (
        "no time server synchronises this machine's clock",
        "broker1 (192.0.2.2): its clock is 90",  # 9000 s, and what the test takes
        "worker1 (192.0.2.3): me may not use sudo without a password",
        "worker1 (192.0.2.3): has no python3",
        "worker1 (192.0.2.3): has 900 MiB of memory",
        "worker2 (192.0.2.4): login failed (Permission denied)",
        "worker3 (192.0.2.5): port 8080 is held by nginx (nginx.service, account www-data)",
        "fix: ssh -t 192.0.2.5 sudo systemctl disable --now nginx.service",
        "worker3 (192.0.2.5): port 8080 is held by java (no unit, account me)",
        "# tomcat_port: another port",
    ):
        assert words in text
    assert "client1 (192" not in text
    assert text.count("\n- ") == text.count("\n  fix: ")


def test_a_machine_that_is_off_and_one_that_is_not_trusted(checkout, monkeypatch):
    inventory = read_inventory(Kit(checkout.root, checkout.root / ".venv/bin", None, ("x",)))
    monkeypatch.setattr(doctor, "_closed", lambda asked: ("its port 22 cannot be reached", "ping"))
    (off,) = doctor.of_machine(inventory, node(), {})
    assert "port 22" in off.text
    monkeypatch.setattr(doctor, "_closed", lambda asked: None)
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: set())
    (strange,) = doctor.of_machine(inventory, node(), {})
    assert strange.text.endswith("not in known_hosts, so nothing else on it was checked")
    assert strange.mend == "rackbench trust -i x"


def test_a_machine_that_is_on_but_has_no_ssh_there_is_not_pinged():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nothing listens there
        port = taken.getsockname()[1]
        text, mend = doctor._closed(node(address="127.0.0.1", port=port))
    assert text == f"its port {port} refuses connections"
    assert mend.startswith("sudo apt-get install openssh-server")


@pytest.mark.parametrize(
    ("setting", "arguments"),
    [
        ("ProxyJump gateway", ""),
        ("ProxyCommand nc %h %p", ""),
        ("ProxyJump none", "-o ProxyJump=gateway"),
        ("Port 22", "-J gateway"),
    ],
)
def test_a_machine_behind_a_jump_host_is_not_reached_directly(
    checkout, tmp_path, monkeypatch, setting, arguments
):
    (tmp_path / "config").write_text(f"Host 192.0.2.7\n  {setting}\n")
    inventory = read_inventory(Kit(checkout.root, checkout.root / ".venv/bin", None, ("x",)))
    monkeypatch.setattr(doctor, "_closed", lambda asked: ("its port 22 cannot be reached", "ping"))
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: set())
    asked = node(arguments=f"-F {tmp_path}/config {arguments}")
    (finding,) = doctor.of_machine(inventory, asked, {})
    assert finding.text.endswith("not in known_hosts, so nothing else on it was checked")
    (tmp_path / "config").write_text("Host 192.0.2.7\n  ProxyJump none\n")
    (finding,) = doctor.of_machine(inventory, node(arguments=f"-F {tmp_path}/config"), {})
    assert finding.text.endswith("its port 22 cannot be reached")


def test_a_next_step_has_the_options_of_the_command_but_not_the_usual_inventory(
    checkout, monkeypatch, capsys
):
    monkeypatch.setattr(doctor, "_closed", lambda asked: None)
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: set())
    assert main(["doctor", "-e", "ansible_user=me"]) == 1
    assert "fix: rackbench trust -e ansible_user=me\n" in capsys.readouterr().out
    checkout.have(kind="virtual")
    monkeypatch.setattr(doctor, "_links", lambda prefix: ["None-0"])  # no variable names the lab
    main(["doctor", "-i", "inventory"])
    wanted = f"`rackbench lab down -i {checkout.root}/inventory` removes it"
    assert wanted in capsys.readouterr().out


def test_a_next_step_starts_the_program_that_the_shell_does_not_find(checkout, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [".venv/my bin/rackbench"])
    monkeypatch.setattr(doctor, "_closed", lambda asked: None)
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: set())
    for words, fix in (([], "trust"), (["-i", "nowhere"], "doctor -i PATH")):
        assert main(["doctor", *words]) == 1
        assert f"fix: '.venv/my bin/rackbench' {fix}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("facts", "becomes", "text"),
    [
        ("can-sudo", True, ""),
        ("is-root", False, ""),
        ("is-root", True, "ansible_become: false"),
        ("", False, "ansible_become: true"),
        ("", True, "NOPASSWD"),
        ("sudo-wants-tty", True, "!requiretty"),
        ("is-root\nsudo-wants-tty", True, "!requiretty"),
        ("is-root\nsudo-wants-tty\ncan-sudo", True, ""),
    ],
)
def test_root_there_is_sudo_or_the_account_itself(checkout, facts, becomes, text):
    kit = Kit(checkout.root, checkout.root / ".venv/bin", None, ("inventory/virtual",))
    asked = dataclasses.replace(node(), becomes=becomes)
    said = f"{facts}\nhas-python"
    found = list(doctor.of_answer(kit, asked, said, (time.time(), time.time())))
    assert [text in finding.mend for finding in found] == [True] * bool(text)


@pytest.mark.parametrize(
    ("rate", "declared", "other", "is_found"),
    [
        ("100", 1000, {}, True),
        ("10000", "1000", {}, True),
        ("1000", 1000, {}, False),
        ("-1", 1000, {}, False),
        ("", 1000, {}, False),
        ("100", 0, {}, False),
        ("100", "{{ mine }}", {}, False),
        ("100", 1000, {"node_address": "10.0.0.7"}, False),
        ("100", 1000, {"rackbench_lab_kind": "virtual"}, False),
    ],
)
def test_a_card_of_another_rate_than_declared_is_a_finding(rate, declared, other, is_found):
    values = {"ansible_host": "192.0.2.7", "node_address": "192.0.2.7"}
    values |= {"rackbench_link_mbit": declared} | other
    kit = Kit(Path(), Path(), None, ("inventory/mylab",))
    inventory = Inventory(kit, {"nodes": ["worker1"]}, {"worker1": values})
    found = list(doctor.of_link(inventory, node(), f"has-python\nlink-mbit {rate}\n"))
    said = f"has {rate} Mbit/s, but rackbench_link_mbit is {declared}"
    assert [said in finding.text for finding in found] == [True] * is_found


@pytest.mark.parametrize(("told", "becomes"), [("", False), ("1", True), ("no", False)])
def test_without_a_word_in_the_inventory_sudo_is_used_where_the_environment_asks(
    checkout, monkeypatch, told, becomes
):
    content = json.loads((checkout.root / "inventory.json").read_text())
    for values in content["_meta"]["hostvars"].values():
        del values["ansible_become"]
    (checkout.root / "inventory.json").write_text(json.dumps(content))
    monkeypatch.setenv("ANSIBLE_BECOME", told)
    inventory = read_inventory(Kit(checkout.root, checkout.root / ".venv/bin", None, ("x",)))
    assert {one.becomes for one in inventory.nodes} == {becomes}


def test_keys_that_are_missing_or_open_to_others(tmp_path):
    key = tmp_path / "key"
    assert "ssh-keygen" in next(doctor.of_key(key, "hosts.yml")).mend
    key.touch(mode=0o644)
    key.chmod(0o644)
    assert next(doctor.of_key(key, "hosts.yml")).mend == f"chmod 600 {key}"
    key.chmod(0o600)
    assert list(doctor.of_key(key, "hosts.yml")) == []
    assert [found.text for found in doctor.of_key(tmp_path, "hosts.yml")] == [
        f"the key {tmp_path} is a directory"
    ]


def test_the_home_directory_of_an_unknown_account_is_a_finding(checkout, monkeypatch, capsys):
    key = "~no-such-account/.ssh/id_ed25519"
    for name in ("client1", "broker1", "worker1", "worker2", "worker3"):
        checkout.set(name, ansible_ssh_private_key_file=key)
    monkeypatch.setattr(doctor, "_closed", lambda asked: None)
    monkeypatch.setattr(ssh, "known_fingerprints", lambda asked: set())
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert f"the key {key} does not exist\n  fix: ${{EDITOR:-nano}} " in said
    assert "rackbench trust" in said  # the machines were examined as well
    asked = dataclasses.replace(node(), key=key)
    assert f"-i '{key}'" in doctor._way(asked)
    assert key in ssh.options(asked)
    assert main(["verify", "-e", "@~no-such-account/vars.yml"]) == 2
    assert "there is no such file" in capsys.readouterr().err


def closed(*arguments, **options):
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize(
    ("of", "name", "answer"), [(Path, "stat", closed), (os, "access", lambda *_: False)]
)
def test_a_key_that_this_account_may_not_read(tmp_path, of, name, answer, monkeypatch):
    key = tmp_path / "key"
    key.touch(mode=0o600)
    monkeypatch.setattr("getpass.getuser", lambda: "me")
    monkeypatch.setattr(of, name, answer)
    (finding,) = doctor.of_key(key, "my lab/hosts.yml")
    assert finding.text == f"me may not read the key {key}"
    assert finding.mend.startswith("${EDITOR:-nano} 'my lab/hosts.yml'   # ansible_ssh_private_key")


def test_what_keeps_the_inventory_from_being_read_has_a_command(
    checkout, tmp_path, monkeypatch, capsys
):
    assert main(["doctor", "-e", "@vars.yml"]) == 1
    assert "fix: rackbench doctor -e @PATH" in capsys.readouterr().out
    assert main(["doctor", "-i", "nowhere"]) == 1
    assert "fix: rackbench doctor -i PATH" in capsys.readouterr().out
    mark = tmp_path / "my lab/rackbench.yml"
    mark.parent.mkdir()
    monkeypatch.chdir(mark.parent)
    for text in (f"checkout: {tmp_path}/moved\n", "checkout: [1]\n"):
        mark.write_text(text)
        assert main(["doctor"]) == 1
        assert f"fix: ${{EDITOR:-nano}} '{mark}'\n" in capsys.readouterr().out


def test_the_virtual_lab_needs_root_memory_and_its_network(checkout, monkeypatch):
    checkout.have(kind="virtual")
    kit = Kit(checkout.root, checkout.root / ".venv/bin", None, ("inventory/virtual",))
    inventory = read_inventory(kit)
    monkeypatch.setattr(doctor, "has_root", lambda: False)
    monkeypatch.setattr(doctor, "_links", lambda prefix: ["eth7"])
    findings = list(doctor.of_virtual_lab(inventory, 100))
    found = " ".join(finding.text for finding in findings)
    assert "needs root" in found
    assert "NOPASSWD: ALL' | sudo tee" in findings[0].mend
    assert "is taken on this machine by eth7" in found
    assert "but 5 virtual machines need 5120" in found


def test_a_memory_that_is_no_number_is_taken_for_the_usual_one(checkout, monkeypatch):
    checkout.have(kind="virtual")
    checkout.set("client1", virtual_lab_memory_mb="2G")
    kit = Kit(checkout.root, checkout.root / ".venv/bin", None, ("inventory/virtual",))
    monkeypatch.setattr(doctor, "_links", lambda prefix: [])
    found = [finding.text for finding in doctor.of_virtual_lab(read_inventory(kit), 100)]
    assert any("but 5 virtual machines need 5120" in text for text in found)


def test_a_lab_with_a_long_name_is_known_by_its_bridge(checkout, monkeypatch):
    checkout.have(kind="virtual")
    kit = Kit(checkout.root, checkout.root / ".venv/bin", None, ("inventory/virtual",))
    read = read_inventory(kit)
    lab = {"rackbench_lab": "performance-lab"}
    named = {name: {**values, **lab} for name, values in read.hostvars.items()}
    inventory = dataclasses.replace(read, hostvars=named)
    monkeypatch.setattr(doctor, "_links", lambda prefix: ["performance-l-0"])
    assert not any("is taken" in one.text for one in doctor.of_virtual_lab(inventory, 10**6))
    monkeypatch.setattr(doctor, "_links", lambda prefix: ["performance-lab-2-0"])
    assert any("is taken" in one.text for one in doctor.of_virtual_lab(inventory, 10**6))


def test_without_ssh_the_finding_says_so(checkout, monkeypatch, capsys):
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "ssh" else which(name))
    monkeypatch.setattr(doctor, "_closed", lambda asked: None)
    assert main(["doctor"]) == 1
    assert "fix: sudo apt-get install openssh-client" in capsys.readouterr().out


def test_what_mends_a_login_has_the_path_of_the_key_and_no_tilde():
    way = doctor._way(dataclasses.replace(node(), key="~/.ssh/id_ed25519"))
    assert f"-i {Path.home()}/.ssh/id_ed25519" in way


def test_a_name_that_nobody_knows():
    reason, mend = doctor._closed(node(address="no-such-machine.invalid"))
    assert "no name server" in reason
    assert "/etc/hosts" in mend


@pytest.mark.parametrize("address", ["192.0.2..7", f"{'a' * 64}.example.org"])
def test_an_address_that_no_machine_can_have_is_a_finding(checkout, address):
    inventory = read_inventory(Kit(checkout.root, checkout.root / ".venv/bin", None, ("x",)))
    (finding,) = doctor.of_machine(inventory, node(address=address), {})
    assert finding.text.startswith(f"worker1 ({address}): its address has an empty part")
    assert finding.mend == "${EDITOR:-nano} x   # ansible_host: its address"


def test_a_name_of_this_machine_that_is_too_long_is_a_finding(checkout, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "a" * 64)
    kit = Kit(checkout.root, checkout.root / ".venv/bin", None, ("x",))
    found = [one.text for one in doctor.of_this_machine(kit)]
    assert f"this machine cannot resolve its own name {'a' * 64}" in found


def test_letters_of_another_encoding_stop_no_check(tmp_path, monkeypatch):
    for name in ("ssh", "ssh-keygen"):
        (tmp_path / name).write_text("#!/bin/sh\nprintf 'Gr\\374\\337e\\nhas-python SHA256:x\\n'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(ssh, "expanded", lambda path: tmp_path / "ssh")
    assert ssh.known_fingerprints(node()) == {"SHA256:x"}
    assert ssh.answer(node(), "true").stdout.splitlines()[1] == "has-python SHA256:x"


def test_trust_runs_the_playbook_that_asks_at_the_terminal(checkout, capfd):
    checkout.tell(trust=[play("Take the nodes' host keys"), end()])
    assert main(["trust", "-e", "node=worker1"]) == 0
    assert checkout.called[0][-3:] == ["playbooks/trust.yml", "-e", "node=worker1"]
    said = capfd.readouterr().out
    assert "the output of trust" in said
    assert said.endswith("known_hosts has the host keys of these machines\n")


def test_ctrl_c_while_trust_asks_names_the_next_step(checkout):
    checkout.tell(trust=[play("Take the nodes' host keys"), end()])
    (checkout.root / "hold").touch()
    running = checkout.start("trust")
    wait_for(lambda: checkout.called, "trust.yml begins")
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    (checkout.root / "hold").unlink()
    said, _ = running.communicate(timeout=20)
    assert running.returncode == 130, said
    assert "interrupted; to continue, run rackbench trust\n" in said
    assert "known_hosts has" not in said


def test_a_key_that_changed_is_explained_with_the_log(checkout, capfd):
    reason = "The host key of worker1 differs from the one in known_hosts"
    checkout.tell(
        trust=[play("Take the nodes' host keys"), failed("localhost", reason), end(ok=False)]
    )
    assert main(["trust"]) == 1
    said = capfd.readouterr().out
    assert f"reason: {reason}" in said
    assert "rackbench trust" in said
    assert "-trust-" in said.rpartition("log:")[2]


def test_the_virtual_lab_is_trusted_already(checkout, capsys):
    checkout.have(kind="virtual")
    assert main(["trust"]) == 0
    assert "before it boots" in capsys.readouterr().out
    assert checkout.called == []


def test_ssh_says_where_the_keys_of_a_machine_are(tmp_path):
    asked = node(arguments=f"-o UserKnownHostsFile={tmp_path}/known", port=2222)
    assert ssh.known_hosts(asked) == tmp_path / "known"
    assert ssh.known_as(asked) == "[192.0.2.7]:2222"
    assert ssh.known_fingerprints(asked) == set()


def test_a_port_that_the_inventory_lacks_is_that_of_ssh_s_configuration(tmp_path):
    configuration = tmp_path / "config"
    configuration.write_text("Host rack01\n  HostName 192.0.2.8\n  Port 2222\n")
    asked = node(address="rack01", port=0, arguments=f"-F {configuration}")
    assert ssh.place(asked) == ("192.0.2.8", 2222)
    assert ssh.known_as(asked) == "[192.0.2.8]:2222"
    assert "-p" not in [*ssh.options(asked), *doctor._way(asked).split()]
    assert ssh.place(dataclasses.replace(asked, port=22)) == ("192.0.2.8", 22)
    configuration.write_text(f"{configuration.read_text()}  HostKeyAlias rack-one\n")
    assert ssh.known_as(asked) == "rack-one"
