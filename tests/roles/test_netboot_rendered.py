"""What the network install makes of an inventory without a plug-in: files, tables, commands."""

import json
import re
import shlex
import shutil
import subprocess
import time

import pytest
from rendering import Role
from test_netboot import KEY, OWN, machine

NETWORK = {
    "address": OWN,
    "network": "192.168.1.0",
    "prefix": "24",
    "netmask": "255.255.255.0",
    "broadcast": "192.168.1.255",
}
APT = ["Debian http://deb.lab/debian/", "Debian-Security http://sec.lab/debian-security/"]


def described(number, **items):
    own = {
        "name": f"rack{number:02}",
        "mac": f"3c:ec:ef:01:02:{number:02x}",
        "address": f"192.168.1.{number}",
        "port": 22,
        "ssh_args": "",
        "uefi": False,
        "power": {"ipmi": "10.0.0.1", "user": "u", "password": "hush"},
    }
    return machine(**own | items)


def netboot(machines=(), **variables):
    names = [one["name"] for one in machines]
    known = {
        "ansible_facts": {"user_uid": 0, "interfaces": ["lo", "enp3s0"], "enp3s0": {}},
        "netboot_interface": "enp3s0",
        "netboot_dir": "/state",
        "netboot_cache": "/cache",
        "__netboot_network": NETWORK,
        "__netboot_machines": list(machines),
        "__netboot_chosen": [one for one in machines if one["install"]],
        "__netboot_names": [one["name"] for one in machines if one["install"]],
        "__netboot_tokens": dict.fromkeys(names, "t") | {"rack03": "secret03"},
        "__netboot_apt": {"stdout_lines": APT},
    }
    return Role("netboot", **{**known, **variables})


def test_a_plan_holds_all_that_each_machine_is_sent_and_no_password():
    text = netboot([described(3), described(4), described(5, install=False)]).template(
        "plan.json.j2"
    )
    plan = text if isinstance(text, dict) else json.loads(text)
    assert plan["machines"].keys() == {"3c:ec:ef:01:02:03", "3c:ec:ef:01:02:04"}
    assert (plan["port"], plan["proxy"], plan["installer"]) == (
        8087,
        False,
        "/var/cache/rackbench/installer/trixie",
    )
    third = plan["machines"]["3c:ec:ef:01:02:03"]
    files = third.pop("files")
    assert third == {
        "name": "rack03",
        "address": "192.168.1.3",
        "port": 22,
        "directory": "/state/machines/rack03",
        "token": "secret03",
    }
    assert files.keys() == {"boot.ipxe", "preseed.cfg", "begin", "choose_disk", "finish"}
    own = f"http://{OWN}:8087/secret03"
    told = "#!ipxe\necho rackbench: installing Debian trixie as rack03"
    assert files["boot.ipxe"].startswith(told)
    assert f"preseed/url={own}/preseed.cfg BOOTIF=01-3c-ec-ef-01-02-03" in files["boot.ipxe"]
    assert files["begin"].startswith("#!/bin/sh\n")
    assert f"wget -q -O /tmp/finish {own}/finish" in files["preseed.cfg"]
    assert "updates, security\n" in files["preseed.cfg"]
    assert f"echo '{KEY}'" in files["finish"]
    assert "secret03" not in str(plan["machines"]["3c:ec:ef:01:02:04"])
    assert "hush" not in str(plan)


def test_each_machine_has_a_token_of_its_own_that_lasts(tmp_path):
    role = netboot([described(3), described(4)], netboot_dir=str(tmp_path))
    task = role.of_task("serve", "Give each machine its token")

    def tokens():
        return role.render(task["ansible.builtin.set_fact"]["__netboot_tokens"])

    first = tokens()
    assert first.keys() == {"rack03", "rack04"}
    assert len(set(first.values())) == 2
    assert all(re.fullmatch("[A-Za-z0-9]{40}", token) for token in first.values())
    assert tokens() == first
    kept = tmp_path / "machines/rack03/token"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    kept.write_text("of-an-install-before\n")
    assert tokens()["rack03"] == "of-an-install-before"


def test_the_table_says_what_is_erased():
    kept = described(4, disk={}, install=False)
    named = described(5, disk={"name": "/dev/disk/by-id/ata-1", "min_gb": 200})
    table = netboot([described(3), kept, named]).template("machines.j2").splitlines()
    assert table[0].split() == ["machine", "MAC", "address", "address", "disk"]
    assert re.match(r"rack03  ERASE AND INSTALL  3c:ec:ef:01:02:03  192\.168\.1\.3 ", table[1])
    assert table[1].endswith("the only one from 200 GB to 600 GB")
    assert re.match(r"rack04  leave alone ", table[2])
    assert table[2].endswith("(none named)")
    assert table[3].endswith("/dev/disk/by-id/ata-1 from 200 GB")


