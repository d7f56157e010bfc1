"""How machines are switched on: commands without passwords, and controllers that do not obey."""

import json
import socket
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain

import pytest
from loading import load
from rendering import Role

ROLE = "roles/netboot"
machines = load(f"{ROLE}/filter_plugins/machines.py")
install = load(f"{ROLE}/action_plugins/install_machines.py")
MAC, BROADCAST = "3c:ec:ef:01:02:03", "192.168.1.255"
IPMI = {"ipmi": "10.0.0.13", "user": "admin", "password": "s3cret"}
REDFISH = {"redfish": "https://10.0.0.13/redfish/v1/Systems/1/", "user": "admin", "password": 's"3'}


def steps_of(power, *, uefi=False):
    return install.steps_of({"power": power, "mac": MAC, "uefi": uefi}, BROADCAST)


def test_no_password_is_in_a_command_line():
    for given in (IPMI, REDFISH):
        for command in chain(*steps_of(given)):
            assert not any(given["password"] in word for word in command["argv"])
            assert command["environment"] or command["stdin"]
    assert command["stdin"] == 'user = "admin:s\\"3"\n'
    assert command["argv"][-2:] == ["https://10.0.0.13/redfish/v1/Systems/1", "Legacy"]
    ((command,),) = steps_of(REDFISH, uefi=True)
    assert command["argv"][-1] == "UEFI"
    pinned = {**REDFISH, "public_key": "sha256//AbCd="}
    for command in chain(*steps_of(pinned)):
        assert command["stdin"].splitlines()[1:] == ["insecure", 'pinnedpubkey = "sha256//AbCd="']


@pytest.mark.parametrize(("uefi", "boot"), [(True, ["pxe", "options=efiboot"]), (False, ["pxe"])])
def test_ipmi_boots_a_machine_by_its_firmware(uefi, boot):
    (bootdev,), starts = steps_of(IPMI, uefi=uefi)
    assert bootdev["argv"][bootdev["argv"].index("bootdev") + 1 :] == boot
    assert [one["argv"][-2:] for one in starts] == [["power", "on"], ["power", "reset"]]


def test_it_is_by_hand_or_wakes():
    assert steps_of("") == []
    ((wake,),) = steps_of("wake")
    assert wake["argv"] == ["wakeonlan", "-i", BROADCAST, MAC]


def problems(power):
    """What is wrong with a machine that is started in this way."""
    machine = {"name": "rack03", "mac": MAC, "address": "192.168.1.13", "user": "debian"}
    machine |= {"install": True, "key": "ssh-ed25519 AAAA", "disk": {"min_gb": 1, "max_gb": 2}}
    return machines.machine_problems([machine | {"power": power}], "192.168.1.0/24", "192.168.1.1")


@pytest.mark.parametrize(
    "wrong",
    [
        "wol",
        True,
        ["wake"],
        {},
        {"ipmi": "10.0.0.1", "user": "", "password": "p"},
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
    (problem,) = problems(wrong)
    assert problem.startswith("rack03: netboot_power must be wake")
    assert "hush" not in problem


@pytest.mark.parametrize(
    "power", ["", "wake", IPMI, REDFISH, {**REDFISH, "public_key": "sha256//A="}]
)
def test_each_way_to_start_a_machine_is_accepted(power):
    assert problems(power) == []


@pytest.mark.parametrize(
    ("powers", "packages"),
    [
        (["", "wake", IPMI, IPMI], ["wakeonlan", "ipmitool"]),
        (["", REDFISH], ["curl"]),
        ([""], []),
    ],
)
def test_only_the_tools_that_are_needed_are_installed(powers, packages):
    role = Role("netboot", __netboot_chosen=[{"power": power} for power in powers])
    assert role.render("{{ __netboot_power_packages }}") == packages


def shell(script, stdin=""):
    argv = ["sh", "-c", script]
    return {"name": "sh", "argv": argv, "environment": {"SECRET": "s"}, "stdin": stdin}


def test_one_command_of_each_step_must_succeed(tmp_path):
    note = f"cat >>{tmp_path}/said; echo $SECRET >>{tmp_path}/said"
    steps = [[shell(note, "boot ")], [shell("false"), shell(note, "reset ")]]
    assert install.start(steps) == ""
    assert (tmp_path / "said").read_text() == "boot s\nreset s\n"
    steps = [[shell("true")], [shell("false"), shell(r"printf 'no\033[2J\n' >&2; false")]]
    why = install.start(steps)
    assert "sh said no?[2J; correct netboot_power" in why


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("sleep 60 & sleep 60", "got no answer within 1 s"),
        ("trap '' TERM; sleep 60", "got no answer within 1 s"),
        ("yes", "said y y"),
        ("exit 7", "said nothing and ended with 7"),
        ("cat", ""),
    ],
)
def test_a_command_is_bounded_in_time_and_in_what_it_says(script, why):
    said = install.run(shell(script, "known"), 1)
    assert said.startswith(why)
    assert bool(said) == bool(why)
    assert len(said) < 400
    gone = {"argv": ["/none/such"], "environment": {}, "stdin": ""}
    assert "No such file or directory" in install.run(gone, 1)


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


