"""How machines are switched on: commands without passwords, and controllers that do not obey."""

import socket
import sys
import threading
from contextlib import contextmanager
from itertools import chain

import pytest
from ansible.errors import AnsibleFilterError
from loading import load

ROLE = "roles/netboot"
power = load(f"{ROLE}/filter_plugins/power.py")
install = load(f"{ROLE}/action_plugins/install_machines.py")
MAC, BROADCAST = "3c:ec:ef:01:02:03", "192.168.1.255"
IPMI = {"ipmi": "10.0.0.13", "user": "admin", "password": "s3cret"}
REDFISH = {"redfish": "https://10.0.0.13/redfish/v1/Systems/1/", "user": "admin", "password": 's"3'}


def test_no_password_is_in_a_command_line():
    for given in (IPMI, REDFISH):
        (boot,), starts = power.power_commands(given, MAC, BROADCAST)
        words = [word for command in (boot, *starts) for word in command["argv"]]
        assert not any(given["password"] in word for word in words)
        assert all(command["environment"] or command["stdin"] for command in (boot, *starts))
    assert boot["stdin"] == 'user = "admin:s\\"3"\n'
    assert boot["argv"][-1] == "https://10.0.0.13/redfish/v1/Systems/1"
    assert all(one["argv"][-1].endswith("/1/Actions/ComputerSystem.Reset") for one in starts)
    pinned = {**REDFISH, "public_key": "sha256//AbCd="}
    for command in chain(*power.power_commands(pinned, MAC, BROADCAST)):
        assert command["stdin"].splitlines()[1:] == ["insecure", 'pinnedpubkey = "sha256//AbCd="']


@pytest.mark.parametrize(("uefi", "boot"), [(True, ["pxe", "options=efiboot"]), (False, ["pxe"])])
def test_ipmi_boots_a_machine_by_its_firmware(uefi, boot):
    (bootdev,), starts = power.power_commands(IPMI, MAC, BROADCAST, uefi=uefi)
    assert bootdev["argv"][bootdev["argv"].index("bootdev") + 1 :] == boot
    assert [one["argv"][-2:] for one in starts] == [["power", "on"], ["power", "reset"]]


def test_it_is_by_hand_or_wakes():
    assert power.power_commands("", MAC, BROADCAST) == []
    ((wake,),) = power.power_commands("wake", MAC, BROADCAST)
    assert wake["argv"] == ["wakeonlan", "-i", BROADCAST, MAC]


@pytest.mark.parametrize(
    "wrong",
    [
        "wol",
        True,
        ["wake"],
        {},
        {"ipmi": "10.0.0.1"},
        {"ipmi": "a", "redfish": "https://b", "user": "u", "password": "p"},
        {"ipmi": "a", "user": "u", "password": "p", "public_key": "sha256//A="},
        {"user": "u", "password": "p"},
        {"ipmi": "-f /etc/shadow", "user": "u", "password": "p"},
        {"ipmi": "a", "user": "u", "password": ["p"]},
        {"redfish": "10.0.0.13", "user": "u", "password": "hush"},
        {"redfish": "https://b/x", "user": "u", "password": 'p"\nurl = "http://c'},
    ],
)
def test_anything_else_is_refused_by_the_machines_name_and_without_its_password(wrong):
    (problem,) = power.power_problems([{"name": "rack03", "power": wrong}])
    assert problem.startswith("rack03: netboot_power must be wake")
    assert "hush" not in problem
    if wrong:
        with pytest.raises(AnsibleFilterError, match="netboot_power must be wake"):
            power.power_commands(wrong, MAC, BROADCAST)


def test_only_the_tools_that_are_needed_are_installed():
    machines = [{"power": one} for one in ("", "wake", IPMI, IPMI)]
    assert power.power_packages(machines) == ["wakeonlan", "ipmitool"]
    assert power.power_packages([{"power": ""}, {"power": REDFISH}]) == ["curl"]


def shell(script, stdin=""):
    return {"argv": ["sh", "-c", script], "environment": {"SECRET": "s"}, "stdin": stdin}