def test_archives_are_served_from_where_apt_gets_them_or_from_the_mirrors_that_were_named():
    debian, security = "http://deb.lab/debian/", ["http://sec.lab/debian-security/"]
    both = {"debian": [debian], "debian-security": security}

    def served(apt, mirrors):
        role = netboot(__netboot_apt={"stdout_lines": apt}, netboot_mirrors=mirrors)
        return role.render("{{ __netboot_archives }}")

    assert served(APT, []) == both
    assert served(APT[:1], []) == {"debian": [debian]}
    mirrors = ["http://one.lab/debian", "http://two.lab/debian"]
    assert served(APT[1:], mirrors) == {"debian": mirrors, "debian-security": security}


def test_a_machine_gets_the_sources_that_were_given_or_those_it_has_a_way_to():
    def sources(apt, gateway, given=None, mirrors=()):
        role = netboot(
            __netboot_apt={"stdout_lines": apt},
            netboot_gateway=gateway,
            netboot_sources=given,
            netboot_mirrors=list(mirrors),
        )
        return role.render("{{ __netboot_sources }}")

    assert sources(APT, "") == []
    assert sources(APT, "10.0.0.1") == [
        "deb http://deb.lab/debian/ trixie main",
        "deb http://deb.lab/debian/ trixie-updates main",
        "deb http://sec.lab/debian-security/ trixie-security main",
    ]
    assert len(sources(APT[:1], "10.0.0.1")) == 2
    given = ["deb http://mine.lab/debian trixie main"]
    assert sources(APT, "", given) == given
    assert sources(APT, "10.0.0.1", []) == []
    local = ["Debian file:/srv/debian/"]
    assert sources(local, "10.0.0.1", mirrors=["copy:/srv", "http://one.lab/debian"]) == [
        "deb http://one.lab/debian trixie main",
        "deb http://one.lab/debian trixie-updates main",
    ]


