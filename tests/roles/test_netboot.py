"""What the inventory may say of machines to install, and what is made of a machine's requests."""

import re
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from loading import load
from rendering import Role

ROLE = "roles/netboot"
NETWORK, OWN = "192.168.1.0/24", "192.168.1.1"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUnZ2bO4sGV3rZ0e9sJ6m1v6K3rG0m3d3w1T3o5nq1T me@control"


machines = load(f"{ROLE}/filter_plugins/machines.py")
install = load(f"{ROLE}/action_plugins/install_machines.py")


def machine(**items):
    return {
        "name": "rack03",
        "mac": "3c:ec:ef:01:02:03",
        "address": "192.168.1.13",
        "user": "debian",
        "install": True,
        "key": KEY,
        "disk": {"min_gb": 200, "max_gb": 600},
        "power": "",
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
        ({"name": "Rack_3"}, "Rack_3: is not a host name"),
        ({"mac": "3c-ec-ef-01-02-03"}, "rack03: netboot_mac is '3c-ec-ef-01-02-03'; write six"),
        ({"mac": "3c:ec:ef:01:02"}, "write six pairs of hexadecimal digits"),
        (
            {"address": "10.0.0.13"},
            "its address 10.0.0.13 cannot be that of a machine on 192.168.1.0/24",
        ),
        ({"address": OWN}, "its address 192.168.1.1 cannot be that of a machine"),
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
        ({"disk": {"min_gb": 200}}, "only one bound of the size"),
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
        "rack99: again names it, but no such machine has netboot_install: true; correct either"
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((["192.168.1.200"], "", []), "write the first and the last"),
        ((["192.168.1.200", "192.168.1.100"], "", []), "netboot_range is"),
        ((["192.168.1.200", "192.168.2.10"], "", []), "a range in 192.168.1.0/24"),
        (([7, "a"], "", []), "netboot_range is [7, 'a']"),
        (
            ([], "10.0.0.1", []),
            "netboot_gateway is 10.0.0.1, which is not an address of 192.168.1.0/24",
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


@pytest.mark.parametrize(
    ("again", "lost", "chosen", "unknown"),
    [([], [], ["c", "d"], ["a"]), (["b"], ["a"], ["b", "c", "d"], [])],
)
def test_machines_that_reported_are_remembered(tmp_path, again, lost, chosen, unknown):
    for name, files in (("b", ["installed.json", "known"]), ("a", ["installed.json"]), ("c", [])):
        (tmp_path / "machines" / name).mkdir(parents=True)
        for file in files:
            (tmp_path / "machines" / name / file).touch()
    role = Role(
        "netboot",
        netboot_dir=str(tmp_path),
        __netboot_machines=[{"name": name, "install": True} for name in "abcd"],
        __netboot_ends={"lost": lost},
        netboot_again=again,
    )
    assert role.render("{{ __netboot_names }}") == chosen
    assert role.render("{{ __netboot_unknown }}") == unknown


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
