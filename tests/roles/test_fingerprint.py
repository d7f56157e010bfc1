"""Nodes compared with one another: what differs, what is within tolerance, what was declared."""

import json
import re

import pytest
import yaml
from loading import ROOT, load
from rendering import Role

ROLE = "roles/fingerprint"
TOLERANCES = {"clock_ms": 50, "memory": 0.01, "link_share": 0.2, "rtt_ms": 2}
GROUPS = {"client": ["client1"], "workers": ["worker1", "worker2", "worker3"]}


filters = load(f"{ROLE}/filter_plugins/differences.py")
lab_addresses = load(f"{ROLE}/module_utils/lab_addresses.py")
kernel_words = load(f"{ROLE}/module_utils/kernel_words.py").kernel_words


@pytest.fixture(scope="module")
def taking():
    """The module that takes a node's fingerprint."""
    load("playbooks/module_utils/host.py", "ansible.module_utils.host")
    for role, name in (
        ("probation", "ssh_session"),
        ("fingerprint", "kernel_words"),
        ("fingerprint", "lab_addresses"),
        ("fingerprint", "running_jvms"),
        ("fingerprint", "in_force"),
    ):
        load(f"roles/{role}/module_utils/{name}.py", f"ansible.module_utils.{name}")
    return load(f"{ROLE}/library/fingerprint.py", "taking")


@pytest.fixture(scope="module")
def differences():
    return filters.fingerprint_differences


def fingerprint(**items):
    """One node's fingerprint."""
    return {
        "kernel": "6.12.0",
        "packages": {"zip": "3.0-14"},
        "packages_sha256": "ab",
        "sysctls": {"vm.swappiness": "60"},
        "files": {"/opt/rackbench/a.jar": "cd"},
        "jvms": {"rackbench-tomcat heap": "-Xms256m -Xmx256m"},
        "link_shaped_mbit": 100.0,
        "link_measured_mbit": 95.0,
        "link_rtt_ms": 0.1,
        "clock_offset_ms": 1.0,
        "clock_uncertainty_ms": 1.0,
    } | items


def nodes(odd="worker2", **items):
    """Four nodes of which one has other items."""
    names = [name for members in GROUPS.values() for name in members]
    return {name: fingerprint(**items if name == odd else {}) for name in names}


def rows(differences, taken, exceptions=()):
    found = differences(taken, GROUPS, TOLERANCES, exceptions)
    return [(row["item"], row["node"], row["value"], row["others"]) for row in found]


def test_equal_nodes_have_no_differences(differences):
    assert rows(differences, nodes()) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ({"kernel": "6.12.9"}, ("kernel", "6.12.9", "6.12.0")),
        ({"sysctls": {"vm.swappiness": "1"}}, ("sysctls vm.swappiness", "1", "60")),
        (
            {"packages": {"zip": "3.1"}, "packages_sha256": "ff"},
            ("packages zip", "3.1", "3.0-14"),
        ),
        ({"packages": {}}, ("packages zip", "(absent)", "3.0-14")),
        (
            {"files": {"/opt/rackbench/a.jar": "ee"}},
            ("files /opt/rackbench/a.jar", "ee", "cd"),
        ),
        (
            {"jvms": {"rackbench-tomcat heap": "-Xmx1g"}},
            ("jvms rackbench-tomcat heap", "-Xmx1g", "-Xms256m -Xmx256m"),
        ),
        ({"link_measured_mbit": 70.0}, ("link_measured_mbit", "70.0", "within 20% of 95")),
        ({"link_measured_mbit": 120.0}, ("link_measured_mbit", "120.0", "within 20% of 95")),
        (
            {"link_measured_mbit": None},
            ("link_measured_mbit", "no answer from its peer", "within 20% of 95"),
        ),
        ({"link_rtt_ms": 2.3}, ("link_rtt_ms", "2.3", "at most 2 above 0.1")),
        ({"clock_offset_ms": -60.0}, ("clock_offset_ms", "-60.0", "within 50")),
    ],
)
def test_what_differs_is_named_with_its_node(differences, items, expected):
    item, value, others = expected
    assert rows(differences, nodes(**items)) == [(item, "worker2", value, others)]