def test_apt_is_asked_for_its_archives_and_a_list_of_mirrors_becomes_its_first_one(tmp_path):
    listed, empty = tmp_path / "debian.list", tmp_path / "empty.list"
    listed.write_text("# mirrors\nhttp://mirror.lab/debian\tpriority:1\nhttp://two.lab/debian\n")
    empty.touch()
    told = tmp_path / "told"
    tool = tmp_path / "apt-get"
    tool.write_text(f"#!/bin/sh\ncat '{told}'\n")
    tool.chmod(0o755)

    def uris(*lines):
        told.write_text("".join(f"{line}\n" for line in lines))
        done = subprocess.run(
            ["sh", "-c", netboot().render("{{ __netboot_ask_apt }}")],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        apt = {"stdout_lines": done.stdout.splitlines()}
        return netboot(__netboot_apt=apt).render("{{ __netboot_uris }}")

    http, ours = "http://deb.lab/debian/", {"Debian": "http://mirror.lab/debian"}
    assert uris(f"mirror+file:{listed}/ Debian", "") == ours
    assert uris(f"mirror+file:{empty}/ Debian") == {"Debian": f"mirror+file:{empty}/"}
    assert uris(f"{http} Debian", f"mirror+file:{empty}/ Debian") == {"Debian": http}
    both = {"Debian": http, "Debian Backports": http}
    assert uris(f"{http} Debian", f"{http} Debian Backports") == both
    assert uris() == {}


@pytest.mark.parametrize(
    ("apt", "mirrors", "is_served"),
    [
        (APT, [], True),
        (["Debian file:/srv/debian/"], [], True),
        ([], ["http://one.lab/debian"], True),
        (["Mine http://one.lab/debian"], [], False),
        ([], [], False),
        (["Debian mirror+file:/etc/apt/mirrors/debian.list/"], [], False),
        (["Debian cdrom:[Debian]/"], ["http://one.lab/debian"], True),
        ([*APT, "Debian-Security mirror+http://sec.lab/list/"], [], True),
        ([APT[0], "Debian-Security mirror+http://sec.lab/list/"], [], False),
    ],
)
def test_archives_that_cannot_be_served_are_refused(apt, mirrors, is_served):
    role = netboot(__netboot_apt={"stdout_lines": apt}, netboot_mirrors=mirrors)
    task = role.of_task("serve", "Refuse archives that cannot be served")["ansible.builtin.assert"]
    assert role.holds(task["that"]) == is_served
    assert f"apt here has {', '.join(apt) or 'none'}. Add such" in role.render(task["fail_msg"])


@pytest.mark.parametrize(
    ("apt", "mirrors", "is_reached"),
    [
        (APT, [], True),
        (["Debian file:/srv/debian/"], [], False),
        (["Debian file:/srv/debian/"], ["http://one.lab/debian"], True),
        ([APT[0], "Debian-Security copy:/srv/security/"], [], False),
    ],
)
def test_sources_that_machines_with_a_gateway_cannot_reach_are_refused(apt, mirrors, is_reached):
    role = netboot(
        __netboot_apt={"stdout_lines": apt}, netboot_mirrors=mirrors, netboot_gateway="10.0.0.1"
    )
    task = role.of_task("serve", "that machines with a gateway cannot reach")
    assert role.holds(task["when"])
    assert not netboot().holds(task["when"])
    assert role.holds(task["ansible.builtin.assert"]["that"]) == is_reached


@pytest.mark.parametrize(("system", "is_used"), [("Debian", True), ("Ubuntu", False)])
def test_a_control_host_of_another_system_is_refused(system, is_used):
    role = netboot(ansible_facts={"os_family": "Debian", "distribution": system})
    task = role.of_task("preflight", "Refuse systems other than Debian")["ansible.builtin.assert"]
    assert role.holds(task["that"]) == is_used


def refused(name, **variables):
    """What a check of the preflight says, or nothing."""
    role = netboot(**variables)
    check = role.of_task("preflight", name)["ansible.builtin.assert"]
    return "" if role.holds(check["that"]) else role.render(check["fail_msg"])


@pytest.mark.parametrize(
    ("interface", "says"),
    [("", "set netboot_interface to one of enp3s0, lo"), ("eth9", "eth9 does not exist or has no")],
)
def test_only_an_interface_with_an_address_is_served(interface, says):
    name = "Refuse what is no interface with an address"
    assert refused(name) == ""
    assert says in refused(name, netboot_interface=interface, __netboot_network={})


@pytest.mark.parametrize(
    ("routes", "despite", "may"),
    [
        ('[{"dev":"enp2s0"}]\n[]', "", True),
        ("[]\n", "", True),
        ('[{"dev":"enp2s0"},{"dev":"enp3s0"}]\n[]', "", False),
        ('[]\n[{"dev":"enp3s0"}]\n', "enp2s0", False),
        ('[]\n[{"dev":"enp3s0"}]\n', "enp3s0", True),
    ],
)
def test_the_interface_of_a_default_route_is_served_only_when_it_is_named_twice(
    routes, despite, may
):
    said = refused(
        "Refuse the interface of a default route",
        netboot_despite_default_route=despite,
        __netboot_routes={"stdout_lines": routes.splitlines()},
    )
    assert ("enp3s0 carries this machine's default route" in said) != may


# As dnsmasq 2.90 writes them with log-dhcp, each with its time before it.
REQUESTS = """\
10:00:00 dnsmasq-dhcp[7]: started, static leases only on 192.168.1.0
10:00:00 dnsmasq-dhcp[7]: 211 available DHCP subnet: 192.168.1.0/255.255.255.0
10:00:00 dnsmasq-dhcp[7]: 211 vendor class: PXEClient:Arch:00007:UNDI:003016
10:00:00 dnsmasq-dhcp[7]: 211 DHCPDISCOVER(enp3s0) 3c:ec:ef:01:02:03 ignored
10:00:01 dnsmasq-dhcp[7]: 212 vendor class: PXEClient:Arch:00007:UNDI:003016
10:00:01 dnsmasq-dhcp[7]: 212 DHCPDISCOVER(enp3s0) 3c:ec:ef:01:02:03 ignored
10:00:02 dnsmasq-dhcp[7]: 99 client provides name: printer
10:00:02 dnsmasq-dhcp[7]: 99 DHCPREQUEST(enp3s0) 192.168.1.77 52:54:00:00:00:09 ignored
10:00:03 dnsmasq-dhcp[7]: 213 vendor class: PXEClient:Arch:00000:UNDI:002001
10:00:03 dnsmasq-dhcp[7]: 213 DHCPDISCOVER(enp3s0) 00:00:5e:01:02:04 ignored
10:00:04 dnsmasq-dhcp[7]: 214 vendor class: PXEClient:Arch:00016:UNDI:002001
10:00:04 dnsmasq-dhcp[7]: 214 DHCPDISCOVER(enp3s0) 00:00:5e:01:02:05 ignored
"""
VENDORS = "3C-EC-EF   (hex)\t\tMade Up\r\n3CECEF     (base 16)\t\tMade Up\r\n\t\t\t\tCity\r\n"


def test_each_machine_that_asked_is_listed_once():
    known = described(4, mac="00:00:5e:01:02:04")
    role = netboot([known], __netboot_heard=REQUESTS, __netboot_vendors=VENDORS)
    assert role.template("discovered.j2").splitlines() == [
        "new1:  # Made Up, UEFI x86-64, asked at 10:00:00",
        "  ansible_host:  # the address to give it",
        '  netboot_mac: "3c:ec:ef:01:02:03"',
        "  netboot_uefi: true",
        "  netboot_disk: {min_gb: , max_gb: }",
        "  netboot_install: false",
        "new2:  # no vendor: an address made by software, no network boot, asked at 10:00:02",
        "  ansible_host:  # the address to give it",
        '  netboot_mac: "52:54:00:00:00:09"',
        "  netboot_disk: {min_gb: , max_gb: }",
        "  netboot_install: false",
        "# rack04 is in the inventory already: 00:00:5e:01:02:04, BIOS x86",
        "new4:  # unknown vendor, architecture 00016, asked at 10:00:04",
        "  ansible_host:  # the address to give it",
        '  netboot_mac: "00:00:5e:01:02:05"',
        "  netboot_disk: {min_gb: , max_gb: }",
        "  netboot_install: false",
    ]
    assert not netboot(__netboot_heard="", __netboot_vendors="").template("discovered.j2")


@pytest.mark.parametrize(("server", "lasts"), [("echo heard; cat", True), ("echo bad", False)])
def test_who_asks_is_listened_to_for_so_long(tmp_path, server, lasts):
    script, log = netboot().render("{{ __netboot_listen }}"), tmp_path / "heard.log"
    began = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", script, "2", log, "sh", "-c", server],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (time.monotonic() - began >= 1) == lasts
    assert re.fullmatch(rf"\d\d:\d\d:\d\d {server.split(';')[0][5:]}\n", done.stdout)
    assert log.read_text() == done.stdout
    assert ("has ended by itself" in done.stderr) != lasts


def test_all_reported_keys_are_taken_at_once(tmp_path):
    """Each program waits until all have begun."""
    several = [described(number) for number in range(1, 17)]
    several[0]["ssh_args"] = "-J 'x y'"
    names = [one["name"] for one in several]
    role_path = tmp_path / "roles/netboot"
    for place in (role_path / "files", tmp_path / "roles/known_host/files"):
        place.mkdir(parents=True)
    for name in names:
        (tmp_path / "machines" / name).mkdir(parents=True)
        (tmp_path / "machines" / name / "installed.json").write_text(f'{{"host_key": "{KEY}"}}')
    role = netboot(
        several,
        netboot_dir=str(tmp_path),
        role_path=str(role_path),
        __netboot_unknown=names,
    )
    shutil.copy(role.path / "files/know_machine", role_path / "files")
    (tmp_path / "roles/known_host/files/know_host").write_text(
        f'printf "%s\\n" "$@" >{tmp_path}/began.$1\n'
        f"for turn in $(seq 600); do\n"
        f"  set -- $1 {tmp_path}/began.*; [ $# -gt 16 ] && break; sleep 0.1\n"
        "done\n"
        "[ $# -gt 16 ] && [ $1 != rack03 ] || { echo no >&2; exit 1; }\n"
    )
    asked = role.task("main", "Know the machines that reported their host keys")
    given = asked["ansible.builtin.command"]
    done = subprocess.run(
        shlex.split(role.render(given["cmd"])),
        input=role.render(given["stdin"]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (123, "no\n")
    known = {file.parent.name for file in tmp_path.glob("machines/*/known")}
    assert known == set(names) - {"rack03"}
    public = tmp_path / "key.pub"
    public.write_text(KEY + "\n")
    shown = subprocess.check_output(["ssh-keygen", "-l", "-f", public], text=True).split()[1]
    told = (tmp_path / "began.rack01").read_text().splitlines()
    assert told == ["rack01", "192.168.1.1", "22", shown, "-J 'x y'"]