# A system as DMTF's mock-up of a rack server and the manuals of several makers have it, shortened.
SYSTEM = {
    "@odata.id": "/redfish/v1/Systems/1",
    "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
    "Id": "1",
    "PowerState": "On",
    "Boot": {
        "BootSourceOverrideEnabled": "Disabled",
        "BootSourceOverrideTarget": "None",
        "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Hdd", "BiosSetup"],
        "BootSourceOverrideMode": "Legacy",
        "BootSourceOverrideMode@Redfish.AllowableValues": ["Legacy", "UEFI"],
    },
    "Actions": {
        "#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"}
    },
}
TAG = 'W/"1f3a-5b"'


@contextmanager
def redfish(answer=b"{}", tag=TAG, in_header=True, system=SYSTEM, refused=("On",)):
    """The address of a controller that obeys who sends its ETag and the mode, and what it was told.

    It refuses to start in the `refused` ways, and changes without its tag, if it has one.
    """
    told = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(200, json.dumps(system).encode())

        def do_PATCH(self):
            boot = self._told()["Boot"]
            if tag and self.headers.get("If-Match") != tag:
                self._answer(412 if "If-Match" in self.headers else 428)
            elif "BootSourceOverrideMode" in system["Boot"] and len(boot) != 3:
                self._answer(400)
            else:
                self._answer(200 if answer else 204, answer)

        def do_POST(self):
            kind = self._told()["ResetType"]
            self._answer(409 if kind in refused else 200 if answer else 204, answer)

        def _told(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.append((self.command, self.path.rpartition("/")[2], body))
            return body

        def _answer(self, status, body=b""):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if tag and in_header and self.command == "GET":
                self.send_header("ETag", tag)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/redfish/v1/Systems/1", told
        server.shutdown()


def started(url, *, uefi=False):
    """Start a machine by the controller at this address; why it cannot be, or nothing."""
    asked = {"redfish": url, "user": "u", "password": "hush"}
    return install.start(steps_of(asked, uefi=uefi))


@pytest.mark.parametrize(("uefi", "mode"), [(True, "UEFI"), (False, "Legacy")])
@pytest.mark.parametrize("refused", ["On", "ForceRestart"])
def test_a_controller_gets_its_tag_and_the_boot_mode_that_it_asks_for(uefi, mode, refused):
    with redfish(refused=(refused,)) as (url, told):
        assert started(url, uefi=uefi) == ""
    boot = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
    assert told == [
        ("PATCH", "1", {"Boot": {**boot, "BootSourceOverrideMode": mode}}),
        ("POST", "ComputerSystem.Reset", {"ResetType": "On"}),
        ("POST", "ComputerSystem.Reset", {"ResetType": "ForceRestart"}),
    ]


def test_a_tag_in_the_answer_alone_is_sent_too():
    """Some controllers write it into the system and into no header."""
    with redfish(in_header=False, system=SYSTEM | {"@odata.etag": TAG}) as (url, _):
        assert started(url) == ""
    with redfish(in_header=False) as (url, _):
        assert "428" in started(url)


def test_a_controller_that_shows_no_mode_is_told_none():
    with redfish(tag="", system={"Boot": {"BootSourceOverrideTarget": "None"}}) as (url, told):
        assert started(url, uefi=True) == ""
    assert "BootSourceOverrideMode" not in told[0][2]["Boot"]


def test_a_mode_that_the_machine_lacks_is_refused_before_anything_changes():
    boot = SYSTEM["Boot"] | {"BootSourceOverrideMode@Redfish.AllowableValues": ["UEFI"]}
    with redfish(system={"Boot": boot}) as (url, told):
        why = started(url)
    assert "it boots by UEFI and not by Legacy; correct netboot_uefi" in why
    assert told == []


def test_a_machine_that_starts_in_no_way_is_told_why():
    with redfish(refused=("On", "ForceRestart")) as (url, _):
        assert "409" in started(url)


def refusing():
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}/redfish/v1/Systems/1"