@pytest.mark.parametrize(
    "items",
    [
        {"link_measured_mbit": 80.0, "link_rtt_ms": 1.9},
        {"clock_offset_ms": 70.0, "clock_uncertainty_ms": 30.0},
        {"jvms": {}},
    ],
    ids=["readings within tolerance", "an uncertain clock", "a service that is down"],
)
def test_what_is_no_difference(differences, items):
    assert rows(differences, nodes(**items)) == []


def test_files_and_jvms_of_other_groups_are_not_compared(differences):
    taken = nodes(odd="client1", files={"/opt/rackbench/b.jar": "aa"}, jvms={})
    assert rows(differences, taken) == []


def test_rates_that_nothing_limits_are_not_compared(differences):
    taken = nodes(link_measured_mbit=9000.0)
    for items in taken.values():
        del items["link_shaped_mbit"]
    assert rows(differences, taken) == []


def test_rates_below_what_the_links_allow_are_not_compared(differences):
    taken = nodes(link_measured_mbit=300.0)
    for items in taken.values():
        items["link_shaped_mbit"] = 1000.0
    assert rows(differences, taken) == []


def comparing(taken, **variables):
    """The role that compares nodes by their fingerprints, with its own task."""
    known = {name: {"fingerprint": items} for name, items in taken.items()}
    role = Role("fingerprint", fingerprint_nodes=known, fingerprint_groups=GROUPS, **variables)
    role.of_task("compare", "with each other")
    return role


@pytest.mark.parametrize(
    ("moments", "left"), [(True, ["kernel", "failed_units", "link_rtt_ms"]), (False, ["kernel"])]
)
def test_what_is_of_the_moment_is_a_difference_unless_it_is_left_out(moments, left):
    taken = nodes(kernel="6.12.9", failed_units="logrotate.service", link_rtt_ms=90.0)
    role = comparing(taken, fingerprint_moments=moments)
    found = role.render("{{ __fingerprint_differences }}")
    assert {row["item"] for row in found} == {*left}


def test_a_declared_difference_is_left_out_and_the_others_are_not(differences):
    taken = nodes(kernel="6.12.9", link_rtt_ms=9.0)
    declared = [{"node": "worker2", "item": "kernel", "reason": "a newer board needs it"}]
    assert [row[0] for row in rows(differences, taken, declared)] == ["link_rtt_ms"]


@pytest.mark.parametrize(
    ("item", "left"),
    [
        ("packages", ["sysctls vm.swappiness"]),
        ("packages zip", ["packages nano", "sysctls vm.swappiness"]),
        ("pack", ["packages nano", "packages zip", "sysctls vm.swappiness"]),
    ],
)
def test_all_items_of_a_kind_are_declared_at_once(differences, item, left):
    other = {"packages": {"zip": "3.1", "nano": "8"}, "sysctls": {"vm.swappiness": "1"}}
    declared = [{"node": "worker2", "item": item, "reason": "an older release"}]
    assert [row[0] for row in rows(differences, nodes(**other), declared)] == left


@pytest.mark.parametrize(
    ("items", "steps"),
    [
        (["governor"], ["Run playbooks/site.yml."]),
        (["link_mbit"], ["Correct the link at its cable"]),
        (["link_mbit", "governor"], ["Run playbooks/site.yml.", "Correct the link at its cable"]),
    ],
)
def test_a_link_of_another_rate_has_a_next_step_of_its_own(items, steps):
    undeclared = [{"item": item, "value": "100", "others": "1000"} for item in items]
    taken = {"worker1": {"undeclared": undeclared, "fingerprint": {}}}
    variables = {"fingerprint_nodes": taken, "fingerprint_groups": GROUPS}
    role = Role("fingerprint", **variables, fingerprint_with_each_other=False)
    said = role.render(role.of_task("compare", "with each other")["ansible.builtin.fail"]["msg"])
    found = re.findall(r"(?m)^(?:Run playbooks/site.yml[.]|Correct the link at its cable)", said)
    assert (found, "were compared" in said) == (steps, False)


