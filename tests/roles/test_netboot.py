"""What the inventory may say of machines to install, and what is made of a machine's requests."""

import re
import subprocess
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from loading import load

ROLE = "roles/netboot"
NETWORK, OWN = "192.168.1.0/24", "192.168.1.1"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUnZ2bO4sGV3rZ0e9sJ6m1v6K3rG0m3d3w1T3o5nq1T me@control"


archives = load(f"{ROLE}/filter_plugins/apt_archives.py")
machines = load(f"{ROLE}/filter_plugins/machines.py")
discover = load(f"{ROLE}/action_plugins/discover_machines.py")
install = load(f"{ROLE}/action_plugins/install_machines.py")
know = load(f"{ROLE}/action_plugins/know_machines.py")


def machine(**items):
    return {
        "name": "rack03",
        "mac": "3c:ec:ef:01:02:03",
        "address": "192.168.1.13",
        "user": "debian",
        "install": True,
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
        ({"key": ""}, "netboot_key_file names no public SSH key"),
        ({"key": "ssh-ed25519 AAAA'; reboot; '"}, "netboot_key_file names no public SSH key"),
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


def test_a_machine_that_is_not_installed_may_be_described_in_part_but_is_no_other():
    kept = machine(name="rack04", install=False, mac="3c:ec:ef:01:02:04", address="", disk={})
    assert problems(machine(), kept) == []
    assert problems(machine(), {**kept, "mac": machine()["mac"]}) == [
        "rack04 and rack03 have the same mac 3c:ec:ef:01:02:03; correct the inventory"
    ]
    assert "no machine of the inventory is to be installed" in problems(kept)[0]
    assert "no machine of the inventory is to be installed" in problems()[0]


def test_who_is_to_be_installed_again_must_be_there():
    found = machines.machine_problems([machine()], NETWORK, OWN, ["rack03", "rack99"])
    assert found == [
        "rack99: again names it, and no machine of that name has netboot_install: true"
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((["192.168.1.200"], "", []), "write the first and the last"),
        ((["192.168.1.200", "192.168.1.100"], "", []), "netboot_range is"),
        ((["192.168.1.200", "192.168.2.10"], "", []), "addresses of 192.168.1.0/24"),
        (([7, "a"], "", []), "netboot_range is [7, 'a']"),
        (
            ([], "10.0.0.1", []),
            "netboot_gateway is 10.0.0.1, which is no address of 192.168.1.0/24",
        ),
        (([], "router", []), "write the router's address there"),
        (([], "", ["dns.example"]), "netboot_nameservers names dns.example; write IPv4 addresses"),
    ],
)
def test_what_is_no_address_of_the_cable_is_refused(given, says):
    assert (
        machines.network_problems(NETWORK, ["192.168.1.2", "192.168.1.9"], "192.168.1.1", []) == []
    )
    assert machines.network_problems(NETWORK, [], "", ["9.9.9.9"]) == []
    (problem,) = machines.network_problems(NETWORK, *given)
    assert says in problem


def test_machines_are_the_nodes_with_a_card(tmp_path, monkeypatch):
    (tmp_path / "key.pub").write_text(KEY + "\n")
    read = []
    kept = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self: read.append(self) or kept(self))
    common = {"ansible_ssh_private_key_file": f"{tmp_path}/key", "ansible_user": "debian"}
    hostvars = {
        "rack03": {**common, "ansible_host": "192.168.1.13", "netboot_mac": "3C:EC:EF:01:02:03"},
        "rack04": {**common, "ansible_host": "192.168.1.14"},
        "rack05": {**common, "netboot_mac": 190_000_000, "netboot_install": "yes"}
        | {"netboot_uefi": True, "netboot_power": "wake", "netboot_address": "192.168.1.15"},
    }
    first, second = machines.inventory_machines(list(hostvars), hostvars)
    assert first == {
        "name": "rack03",
        "mac": "3c:ec:ef:01:02:03",
        "disk": {},
        "install": False,
        "uefi": False,
        "address": "192.168.1.13",
        "port": 22,
        "ssh_args": "",
        "user": "debian",
        "key": KEY,
        "power": "",
    }
    assert (second["install"], second["uefi"], second["power"]) == (True, True, "wake")
    assert (second["mac"], second["address"]) == ("190000000", "192.168.1.15")
    assert read == [tmp_path / "key.pub"]
    assert machines.inventory_machines([], {}) == []