def test_one_command_of_each_step_must_succeed(tmp_path):
    note = f"cat >>{tmp_path}/said; echo $SECRET >>{tmp_path}/said"
    steps = [[shell(note, "boot ")], [shell("false"), shell(note, "reset ")]]
    install.start({"name": "rack1", "power": steps})
    assert (tmp_path / "said").read_text() == "boot s\nreset s\n"
    steps = [[shell("true")], [shell("false"), shell(r"printf 'no\033[2J\n' >&2; false")]]
    with pytest.raises(install.UnstartedError, match=r"sh said no\?\[2J; correct netboot_power"):
        install.start({"name": "rack1", "power": steps})


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("sleep 60 & sleep 60", "got no answer within 1 s"),
        ("yes", "got an answer without end"),
        ("exit 7", "said nothing and ended with 7"),
    ],
)
def test_a_command_is_bounded_in_time_and_in_what_it_says(script, why):
    assert install.run(shell(script), 1) == why
    gone = {"argv": ["/none/such"], "environment": {}, "stdin": ""}
    assert install.run(gone, 1) == "cannot be run: No such file or directory"


@contextmanager
def controller(answer):
    """The address of something that takes connections, and says this: nothing for ever, if None."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held = []

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                held.append(connection)
                if answer is not None:
                    connection.recv(65_536)
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/redfish/v1/Systems/1"
        for connection in held:
            connection.close()


def reply(body):
    return b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def refusing():
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}/redfish/v1/Systems/1"


def test_a_controller_that_hangs_refuses_or_babbles_stops_no_other(monkeypatch):
    monkeypatch.setattr(install, "start", lambda machine, start=install.start: start(machine, 3))
    with (
        controller(None) as silent,
        controller(b"\x1b[2J rubbish\r\n") as rubbish,
        controller(reply(b"<html>Log in</html>")) as page,
        controller(reply(b"x" * 1_000_000)) as endless,
        controller(reply(b"{}")) as obeying,
        controller(b"HTTP/1.0 204 No Content\r\n\r\n") as terse,
    ):
        urls = {
            "silent": silent,
            "refusing": refusing(),
            "rubbish": rubbish,
            "page": page,
            "endless": endless,
            "obeying": obeying,
            "terse": terse,
        }
        machines = [
            {
                "name": name,
                "power": power.power_commands(
                    {"redfish": url, "user": "u", "password": "hush"}, MAC, BROADCAST
                ),
            }
            for name, url in urls.items()
        ]
        told = {}
        install.start_all(machines, lambda name, why: told.update({name: why}))
    assert told.keys() == urls.keys() - {"obeying", "terse"}
    assert "got no answer within 3 s" in told["silent"]
    assert "connect" in told["refusing"]
    assert "HTTP/0.9" in told["rubbish"]
    assert "not Redfish's: <html>Log in</html>" in told["page"]
    assert "an answer without end" in told["endless"]
    for why in told.values():
        assert why.startswith("curl ")
        assert why.endswith("or leave it out and switch the machine on by hand")
        assert "hush" not in why


def test_machines_are_started_side_by_side():
    """Each waits until all have begun, which they never would one after another."""
    together = threading.Barrier(install.POWERED_AT_ONCE)
    waiting = {"name": "x", "power": [[{"argv": [], "environment": {}, "stdin": ""}]]}
    told = []

    def run(command, within_s):
        together.wait(30)

    kept, install.run = install.run, run
    try:
        install.start_all([waiting] * install.POWERED_AT_ONCE, lambda *why: told.append(why))
    finally:
        install.run = kept
    assert told == []


def test_who_cannot_be_started_is_told_the_server(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(install.Display, "display", lambda self, text: shown.append(text))
    server = (
        "import json, sys\n"
        "note = {'at': 1.0, 'name': 'rack04', 'note': 'not yet'}\n"
        "print(json.dumps(note), json.dumps({'serving': True}), sep='\\n', flush=True)\n"
        "for line in sys.stdin:\n"
        "    told = json.loads(line)\n"
        "    event = {'at': 1.0, 'state': 'unstarted', 'detail': told['why']}\n"
        "    event['name'] = told['name']\n"
        "    print(json.dumps(event), flush=True)\n"
        "    break\n"
    )
    machines = [
        {"name": "rack03", "power": [[shell("echo off >&2; false")]]},
        {"name": "rack04", "power": []},
    ]
    ends = install.follow([sys.executable, "-c", server], tmp_path, machines)
    assert ends["rack04"] == "waiting"
    assert ends["rack03"].startswith("unstarted, sh said off; correct netboot_power")
    assert shown[0].endswith("rack04: not yet")
    assert shown[1] == "Let these boot from the network now: rack04"
    lines = install.verdict({"rack03": ends["rack03"]}, tmp_path)
    assert lines == [f"rack03 is {ends['rack03']}."]