WHOLE = {"node": "worker2", "item": "kernel", "reason": "a newer board needs it"}


@pytest.mark.parametrize(
    ("exception", "is_taken"),
    [
        (WHOLE, True),
        (WHOLE | {"node": "client1"}, True),
        (WHOLE | {"node": "worker9"}, False),
        (WHOLE | {"item": None}, False),
        (WHOLE | {"reason": "  "}, False),
        ({"node": "worker2", "item": "kernel"}, False),
        ("worker2 kernel", False),
    ],
)
def test_an_exception_that_is_not_whole_is_refused(exception, is_taken):
    """A node that a playbook skips may have one as well."""
    taken = nodes()
    del taken["client1"]
    role = comparing(taken, __fingerprint_exception=exception)
    wanted = role.task("compare", "an item or a reason")["ansible.builtin.assert"]["that"]
    assert all(role.holds(one) for one in wanted) == is_taken


# Two workers, one node that is broker and worker.
MIXED = {"broker": ["both"], "workers": ["both", "worker1", "worker2"]}
TOMCAT, OPENMQ = "/opt/rackbench/tomcat/bin/x.jar", "/opt/rackbench/openmq/lib/y.jar"
FILTER, PROBES = "/etc/rackbench/packet-filter.nft", "/etc/rackbench/probes.json"


def mixed(**changes):
    """The files of these nodes, with those of some changed."""
    held = {
        "both": {TOMCAT: "t", OPENMQ: "o", FILTER: "more ports", PROBES: "two services"},
        "worker1": {TOMCAT: "t", FILTER: "ports", PROBES: "one service"},
        "worker2": {TOMCAT: "t", FILTER: "ports", PROBES: "one service"},
    }
    for name, files in changes.items():
        held[name] |= files
    return {
        name: fingerprint(files={path: digest for path, digest in files.items() if digest})
        for name, files in held.items()
    }


def test_a_node_of_more_roles_has_files_of_each(differences):
    assert differences(mixed(), MIXED, TOLERANCES) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"both": {TOMCAT: "z"}}, (TOMCAT, "both", "z", "t")),
        ({"worker1": {TOMCAT: "z"}}, (TOMCAT, "worker1", "z", "t")),
        ({"both": {TOMCAT: None}}, (TOMCAT, "both", "(absent)", "t")),
        ({"worker1": {TOMCAT: None}}, (TOMCAT, "worker1", "(absent)", "t")),
        ({"worker2": {"/opt/rackbench/z": "z"}}, ("/opt/rackbench/z", "worker2", "z", "(absent)")),
        ({"worker2": {FILTER: "none"}}, (FILTER, "worker2", "none", "ports")),
        ({"worker2": {PROBES: "none"}}, (PROBES, "worker2", "none", "one service")),
    ],
    ids=[
        "changed",
        "changed on a plain one",
        "gone",
        "gone on a plain one",
        "too many",
        "filter",
        "probes",
    ],
)
def test_a_file_of_a_shared_role_is_compared(differences, changes, expected):
    path, *rest = expected
    found = differences(mixed(**changes), MIXED, TOLERANCES)
    assert [tuple(row.values()) for row in found] == [(f"files {path}", *rest)]


def test_of_two_nodes_the_one_that_lacks_a_file_is_named(differences):
    groups = {"workers": ["one", "two"]}
    taken = {"one": fingerprint(files={TOMCAT: "t"}), "two": fingerprint(files={})}
    found = differences(taken, groups, TOLERANCES)
    assert [tuple(row.values()) for row in found] == [(f"files {TOMCAT}", "two", "(absent)", "t")]