@pytest.mark.parametrize(
    ("items", "says"),
    [
        (
            {"netboot_install": "perhaps"},
            "rack03: netboot_install is 'perhaps'; write true or false",
        ),
        ({"netboot_uefi": "legacy"}, "rack03: netboot_uefi is 'legacy'; write true or false"),
        ({"netboot_disk": "/dev/sda"}, "rack03: netboot_disk is '/dev/sda'; write a rule"),
        ({"ansible_port": "ssh"}, "rack03: ansible_port is 'ssh'; write a number"),
        ({"ansible_ssh_common_args": "-o 'a"}, "rack03: ansible_ssh_common_args cannot be split"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_by_the_machines_name(items, says):
    with pytest.raises(AnsibleFilterError, match=re.escape(says)):
        machines.inventory_machines(["rack03"], {"rack03": {"netboot_mac": "x", **items}})


def test_each_machine_has_a_token_of_its_own_that_lasts(tmp_path):
    both = [machine(), machine(name="rack04")]
    first = machines.with_tokens(both, str(tmp_path))
    assert machines.with_tokens(both, str(tmp_path)) == first
    tokens = {one["token"] for one in first}
    assert len(tokens) == 2
    assert all(re.fullmatch("[A-Za-z0-9]{40}", token) for token in tokens)
    kept = tmp_path / "machines/rack03/token"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()
    assert machines.with_tokens(both[:1], str(tmp_path))[0]["token"] not in tokens


def test_what_is_served_grows_with_the_machines_and_no_faster():
    owner = {"owner": "o", "group": "g"}
    for count in (0, 1, 200):
        several = [machine(name=f"rack{k}") for k in range(count)]
        assert len(machines.served_directories(several, "/state", owner)) == 1 + count
        files = machines.served_files(several, "/state", owner)
        assert len(files) == 2 + 5 * count
    assert files[-1] == {
        "path": "/state/machines/rack199/finish",
        "template": "finish.j2",
        "mode": "0600",
        "vars": {"machine": several[-1]},
        **owner,
    }


def test_all_reported_keys_are_taken_at_once(tmp_path):
    """Each program waits until all have begun."""
    names = [f"rack{k}" for k in range(know.AT_ONCE)]
    for name in names:
        (tmp_path / "machines" / name).mkdir(parents=True)
        (tmp_path / "machines" / name / "installed.json").write_text(f'{{"host_key": "{KEY}"}}')
    program = tmp_path / "know_host"
    program.write_text(
        f"touch {tmp_path}/began.$1\n"
        f"for turn in $(seq 600); do\n"
        f"  set -- $1 {tmp_path}/began.*; [ $# -gt {know.AT_ONCE} ] && break; sleep 0.1\n"
        "done\n"
        f"[ $# -gt {know.AT_ONCE} ] && [ $1 != rack3 ] || {{ printf 'no\\033[m' >&2; exit 1; }}\n"
    )
    several = [{"name": n, "address": "a", "port": 22, "ssh_args": "-J 'x'"} for n in names]
    assert know.know_all(several, str(program), tmp_path) == ["no?[m"]
    known = {file.parent.name for file in tmp_path.glob("machines/*/known")}
    assert known == set(names) - {"rack3"}


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
    assert know.fingerprint(public) == shown.split()[1]


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
    assert lines.count("netboot_uefi: true") == 1
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


APT = ["Debian http://deb.lab/debian/", "Debian-Security http://sec.lab/debian-security/"]


def test_archives_are_served_from_where_apt_gets_them_or_from_the_mirrors_that_were_named():
    debian, security = "http://deb.lab/debian/", ["http://sec.lab/debian-security/"]
    assert archives.served(APT, []) == {"debian": [debian], "debian-security": security}
    assert archives.served(APT[:1], []) == {"debian": [debian]}
    mirrors = ["http://one.lab/debian", "http://two.lab/debian"]
    assert archives.served(APT[1:], mirrors) == {"debian": mirrors, "debian-security": security}


def test_a_machine_gets_the_sources_that_were_given_or_those_it_has_a_way_to():
    assert archives.sources(APT, "trixie", "", None) == []
    assert archives.sources(APT, "trixie", "10.0.0.1", None) == [
        "deb http://deb.lab/debian/ trixie main",
        "deb http://deb.lab/debian/ trixie-updates main",
        "deb http://sec.lab/debian-security/ trixie-security main",
    ]
    assert len(archives.sources(APT[:1], "trixie", "10.0.0.1", None)) == 2
    given = ["deb http://mine.lab/debian trixie main"]
    assert archives.sources(APT, "trixie", "", given) == given
    assert archives.sources(APT, "trixie", "10.0.0.1", []) == []


def test_the_server_is_told_of_each_machine_by_its_card():
    of = {"name": "rack03", "mac": "52:54:00:00:00:01", "address": "10.0.0.13", "port": 22}
    assert machines.plan_of([{**of, "token": "t", "key": "k", "power": "secret"}], "/state") == {
        "52:54:00:00:00:01": {
            "name": "rack03",
            "address": "10.0.0.13",
            "port": 22,
            "directory": "/state/machines/rack03",
            "token": "t",
        }
    }
