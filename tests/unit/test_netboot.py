"""What the inventory may say of machines to install, and what is made of a machine's requests."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail, AnsibleFilterError

ROLE = Path(__file__).parents[2] / "roles/netboot"
NETWORK, OWN = "192.168.1.0/24", "192.168.1.1"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUnZ2bO4sGV3rZ0e9sJ6m1v6K3rG0m3d3w1T3o5nq1T me@control"


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


machines = load(ROLE / "filter_plugins/machines.py")
power = load(ROLE / "filter_plugins/power.py")
discover = load(ROLE / "action_plugins/discover_machines.py")
install = load(ROLE / "action_plugins/install_machines.py")


def machine(**items):
    return {
        "name": "rack03",
        "mac": "3c:ec:ef:01:02:03",
        "address": "192.168.1.13",
        "user": "debian",
        "key": KEY,
        "disk": {"min_gb": 200, "max_gb": 600},
    } | items


def problems(*several):
    return machines.machine_problems(several, NETWORK, OWN)


@pytest.mark.parametrize(
    "disk",
    [
        {"min_gb": 200, "max_gb": 600},
        {"name": "/dev/disk/by-id/ata-Samsung_SSD_870_EVO_500GB_S62"},
        {"name": "/dev/disk/by-path/pci-0000:00:17.0-ata-1", "min_gb": 100},
    ],
)
def test_a_machine_fully_described_has_no_problems(disk):
    assert problems(machine(disk=disk)) == []


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ({"name": "Rack_3"}, "Rack_3: is no host name"),
        ({"mac": "3c-ec-ef-01-02-03"}, "rack03: netboot_mac is '3c-ec-ef-01-02-03'; write six"),
        ({"mac": "3c:ec:ef:01:02"}, "write six pairs of hexadecimal digits"),
        ({"address": "10.0.0.13"}, "its address 10.0.0.13 is none for a machine on 192.168.1.0/24"),
        ({"address": OWN}, "its address 192.168.1.1 is none"),
        ({"address": ""}, "correct ansible_host or netboot_address"),
        ({"user": "root"}, "name an account that may use sudo, not root"),
        ({"user": "a b"}, "ansible_user is 'a b'"),
        ({"key": ""}, "netboot_key is no public SSH key"),
        ({"key": "ssh-ed25519 AAAA'; reboot; '"}, "netboot_key is no public SSH key"),
        ({"disk": {}}, "netboot_disk names no disk; give its name"),
        ({"disk": {"size": 3}}, "netboot_disk names no disk"),
        ({"disk": {"name": "/dev/sda"}}, "write a name of a whole disk that stays the same"),
        ({"disk": {"name": "/dev/disk/by-id/ata-1-part2"}}, "a name of a whole disk"),
        ({"disk": {"name": "/dev/disk/by-id/a'$(reboot)"}}, "a name of a whole disk"),
        ({"disk": {"min_gb": 200}}, "one bound of the size alone"),
        ({"disk": {"min_gb": "200; reboot", "max_gb": 300}}, "write a whole number of GB"),
        ({"disk": {"min_gb": 600, "max_gb": 200}}, "at least 600 and at most 200 GB"),
    ],
)
def test_each_problem_names_machine_reason_and_next_step(items, says):
    found = problems(machine(**items))
    assert len(found) == 1
    assert says in found[0]


@pytest.mark.parametrize("item", ["mac", "address"])
def test_two_machines_cannot_be_one(item):
    other = machine(name="rack04", mac="3c:ec:ef:01:02:04", address="192.168.1.14")
    other[item] = machine()[item]
    assert problems(machine(), other) == [
        f"rack04 and rack03 have the same {item} {machine()[item]}; correct the inventory"
    ]


def interface(name="enp3s0", despite="", network=None, routes='[{"dev":"enp2s0"}]\n[]'):
    given = {"address": OWN} if network is None else network
    return machines.interface_problems(name, given, despite, routes, ["lo", "enp3s0"])


def test_only_an_interface_for_this_is_served():
    assert interface() == []
    assert "set netboot_interface to the machines' (enp3s0, lo)" in interface(name="")[0]
    assert "is not there or has no IPv4 address" in interface(network={})[0]
    for routes in ('[{"dev":"enp2s0"},{"dev":"enp3s0"}]\n[]', '[]\n[{"dev":"enp3s0"}]\n'):
        assert "carries this machine's default route" in interface(routes=routes)[0]
        assert interface(routes=routes, despite="enp2s0") != []
        assert interface(routes=routes, despite="enp3s0") == []


def test_the_table_says_what_is_erased():
    kept = machine(name="rack04", disk={})
    table = machines.machine_table([machine(), kept], ["rack03"]).splitlines()
    assert "ERASE AND INSTALL" in table[1]
    assert table[1].endswith("the only one from 200 GB to 600 GB")
    assert "leave alone" in table[2]
    assert table[2].endswith("(none named)")


def test_machines_that_reported_are_remembered(tmp_path):
    for name, files in (("b", ["installed.json", "known"]), ("a", ["installed.json"]), ("c", [])):
        (tmp_path / "machines" / name).mkdir(parents=True)
        for file in files:
            (tmp_path / "machines" / name / file).touch()
    assert machines.installed_machines(str(tmp_path)) == ["a", "b"]
    assert machines.installed_machines(str(tmp_path), known=False) == ["a"]
    assert machines.installed_machines(str(tmp_path / "none")) == []


def test_a_fingerprint_is_ssh_keygens(tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    shown = subprocess.check_output(["ssh-keygen", "-l", "-f", f"{key}.pub"], text=True)
    public = Path(f"{key}.pub").read_text()
    assert machines.ssh_fingerprint(public) == shown.split()[1]


def test_power_passes_no_password_in_a_command_line():
    for given in (
        {"ipmi": "10.0.0.13", "user": "admin", "password": "s3cret"},
        {"redfish": "https://10.0.0.13/redfish/v1/Systems/1/", "user": "admin", "password": 's"3'},
    ):
        (boot,), starts = power.power_commands(given, "3c:ec:ef:01:02:03", "192.168.1.255")
        words = [word for command in (boot, *starts) for word in command["argv"]]
        assert not any(given["password"] in word for word in words)
        assert all(command["environment"] or command["stdin"] for command in (boot, *starts))
    assert boot["stdin"] == 'user = "admin:s\\"3"\n'
    assert boot["argv"][-1] == "https://10.0.0.13/redfish/v1/Systems/1"
    assert all(one["argv"][-1].endswith("/1/Actions/ComputerSystem.Reset") for one in starts)
    pinned = {**given, "public_key": "sha256//AbCd="}
    for command in chain(*power.power_commands(pinned, "3c:ec:ef:01:02:03", "192.168.1.255")):
        assert command["stdin"].splitlines()[1:] == ["insecure", 'pinnedpubkey = "sha256//AbCd="']


def test_power_is_by_hand_or_wakes_or_is_refused():
    assert power.power_commands("", "3c:ec:ef:01:02:03", "192.168.1.255") == []
    ((wake,),) = power.power_commands("wake", "3c:ec:ef:01:02:03", "192.168.1.255")
    assert wake["argv"] == ["wakeonlan", "-i", "192.168.1.255", "3c:ec:ef:01:02:03"]
    both = {"ipmi": "a", "redfish": "b", "user": "u", "password": "p"}
    keyed = {"ipmi": "a", "user": "u", "password": "p", "public_key": "sha256//A="}
    for wrong in ("wol", {"ipmi": "10.0.0.1"}, both, keyed, {"user": "u", "password": "p"}):
        with pytest.raises(AnsibleFilterError, match="netboot_power must be wake"):
            power.power_commands(wrong, "3c:ec:ef:01:02:03", "192.168.1.255")


def shell(script, stdin=""):
    return {"argv": ["sh", "-c", script], "environment": {"SECRET": "s"}, "stdin": stdin}


def test_a_machine_is_started_when_one_command_of_each_step_succeeds(tmp_path):
    note = f"cat >>{tmp_path}/said; echo $SECRET >>{tmp_path}/said"
    steps = [[shell(note, "boot ")], [shell("false"), shell(note, "reset ")]]
    assert install.start({"name": "rack1", "power": steps})
    assert (tmp_path / "said").read_text() == "boot s\nreset s\n"
    steps = [[shell("true")], [shell("false"), shell("echo refused >&2; false")]]
    with pytest.raises(AnsibleActionFail, match="rack1 cannot be switched on: sh said refused;"):
        install.start({"name": "rack1", "power": steps})
    assert not install.start({"name": "rack1", "power": []})


# As dnsmasq 2.90 writes them with log-dhcp.
REQUESTS = """\
dnsmasq-dhcp[7]: started, static leases only on 192.168.1.0
dnsmasq-dhcp[7]: 211 available DHCP subnet: 192.168.1.0/255.255.255.0
dnsmasq-dhcp[7]: 211 vendor class: PXEClient:Arch:00007:UNDI:003016
dnsmasq-dhcp[7]: 211 DHCPDISCOVER(enp3s0) 3c:ec:ef:01:02:03 ignored
dnsmasq-dhcp[7]: 212 vendor class: PXEClient:Arch:00007:UNDI:003016
dnsmasq-dhcp[7]: 212 DHCPDISCOVER(enp3s0) 3c:ec:ef:01:02:03 ignored
dnsmasq-dhcp[7]: 99 client provides name: printer
dnsmasq-dhcp[7]: 99 DHCPREQUEST(enp3s0) 192.168.1.77 52:54:00:00:00:09 ignored
dnsmasq-dhcp[7]: 213 vendor class: PXEClient:Arch:00000:UNDI:002001
dnsmasq-dhcp[7]: 213 DHCPDISCOVER(enp3s0) 00:00:5e:01:02:04 ignored
"""


def test_each_machine_that_asked_is_listed_once(tmp_path):
    file = tmp_path / "oui.txt"
    file.write_text("3C-EC-EF   (hex)\t\tMade Up\n3CECEF     (base 16)\t\tMade Up\n\t\t\t\tCity\n")
    told = []
    clock = iter(["10:00:00", "10:00:01", "10:00:02", "10:00:03"])
    seen = discover.seen_machines(
        REQUESTS.splitlines(), discover.vendors_of(file), lambda: next(clock), told.append
    )
    assert told == seen
    assert [(m.mac, m.vendor, m.architecture) for m in seen] == [
        ("3c:ec:ef:01:02:03", "Made Up", "UEFI x86-64"),
        ("52:54:00:00:00:09", "no vendor: an address made by software", "no network boot"),
        ("00:00:5e:01:02:04", "unknown vendor", "BIOS x86"),
    ]
    lines = discover.inventory_lines(seen, {"00:00:5e:01:02:04": "rack04"})
    assert 'netboot_mac: "3c:ec:ef:01:02:03"' in lines
    assert "netboot_install: false" in lines
    assert "# rack04 is in the inventory already: 00:00:5e:01:02:04, BIOS x86" in lines
    assert discover.vendors_of(tmp_path / "none") == {}


def test_a_change_is_told_with_the_time_that_is_left(tmp_path):
    for name, took in (("rack01", 600), ("rack02", 700), ("rack04", 620)):
        (tmp_path / "machines" / name).mkdir(parents=True)
        (tmp_path / "machines" / name / "installed.json").write_text(f'{{"took_s": {took}}}')
    usual = install.usual_seconds(tmp_path)
    assert usual == 620
    begun = {}
    event = {"at": 1000.0, "name": "rack03", "state": "loading", "detail": ""}
    assert install.line_of(event, begun, usual).endswith("rack03: loading (about 10 min to go)")
    event = {"at": 1500.0, "name": "rack03", "state": "installing", "detail": "packages"}
    assert install.line_of(event, begun, usual).endswith("packages (about 2 min to go)")
    assert install.line_of(event, begun, None).endswith("rack03: installing, packages")
    assert install.usual_seconds(tmp_path / "none") is None