def test_what_no_role_explains_is_a_difference(differences):
    """With a plain broker there, a file that neither kind has belongs to no role."""
    taken = mixed(both={"/opt/rackbench/z": "z"})
    assert differences(taken, MIXED, TOLERANCES) == []
    groups = MIXED | {"broker": ["both", "broker"]}
    taken["broker"] = fingerprint(files={OPENMQ: "o", FILTER: "other ports", PROBES: "another"})
    found = differences(taken, groups, TOLERANCES)
    assert [tuple(row.values()) for row in found] == [
        ("files /opt/rackbench/z", "both", "z", "(absent)")
    ]


def test_nodes_that_share_a_role_beside_their_own_are_compared_in_it(differences):
    groups = {"client": ["one"], "broker": ["two"], "workers": ["one", "two"]}
    taken = {
        "one": fingerprint(files={TOMCAT: "t", "/opt/rackbench/client": "c"}),
        "two": fingerprint(files={TOMCAT: "z", OPENMQ: "o"}),
    }
    found = differences(taken, groups, TOLERANCES)
    assert [row["item"] for row in found] == [f"files {TOMCAT}"]


def test_the_jvms_of_a_shared_role_are_compared(differences):
    taken = mixed()
    taken["both"]["jvms"] = {"rackbench-tomcat heap": "-Xmx1g", "rackbench-broker heap": "-Xmx2g"}
    assert [row["item"] for row in differences(taken, MIXED, TOLERANCES)] == [
        "jvms rackbench-tomcat heap"
    ]


def test_a_declared_difference_is_left_out_where_two_nodes_are_compared(differences):
    """Which of two is the odd one nobody can tell."""
    for name in ("worker1", "worker2"):
        taken = {n: fingerprint() for n in ("worker1", "worker2")}
        taken[name]["kernel"] = "6.12.9"
        for declared in taken:
            exception = {"node": declared, "item": "kernel", "reason": "a newer board needs it"}
            assert rows(differences, taken, [exception]) == []


def test_a_node_that_is_left_out_may_have_a_declared_difference(differences):
    taken = nodes()
    del taken["worker2"]
    exception = {"node": "worker2", "item": "kernel", "reason": "a newer board needs it"}
    assert rows(differences, taken, [exception]) == []


@pytest.mark.parametrize(("memory", "is_odd"), [(15_900, False), (15_800, True), (16_200, True)])
def test_memory_may_differ_by_its_tolerance(differences, memory, is_odd):
    taken = nodes(memory_mb=memory)
    for name in set(taken) - {"worker2"}:
        taken[name]["memory_mb"] = 16_000
    found = rows(differences, taken)
    assert found == [("memory_mb", "worker2", str(memory), "within 1% of 16000")] * is_odd


def test_names_of_interfaces_and_sources_of_time_do_not_differ(differences):
    assert rows(differences, nodes(link_device="enp4s0", time_source="chrony 192.168.1.9")) == []