def test_a_controller_that_hangs_refuses_or_babbles_stops_no_other(monkeypatch):
    def start_within(steps, start=install.start):
        """Only the silent one waits for its bound: the others may take long on a busy machine."""
        return start(steps, 3) if silent in steps[0][0]["argv"] else start(steps)

    monkeypatch.setattr(install, "start", start_within)
    with (
        controller(None) as silent,
        controller(b"\x1b[2J rubbish\r\n") as rubbish,
        controller(reply(b"<html>Log in</html>")) as page,
        controller(reply(b"x" * 1_000_000)) as endless,
        controller(reply(b"{}")) as obeying,
        redfish(b"", tag="") as (terse, _),
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
        account = {"user": "u", "password": "hush"}
        steps = {name: steps_of({"redfish": url, **account}) for name, url in urls.items()}
        told = {}
        install.start_all(steps, lambda name, why: told.update({name: why}))
    assert told.keys() == urls.keys() - {"obeying", "terse"}
    assert "got no answer within 3 s" in told["silent"]
    assert "connect" in told["refusing"]
    assert "HTTP/0.9" in told["rubbish"]
    assert "not Redfish's: <html>Log in</html>" in told["page"]
    assert "an answer without end" in told["endless"]
    for why in told.values():
        assert why.startswith("Redfish ")
        assert why.endswith("or omit it and switch the machine on by hand")
        assert "hush" not in why


def test_machines_are_started_side_by_side():
    """Each waits until all have begun, which they never would one after another."""
    together = threading.Barrier(install.POWERED_AT_ONCE)
    steps = [[{"argv": [], "environment": {}, "stdin": ""}]]
    told = []

    def run(command, within_s):
        together.wait(30)
        return ""

    kept, install.run = install.run, run
    try:
        machines = dict.fromkeys(map(str, range(install.POWERED_AT_ONCE)), steps)
        install.start_all(machines, lambda *why: told.append(why))
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
    machines = {"rack03": [[shell("echo off >&2; false")]], "rack04": []}
    ends = install.follow([sys.executable, "-c", server], tmp_path, machines)
    assert ends["rack04"] == "waiting"
    assert ends["rack03"].startswith("unstarted, sh said off; correct netboot_power")
    assert shown[0].endswith("rack04: not yet")
    assert shown[1] == "Let these boot from the network now: rack04"
    lines = install.verdict({"rack03": ends["rack03"]}, tmp_path)
    assert lines == [f"rack03 is {ends['rack03']}."]


@pytest.mark.parametrize(("user", "password"), [("admin", "grün§1"), (1001, 4711)])
def test_a_controller_gets_user_and_password_as_they_are(user, password):
    given = {**REDFISH, "user": user, "password": password}
    ((command,),) = steps_of(given)
    assert command["stdin"] == f'user = "{user}:{password}"\n'