def test_a_word_of_the_kernels_command_line_is_named(differences):
    taken = nodes(kernel_command_line=kernel_words("root=UUID=1-2 ro mitigations=off", "w2"))
    for name in set(taken) - {"worker2"}:
        taken[name]["kernel_command_line"] = kernel_words("root=UUID=3-4 ro", name)
    item = "kernel_command_line mitigations"
    assert rows(differences, taken) == [(item, "worker2", "mitigations=off", "(absent)")]
    for declared in (item, "kernel_command_line"):
        exception = {"node": "worker2", "item": declared, "reason": "measured so"}
        assert rows(differences, taken, [exception]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("root=UUID=1b4e28ba-2fa1-11d2-883f-0016d3cca427", "root=UUID=ABCD-1234"),
        ("root=PARTUUID=1234abcd-02", "root=PARTUUID=4321dcba-02"),
        ("root=LABEL=rack01", "root=LABEL=rack02"),
        ("root=/dev/sda2", "root=/dev/sdb2"),
        ("root=/dev/nvme0n1p2", "root=/dev/nvme1n1p2"),
        ("root=/dev/mapper/rack01--vg-root", "root=/dev/mapper/rack02--vg-root"),
        ("root=/dev/rack01-vg/root", "root=/dev/rack02-vg/root"),
        (
            "resume=/dev/disk/by-uuid/1-2 resume_offset=1",
            "resume=/dev/disk/by-uuid/3 resume_offset=2",
        ),
        ("BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.12", "BOOT_IMAGE=(hd1,gpt2)/vmlinuz-6.12"),
        (
            "rd.luks.uuid=luks-1b4e28ba-2fa1-11d2-883f-0016d3cca427",
            "rd.luks.uuid=luks-2b4e28ba-2fa1-11d2-883f-0016d3cca427",
        ),
        ("rd.lvm.lv=rack01-vg/root", "rd.lvm.lv=rack02-vg/root"),
        ("cryptdevice=UUID=1-2:root", "cryptdevice=UUID=3-4:root"),
        ("console=tty0 console=ttyS0,115200n8", "console=tty0 console=ttyS1,115200n8"),
        ("earlycon=uart8250,io,0x3f8,115200n8", "earlycon=uart8250,io,0x2f8,115200n8"),
        ("ip=:::::rack01:eno1:dhcp", "ip=:::::rack02:eno1:dhcp"),
        ("BOOTIF=01-52-54-00-00-00-01", "BOOTIF=01-52-54-00-00-00-02"),
        ("quiet quiet splash", "splash quiet"),
    ],
)
def test_what_names_one_machines_disk_or_port_is_no_difference(one, other):
    assert kernel_words(one, "rack01") == kernel_words(other, "rack02")


@pytest.mark.parametrize(
    ("one", "other", "item"),
    [
        ("root=UUID=1-2", "root=LABEL=root", "root"),
        ("root=/dev/sda2", "root=/dev/vda2", "root"),
        ("ro quiet", "rw quiet", "ro"),
        ("ro rw", "rw ro", "ro"),
        ("console=ttyS0,115200", "console=ttyS0,9600", "console"),
        ("console=ttyS0,115200", "", "console"),
        ("console=tty0 console=ttyS0", "console=ttyS0 console=tty0", "console"),
        ("BOOT_IMAGE=/vmlinuz-6.12", "BOOT_IMAGE=/vmlinuz-6.13", "BOOT_IMAGE"),
        ("isolcpus=1-3", "isolcpus=1-2", "isolcpus"),
        ("nvme_core.default_ps_max_latency_us=0", "", "nvme_core.default_ps_max_latency_us"),
        (
            "hugepagesz=2M hugepages=1 hugepagesz=1G hugepages=2",
            "hugepagesz=2M hugepages=2 hugepagesz=1G hugepages=1",
            "hugepagesz",
        ),
        ("quiet -- single", "quiet", "--"),
        ("quiet -- single", "quiet -- double", "--"),
        ("init=/bin/sh", "init=/sbin/init", "init"),
    ],
)
def test_every_other_word_is_a_difference(one, other, item):
    ours, theirs = kernel_words(one, "rack01"), kernel_words(other, "rack02")
    assert {key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)} == {item}


def test_what_the_first_program_is_told_is_not_published():
    told = kernel_words("quiet rdinit=/agent -- --token secret", "rack01")
    assert told["quiet"] == "quiet"
    assert set(told) == {"quiet", "rdinit", "--"}
    assert not [word for word in told.values() if "secret" in word or "agent" in word]


LAB = {
    "client": "10.0.0.1",
    "both": ["10.0.0.2", "10.9.9.2"],
    "worker1": "10.0.0.3",
    "worker2": ("10.0.0.11", "10.0.0.11"),
    "worker3": "fd00::b",
}
LAB_ROLES = {
    "client": ["client"],
    "broker": ["both"],
    "workers": ["both", "worker1", "worker2", "worker3"],
}


def seen_by(node, text):
    """A setting as it counts on one node."""
    words = filters.fingerprint_roles(LAB, LAB_ROLES, ["10.0.0.254"])
    own = LAB[node] if isinstance(LAB[node], str) else LAB[node][0]
    return lab_addresses.Roles(words, {own: "OWN"}).neutral(text)


@pytest.mark.parametrize(
    "form",
    [
        "set lab4 {{ elements = {{ {0}, {1}, {2}, {3} }} }}",
        'address: ["{2}", "{0}", "{3}", "{1}"]',
        "- {0}\n- {3}\n- {2}\n- {1}\n",
        "mq://{0}:7676/jms,mq://{1}:7676/jms,mq://{2}:7676/jms,mq://{3}:7676/jms",
        "peers={1} {2} {0} {3}",
    ],
)
def test_a_list_of_all_nodes_is_the_same_on_each_wherever_its_own_address_stands(form):
    places = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.11"]
    texts = {seen_by(node, form.format(*places)) for node in ("client", "both", "worker2")}
    own_first = form.format("10.0.0.3", *(p for p in places if p != "10.0.0.3"))
    assert texts == {seen_by("worker1", own_first)}
    one_less = form.format("10.0.0.3", "10.0.0.3", "10.0.0.1", "10.0.0.2")
    assert seen_by("worker1", one_less) not in texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('address="10.0.0.3"', 'address="OWN"'),
        ('address="10.0.0.2"', 'address="broker+workers"'),
        ('address="10.0.0.11"', 'address="workers"'),
        ('address="10.9.9.2"', 'address="broker+workers 2"'),
        ("10.0.0.3:9102", "OWN:9102"),
        ("10.0.0.3, 127.0.0.1", "OWN, 127.0.0.1"),
        ("http://[fd00:0::b]:8080/axis", "http://[workers]:8080/axis"),
        ("::ffff:10.0.0.3", "OWN"),
        ("ip saddr 10.0.0.254", "ip saddr control"),
        ("10.0.0.3/32", "OWN"),
        ("10.0.0.33 10.0.0.111 110.0.0.3 10.0.0.3.4", None),
        ("fd00::b1 1fd00::b", None),
        ("10.0.0.1-10.0.0.40, 10.0.0.0/24, fd00::/64", None),
        ("at 10:00:03 aa:bb:cc:00:00:0b std::b", None),
    ],
)
def test_an_address_counts_as_what_it_is_to_the_node(text, expected):
    assert seen_by("worker1", text) == (text if expected is None else expected)


def test_an_end_of_a_range_is_not_the_node_that_has_it():
    text = "elements = { 10.0.0.1-10.0.0.11, 10.0.0.3 - 10.0.0.40 }"
    assert {seen_by(node, text) for node in LAB} == {text}


def table(*rows):
    names = ("item", "node", "value", "others")
    return filters.as_table([dict(zip(names, row, strict=True)) for row in rows])


def test_the_table_cuts_nothing():
    words = " ".join(f"-Dname.of.a.flag.{number}=value" for number in range(40))
    text = table(("jvms rackbench-tomcat flags", "worker1", words, "a\nb"))
    assert words in text
    assert "a / b" in text


def test_many_files_of_a_directory_are_one_row_and_few_are_their_own():
    files = [f"files /opt/rackbench/openmq-6.7.0/lib/{number}.jar" for number in range(138)]
    wrong = [f"files /opt/rackbench/openmq-6.5.1/bin/{number}" for number in range(5)]
    told = [
        *((item, node, "(absent)", "ab") for item in files for node in ("worker1", "worker2")),
        *((item, "worker1", "cd", "(absent)") for item in wrong),
        *((item, "worker2", "cd", "ef") for item in wrong),
        ("files /opt/rackbench/health.py", "worker1", "ab", "cd"),
        ("packages zip", "worker1", "3.1", "3.0"),
        ("packages zip", "worker2", "3.1", "3.0"),
    ]
    rows = [" ".join(line.split()) for line in table(*told).splitlines()]
    assert rows == [
        "item node value others",
        "138 files of /opt/rackbench/openmq-6.7.0/lib worker1, worker2 (absent) (there)",
        "5 files of /opt/rackbench/openmq-6.5.1/bin worker1 (there) (absent)",
        "5 files of /opt/rackbench/openmq-6.5.1/bin worker2 (other content) (the same content)",
        "files /opt/rackbench/health.py worker1 ab cd",
        "packages zip worker1, worker2 3.1 3.0",
    ]


def test_a_rack_of_200_takes_no_more_than_its_share():
    """The work on a list of addresses grows as the list does."""
    addresses = {f"node{n}": f"10.1.{n // 250}.{n % 250}" for n in range(400)}
    words = filters.fingerprint_roles(addresses, {"workers": list(addresses)}, [])
    roles = lab_addresses.Roles(words, {"10.1.0.0": "OWN"})
    text = f"elements = {{ {', '.join(addresses.values())} }}"
    assert roles.neutral(text) == f"elements = {{ {', '.join(['workers'] * 400)}, OWN }}"


@pytest.mark.parametrize(
    ("rates", "allowed", "expected"),
    [
        ([95.0, 60.0, 70.0, 99.0], 100.0, (95.0, 3)),
        ([50.0, 60.0, 40.0, 55.0, 94.0, 99.0], 100.0, (94.0, 5)),
        ([50.0] * 20, 100.0, (50.0, 12)),
        ([50.0, 60.0, 40.0, 99.0], 0.0, (60.0, 3)),
    ],
    ids=["as fast as it may be", "a busy node", "a slow link", "nothing limits it"],
)
def test_a_rate_below_what_the_link_allows_is_measured_again(
    taking, monkeypatch, rates, allowed, expected
):
    left = iter(rates)
    monkeypatch.setattr(taking, "connect_seconds", lambda peer: 0.001)
    monkeypatch.setattr(taking, "transfer_mbit", lambda peer: next(left))
    measured = taking.peer_link("192.0.2.1:9102", allowed)["link_measured_mbit"]
    assert (measured, len(rates) - len(list(left))) == expected


# As iproute2 prints them, with fields that nobody reads left out.
INTERFACES = [
    {"ifname": "lo", "mtu": 65536, "addr_info": [{"family": "inet", "local": "127.0.0.1"}]},
    {"ifname": "host0", "mtu": 1500, "addr_info": [{"family": "inet", "local": "10.77.0.11"}]},
]
PLAIN = {"kind": "fq_codel", "root": True, "options": {"limit": 10240}}
# tc qdisc add dev host0 root tbf rate 100mbit burst 64kb latency 50ms
SHAPED = {"kind": "tbf", "root": True, "options": {"rate": 12500000, "burst": 65536, "lat": 50000}}


@pytest.mark.parametrize(
    ("queues", "mbit"), [([SHAPED], 100.0), ([PLAIN], None), ([], None)], ids=["tbf", "other", "no"]
)
def test_the_rate_of_a_shaper_is_given_in_bits_though_tc_counts_bytes(
    taking, monkeypatch, queues, mbit
):
    printed = {"ip": json.dumps(INTERFACES), "tc": json.dumps(queues)}
    monkeypatch.setattr(taking, "output", lambda *argv: printed[argv[0]])
    found = taking.link("10.77.0.11")
    assert (found["link_device"], found["link_shaped_mbit"]) == ("host0", mbit)


# systemctl set-property rackbench-tomcat CPUWeight=10, also with --runtime
PROPERTIES = [
    f"{place}/systemd/system.control/rackbench-tomcat.service.d/50-CPUWeight.conf"
    for place in ("etc", "run")
]


def test_settings_of_the_jdks_the_units_and_every_program_are_read(taking, tmp_path):
    """As Debian lays a JDK down: its settings are links to files below /etc."""
    defaults = yaml.safe_load((ROOT / ROLE / "defaults/main.yml").read_text())
    listed = (defaults["fingerprint_files"], defaults["fingerprint_files_not"])
    patterns, but = ([f"{tmp_path}{pattern}" for pattern in several] for several in listed)
    java = tmp_path / "usr/lib/jvm/java-21-openjdk-amd64"
    kept = tmp_path / "etc/java-21-openjdk"
    for name in ("conf/security", "conf/management", "lib", "bin"):
        (java / name).mkdir(parents=True)
    (kept / "security").mkdir(parents=True)
    for path in (kept / "net.properties", kept / "security/java.security", kept / "jvm-amd64.cfg"):
        path.write_text("as packaged")
    (tmp_path / "etc/ld.so.preload").write_text("/usr/lib/libjemalloc.so.2")
    (java / "conf/net.properties").symlink_to(kept / "net.properties")
    (java / "conf/security/java.security").symlink_to(kept / "security/java.security")
    (java / "lib/jvm.cfg").symlink_to(kept / "jvm-amd64.cfg")
    (java / "bin/java").touch()
    (tmp_path / "opt/rackbench").mkdir(parents=True)
    (tmp_path / "opt/rackbench/jdk").symlink_to(java)
    for place in PROPERTIES:
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("[Service]\nCPUWeight=10\n")
    found = taking.files(patterns, but, lab_addresses.Roles({}, {}))
    assert {name.removeprefix(str(tmp_path)) for name in found} == {
        "/opt/rackbench/jdk/conf/net.properties",
        "/opt/rackbench/jdk/conf/security/java.security",
        "/opt/rackbench/jdk/lib/jvm.cfg",
        "/etc/ld.so.preload",
        *(f"/{place}" for place in PROPERTIES),
    }


LAB_FILE = "/etc/rackbench/lab.json"
UNIT = "/etc/systemd/system/rackbench-x.service"
RESET = "What worker2 alone has may be left from another group that it was in: run "
RESET += "playbooks/reset.yml -e node=worker2, then playbooks/site.yml."
SITE = "Run playbooks/site.yml, which puts the same files on all."
DECLARE = "Make the nodes alike, or declare a difference with its reason in "
DECLARE += "fingerprint_exceptions of the inventory."
CLOCK, LINK = "a clock by its time server", "a link at its cable or switch"
FAILED = "a failed unit by the cause that its journal names there (journalctl -u UNIT), then run "
FAILED += "systemctl reset-failed"


@pytest.mark.parametrize(
    ("odd", "others", "advice"),
    [
        ({"kernel": "6.12.9"}, {}, DECLARE),
        ({"files": {"/opt/rackbench/a.jar": "cd", UNIT: "ab"}}, {}, RESET),
        ({"files": {}}, {}, SITE),
        ({"files": {LAB_FILE: "ab"}}, {"files": {LAB_FILE: "cd"}}, SITE),
        ({"files": {UNIT: "ab"}, "kernel": "6.12.9"}, {"files": {}}, f"{RESET} {DECLARE}"),
        ({"files": {"/etc/ld.so.preload": "ab"}}, {"files": {}}, DECLARE),
        ({"clock_offset_ms": 900.0}, {}, f"Correct {CLOCK}."),
        ({"link_rtt_ms": 90.0, "link_measured_mbit": 10.0}, {}, f"Correct {LINK}."),
        ({"failed_units": "logrotate.service"}, {}, f"Correct {FAILED}."),
        ({"kernel": "6.12.9", "clock_offset_ms": 900.0}, {}, f"Correct {CLOCK}. {DECLARE}"),
    ],
)
def test_an_exception_is_recommended_only_where_it_is_sensible(odd, others, advice):
    taken = {name: fingerprint(**others) for name in GROUPS["workers"]}
    role = comparing({**taken, "worker2": fingerprint(**odd)})
    assert " ".join(role.render("{{ __fingerprint_next }}").split()) == advice
