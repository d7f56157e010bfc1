"""What makes a node steady, against made-up trees of kernel files."""

import json
from pathlib import Path

import pytest
from few_ports import LEFT_ALONE as NOTHING
from loading import load

MODULE = "roles/baseline/library/tuning.py"
CPU = "sys/devices/system/cpu"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
ASKED = NOTHING | {"governor": "performance", "turbo": False, "huge_pages": "madvise"}
IPV4 = "proc/sys/net/ipv4"
PORTS = NOTHING | {"port_range": [10240, 65535], "tcp_tw_reuse": 1}
LATENCIES = (0, 2, 40, 170)


tuning_module = load(MODULE)
steps = tuning_module.steps
cpu_lists = tuning_module.cpu_lists


@pytest.fixture(scope="module")
def tuning():
    return tuning_module


@pytest.fixture
def machine(tmp_path):
    """A machine of two cores with everything there is to set."""
    write(tmp_path, HUGE_PAGES, "[always] madvise never")
    write(tmp_path, f"{CPU}/intel_pstate/no_turbo", "0")
    for core in range(2):
        write(tmp_path, f"{CPU}/cpu{core}/cpufreq/scaling_governor", "powersave")
        offered = f"{CPU}/cpu{core}/cpufreq/scaling_available_governors"
        write(tmp_path, offered, "performance powersave")
    return tmp_path


@pytest.fixture
def server(machine):
    """The same with idle states, interrupts and one node of memory."""
    write(machine, f"{CPU}/online", "0-1")
    write(machine, "sys/devices/system/node/online", "0")
    for core in range(2):
        for state, latency in enumerate(LATENCIES):
            write(machine, f"{CPU}/cpu{core}/cpuidle/state{state}/latency", latency)
            write(machine, f"{CPU}/cpu{core}/cpuidle/state{state}/disable", 0)
    write(machine, f"{CPU}/cpu1/cpuidle/state1/disable", 1)  # as its owner has it
    write(machine, "proc/irq/default_smp_affinity", "3")
    for number in (4, 17, 120):
        write(machine, f"proc/irq/{number}/smp_affinity_list", "0-1")
    (machine / "proc/irq/120/smp_affinity_list").chmod(0o444)  # the kernel keeps it where it is
    return machine


@pytest.fixture
def network(machine):
    """The same with the settings of ports, as the kernel writes them."""
    write(machine, f"{IPV4}/ip_local_port_range", "32768\t60999")
    write(machine, f"{IPV4}/tcp_tw_reuse", "2")
    return machine


def ports(root):
    return [
        (root / IPV4 / name).read_text().split() for name in ("ip_local_port_range", "tcp_tw_reuse")
    ]


@pytest.fixture
def systemd(monkeypatch):
    """The commands that were called, and what systemctl lists."""
    listing = {"rackbench-*.service": "", "rackbench-runner.service": ""}
    called = []

    def run(*argv, stdin=""):
        called.append(argv)
        return listing.get(argv[-1], "")

    monkeypatch.setattr(steps.host, "run", run)
    return called, listing


def idle(root):
    """The switches of the idle states, processor by processor."""
    return [
        [
            (root / f"{CPU}/cpu{core}/cpuidle/state{state}/disable").read_text().strip()
            for state in range(len(LATENCIES))
        ]
        for core in range(2)
    ]


def interrupts(root):
    return {
        path.parent.name: path.read_text().strip()
        for path in (root / "proc/irq").glob("*/smp_affinity_list")
    }


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(f"{text}\n")


def values(root):
    """The kernel's files as they are now."""
    names = [f"{CPU}/cpu{core}/cpufreq/scaling_governor" for core in range(2)]
    names += [f"{CPU}/intel_pstate/no_turbo", HUGE_PAGES]
    return [(root / name).read_text().strip() for name in names]


def test_all_is_set_and_kept_at_boot(tuning, machine):
    settings, left = tuning.tune(machine, ASKED, check=False)
    assert settings == ["governor", "turbo", "huge_pages", "at boot"]
    assert left == {}
    assert values(machine) == ["performance", "performance", "1", "madvise"]
    lines = (machine / "etc/tmpfiles.d/rackbench-tuning.conf").read_text().splitlines()
    assert f"w /{CPU}/cpu1/cpufreq/scaling_governor - - - - performance" in lines
    assert f"w /{HUGE_PAGES} - - - - madvise" in lines


def test_a_second_time_there_is_nothing_to_do(tuning, machine):
    tuning.tune(machine, ASKED, check=False)
    assert tuning.tune(machine, ASKED, check=False) == ([], {})


def test_check_mode_tells_and_changes_nothing(tuning, machine):
    before = values(machine)
    settings, _ = tuning.tune(machine, ASKED, check=True)
    assert settings == ["governor", "turbo", "huge_pages", "at boot"]
    assert values(machine) == before
    assert not (machine / "etc").exists()


def test_reset_puts_back_what_was_found_first(tuning, machine):
    tuning.tune(machine, ASKED, check=False)
    tuning.tune(machine, ASKED | {"huge_pages": "never"}, check=False)
    settings, left = tuning.reset(machine, check=False)
    assert (set(settings), left) == ({"files", "at_boot"}, {})
    assert values(machine) == ["powersave", "powersave", "0", "always"]
    assert not [path for path in (machine / "etc").rglob("*") if path.is_file()]
    assert tuning.reset(machine, check=False) == ([], {})


def test_a_kill_between_record_and_change_loses_nothing(tuning, machine, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(steps, "write_all", kill)
        with pytest.raises(KeyboardInterrupt):
            tuning.tune(machine, ASKED, check=False)
    tuning.tune(machine, ASKED, check=False)
    tuning.reset(machine, check=False)
    assert values(machine) == ["powersave", "powersave", "0", "always"]


def kill(_):
    raise KeyboardInterrupt


def test_turbo_by_the_other_drivers_switch(tuning, machine):
    (machine / CPU / "intel_pstate/no_turbo").unlink()
    write(machine, f"{CPU}/cpufreq/boost", "1")
    tuning.tune(machine, ASKED, check=False)
    assert (machine / CPU / "cpufreq/boost").read_text() == "0"


def test_what_is_not_asked_for_is_left_without_a_word(tuning, machine):
    before = values(machine)
    assert tuning.tune(machine, NOTHING, check=False) == ([], {})
    assert values(machine) == before


def test_a_machine_without_the_switches_says_so(tuning, tmp_path):
    settings, left = tuning.tune(tmp_path, ASKED, check=False)
    assert settings == []
    assert left == {
        "governor": "this machine offers no frequency governor",
        "turbo": "this machine offers no switch for it",
        "huge_pages": "this kernel has none",
    }


def test_a_processor_that_is_off_has_no_governor_to_set(tuning, machine):
    """The kernel answers a look at it with "Device or resource busy"."""
    write(machine, f"{CPU}/cpu0/online", "1")
    write(machine, f"{CPU}/cpu1/online", "0")
    unread = machine / f"{CPU}/cpu1/cpufreq/scaling_governor"
    unread.unlink()
    unread.mkdir()
    settings, left = tuning.tune(machine, ASKED, check=False)
    assert settings == ["governor", "turbo", "huge_pages", "at boot"]
    assert left == {}
    assert "cpu1" not in (machine / "etc/tmpfiles.d/rackbench-tuning.conf").read_text()


def test_a_file_that_the_kernel_does_not_let_be_written_is_named(tuning, machine):
    switch = machine / CPU / "intel_pstate/no_turbo"
    found = {str(switch): "0", f"{machine}/{CPU}/cpu1/cpufreq": "powersave"}
    write(machine, "etc/rackbench/found.json", json.dumps({"files": found}))
    _, left = tuning.reset(machine, check=False)
    said = f"{machine}/{CPU}/cpu1/cpufreq does not take 'powersave': Is a directory"
    assert left == {"files": said}


def test_a_governor_that_the_driver_lacks_is_named_with_those_it_has(tuning, machine):
    _, left = tuning.tune(machine, ASKED | {"governor": "ondemand"}, check=False)
    assert left == {"governor": "this machine offers performance, powersave and not ondemand"}


def test_a_machine_that_cannot_have_the_governors_of_a_study_says_why(tuning, machine, tmp_path):
    refused = tuning.processor.refused_governors
    assert refused(machine, ["performance", "powersave"]) == []
    assert refused(machine, []) == []
    assert refused(machine, ["powersave", "ondemand"]) == [
        "this machine offers performance, powersave and not ondemand"
    ]
    none = tmp_path / "none"
    assert refused(none, ["performance", "powersave"]) == [
        "this machine offers no frequency governor"
    ]
    write(machine, "run/systemd/container", "systemd-nspawn")
    assert refused(machine, ["powersave"]) == [steps.SHARED]
    assert refused(machine, []) == []


def test_a_container_sets_nothing_of_its_hosts_kernel(tuning, machine):
    write(machine, "run/systemd/container", "systemd-nspawn")
    write(machine, "proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2")
    # A driver of the host that offers no list: nothing there is even read.
    (machine / CPU / "cpu0/cpufreq/scaling_available_governors").unlink()
    before = values(machine)
    settings, left = tuning.tune(machine, ASKED | {"swap": False}, check=False)
    assert settings == []
    assert set(left) == {"governor", "turbo", "huge_pages", "swap"}
    assert all("container" in reason for reason in left.values())
    assert values(machine) == before


def test_what_cannot_be_written_is_left_with_the_reason(tuning, machine, monkeypatch):
    def refuse(_):
        raise OSError("Operation not permitted")

    monkeypatch.setattr(steps, "write_all", refuse)
    settings, left = tuning.tune(machine, ASKED, check=False)
    assert settings == ["at boot"]
    assert left["turbo"] == "Operation not permitted"
    record = json.loads((machine / "etc/rackbench/found.json").read_text())
    assert record["files"][str(machine / CPU / "intel_pstate/no_turbo")] == "0"


def test_slow_idle_states_are_off_and_the_others_as_they_were(tuning, server):
    asked = NOTHING | {"max_cstate_us": 10}
    assert tuning.tune(server, asked, check=False) == (["idle states", "at boot"], {})
    assert idle(server) == [["0", "0", "1", "1"], ["0", "1", "1", "1"]]
    assert tuning.tune(server, asked, check=False) == ([], {})
    tuning.tune(server, asked | {"max_cstate_us": 50}, check=False)
    assert idle(server) == [["0", "0", "0", "1"], ["0", "1", "0", "1"]]
    tuning.reset(server, check=False)
    assert idle(server) == [["0", "0", "0", "0"], ["0", "1", "0", "0"]]
    assert not [path for path in (server / "etc").rglob("*") if path.is_file()]


def test_ports_are_set_kept_at_boot_and_put_back(tuning, network):
    names = ["ip_local_port_range", "tcp_tw_reuse", "at boot"]
    assert tuning.tune(network, PORTS, check=True) == (names, {})
    assert ports(network) == [["32768", "60999"], ["2"]]
    assert tuning.tune(network, PORTS, check=False) == (names, {})
    assert ports(network) == [["10240", "65535"], ["1"]]
    assert (network / "etc/tmpfiles.d/rackbench-tuning.conf").read_text() == (
        f"w /{IPV4}/ip_local_port_range - - - - 10240 65535\nw /{IPV4}/tcp_tw_reuse - - - - 1\n"
    )
    write(network, f"{IPV4}/ip_local_port_range", "10240\t65535")  # as the kernel writes it
    assert tuning.tune(network, PORTS, check=False) == ([], {})
    assert tuning.reset(network, check=False)[1] == {}
    assert ports(network) == [["32768", "60999"], ["2"]]
    assert not (network / "etc/tmpfiles.d/rackbench-tuning.conf").exists()


def test_no_reuse_of_ports_is_a_setting_too(tuning, network):
    assert tuning.tune(network, PORTS | {"tcp_tw_reuse": 0}, check=False)[1] == {}
    assert ports(network)[1] == ["0"]


def test_a_container_sets_the_ports_of_a_network_of_its_own(tuning, network):
    write(network, "run/systemd/container", "systemd-nspawn")
    assert tuning.tune(network, PORTS | {"turbo": False}, check=False)[1].keys() == {"turbo"}
    assert ports(network) == [["10240", "65535"], ["1"]]


def test_a_container_that_may_not_set_its_ports_says_so(tuning, network, monkeypatch):
    write(network, "run/systemd/container", "lxc")
    os = tuning_module.ports.os
    monkeypatch.setattr(os, "access", lambda path, _: "sys/net" not in str(path))
    settings, left = tuning.tune(network, PORTS, check=False)
    assert settings == []
    assert set(left) == {"ip_local_port_range", "tcp_tw_reuse"}
    assert all("may not write its network's settings" in reason for reason in left.values())


def test_a_kernel_without_reuse_of_ports_says_so(tuning, network):
    (network / IPV4 / "tcp_tw_reuse").unlink()
    settings, left = tuning.tune(network, PORTS, check=False)
    assert settings == ["ip_local_port_range", "at boot"]
    assert left == {"tcp_tw_reuse": "this kernel has no such setting"}


def test_interrupts_go_where_they_are_wanted_as_far_as_they_can(tuning, server):
    asked = NOTHING | {"irq_cpus": "0"}
    assert tuning.tune(server, asked, check=False) == (["interrupts", "at boot"], {})
    assert interrupts(server) == {"4": "0", "17": "0", "120": "0-1"}
    assert (server / "proc/irq/default_smp_affinity").read_text() == "00000001"
    lines = (server / "etc/tmpfiles.d/rackbench-interrupts.conf").read_text()
    assert "w- /proc/irq/*/smp_affinity_list - - - - 0\n" in lines
    assert tuning.tune(server, asked, check=False) == ([], {})
    (server / "proc/irq/17/smp_affinity_list").unlink()  # a boot gave it another number
    assert tuning.reset(server, check=False)[1] == {}
    assert interrupts(server) == {"4": "0-1", "120": "0-1"}
    assert (server / "proc/irq/default_smp_affinity").read_text() == "3"


def test_services_are_placed_and_restarted_only_when_that_changes(tuning, server, systemd):
    called, listing = systemd
    listing["rackbench-*.service"] = (
        "rackbench-tomcat.service loaded active running Tomcat\n"
        "rackbench-health.service loaded active running Health\n"
    )
    asked = NOTHING | {"jvm_cpus": "1", "jvm_numa": "0"}
    assert tuning.tune(server, asked, check=False) == (["placement"], {})
    drop_in = server / "etc/systemd/system/rackbench-.service.d/placement.conf"
    assert drop_in.read_text() == "[Service]\nCPUAffinity=1\nNUMAPolicy=bind\nNUMAMask=0\n"
    assert ("systemctl", "restart", "rackbench-tomcat.service") in called
    called.clear()
    assert tuning.tune(server, asked, check=False) == ([], {})
    assert called == []
    assert tuning.tune(server, asked | {"jvm_cpus": ""}, check=False)[0] == ["placement"]
    assert "CPUAffinity=numa\n" in drop_in.read_text()
    nowhere = asked | {"jvm_cpus": "", "jvm_numa": ""}
    assert tuning.tune(server, nowhere, check=False) == (["placement"], {})
    assert not list(server.rglob("placement.conf"))
    assert tuning.tune(server, nowhere, check=False) == ([], {})


def test_a_sweep_is_not_disturbed_by_a_placement(tuning, server, systemd):
    systemd[1]["rackbench-runner.service"] = "rackbench-runner.service loaded active running x"
    settings, left = tuning.tune(server, NOTHING | {"jvm_cpus": "1"}, check=False)
    assert settings == []
    assert "a sweep runs on this node" in left["placement"]
    assert not list(server.rglob("placement.conf"))


def test_reset_takes_the_placement_away(tuning, server, systemd):
    tuning.tune(server, NOTHING | {"jvm_cpus": "0"}, check=False)
    assert tuning.reset(server, check=False) == (["placement"], {})
    assert not list(server.rglob("placement.conf"))


def test_a_name_is_given_and_taken_back_byte_for_byte(tuning, machine, systemd):
    write(machine, "etc/hostname", "debian\n# theirs")
    assert tuning.tune(machine, NOTHING | {"hostname": "rack03"}, check=False)[0] == ["hostname"]
    assert systemd[0] == [("hostnamectl", "--static", "hostname", "rack03")]
    write(machine, "etc/hostname", "rack03")
    tuning.reset(machine, check=False)
    assert (machine / "etc/hostname").read_text() == "debian\n# theirs\n"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"irq_cpus": "0-3"}, "irq_cpus: this machine has the processors 0-1 and not 2-3"),
        ({"irq_cpus": "1-0"}, "irq_cpus: '1-0' counts downwards"),
        ({"jvm_cpus": "all"}, "jvm_cpus: 'all' is not a list such as 0-3,8"),
        ({"jvm_cpus": "1,5"}, "jvm_cpus: this machine has the processors 0-1 and not 5"),
        ({"jvm_numa": "1"}, "jvm_numa: this machine has the NUMA nodes 0 and not 1"),
        ({"max_cstate_us": -1}, "max_cstate_us is negative; give microseconds, at least 0"),
    ],
)
def test_what_a_machine_does_not_have_is_refused(server, asked, words):
    assert cpu_lists.refusals(server, NOTHING | asked) == [words]


def test_what_a_machine_has_is_not_refused(server):
    asked = {"irq_cpus": "0", "jvm_cpus": "0-1", "jvm_numa": "0", "max_cstate_us": 0}
    assert cpu_lists.refusals(server, NOTHING | asked) == []


def test_a_machine_without_idle_states_interrupts_and_numa_says_so(tuning, machine, systemd):
    asked = NOTHING | {"max_cstate_us": 0, "irq_cpus": "0", "jvm_numa": "0"}
    settings, left = tuning.tune(machine, asked, check=False)
    assert settings == []
    assert left == {
        "idle states": "this machine offers no choice of them",
        "interrupts": "this kernel shows none",
        "placement": "this kernel knows no NUMA nodes",
    }


@pytest.mark.parametrize(
    ("cpus", "digits"), [({0}, "00000001"), ({0, 33}, "00000002,00000001"), ({31}, "80000000")]
)
def test_a_mask_is_written_as_the_kernel_reads_it(cpus, digits):
    assert cpu_lists.mask(cpus) == digits
    assert cpu_lists.same_mask(digits, digits.lstrip("0"))


# As `dpkg-query` and `systemctl show` print them.
PACKAGES = """\
install installed jq
install installed tar
hold installed zip
hold config-files old
"""
UNITS = """\
Id=apt-daily.timer
LoadState=loaded
UnitFileState=enabled
ActiveState=active

Id=none.timer
LoadState=not-found
UnitFileState=
ActiveState=inactive
"""


@pytest.fixture
def told(monkeypatch):
    """The commands that were called, and what they were given; each answers what is recorded."""
    called = []

    def run(*argv, stdin="", environment=None):
        called.append((*argv, stdin) if stdin else argv)
        recorded = {"dpkg-query": PACKAGES, "systemctl": UNITS}
        return recorded.get(argv[0], "")

    monkeypatch.setattr(steps.host, "run", run)
    return called


def test_versions_are_held_and_released_by_what_the_record_says(tuning, machine, told):
    assert tuning.tune(machine, NOTHING | {"hold": ["t*"]}, check=False) == (["hold"], {})
    assert told[-1] == ("dpkg", "--set-selections", "tar hold\n")
    record = machine / "etc/rackbench/found.json"
    assert json.loads(record.read_text()) == {"packages": {"tar": "install"}}
    record.write_text('{"packages": {"zip": "install", "old": "install", "tar": "install"}}')
    assert tuning.reset(machine, check=False) == (["packages"], {})
    assert told[-1] == ("dpkg", "--set-selections", "zip install\n")


LOCKED = "dpkg --set-selections failed: dpkg: error: dpkg {} was locked by another process"


@pytest.mark.parametrize(
    "node",
    [
        ([LOCKED.format("database lock")] * 2, 600, None),
        ([LOCKED.format("frontend lock")] * 9, 0, "dpkg stayed in use for 0 s ("),
        (["dpkg --set-selections failed: dpkg: error: out of room"], 600, "dpkg --set-selections"),
    ],
)
def test_versions_are_held_once_an_upgrade_lets_go_of_dpkg(tuning, machine, monkeypatch, node):
    (errors, wait_s, left), held = node, []

    def run(*argv, stdin="", environment=None):
        if argv[0] == "dpkg":
            assert environment == {"LC_ALL": "C"}  # the message of the lock is read
            if errors:
                raise steps.host.HostError(errors.pop())
            held.append(stdin)
        return PACKAGES

    monkeypatch.setattr(steps.host, "run", run)
    monkeypatch.setattr(tuning.holds, "LOCK_WAIT_S", wait_s)
    monkeypatch.setattr(tuning.holds, "RETRY_EVERY_S", 0)
    done, reasons = tuning.tune(machine, NOTHING | {"hold": ["tar"]}, check=False)
    if left is None:
        assert (done, reasons, held) == (["hold"], {}, ["tar hold\n"])
    else:
        assert (done, held) == ([], [])
        assert reasons["hold"].startswith(left)


def test_units_are_disabled_and_come_back_as_they_were(tuning, machine, told):
    asked = NOTHING | {"units_off": ["apt-daily.timer", "none.timer"]}
    assert tuning.tune(machine, asked, check=False) == (["apt-daily.timer"], {})
    assert told[-1] == ("systemctl", "disable", "--now", "--quiet", "apt-daily.timer")
    assert tuning.reset(machine, check=False) == (["units"], {})
    assert told[-2:] == [
        ("systemctl", "enable", "--quiet", "apt-daily.timer"),
        ("systemctl", "start", "apt-daily.timer"),
    ]


def test_a_unit_that_may_run_again_is_turned_on_once(tuning, machine, told):
    """`baseline_unattended_upgrades: true` after a time without;"""
    on = {"enabled": True, "active": True}
    record = machine / "etc/rackbench/found.json"
    write(machine, "etc/rackbench/found.json", json.dumps({"units": {"apt-daily.timer": on}}))
    assert tuning.tune(machine, NOTHING, check=True) == (["apt-daily.timer"], {})
    assert (told, json.loads(record.read_text())) == ([], {"units": {"apt-daily.timer": on}})
    assert tuning.tune(machine, NOTHING, check=False) == (["apt-daily.timer"], {})
    assert [argv[1] for argv in told] == ["show", "enable", "start"]
    assert json.loads(record.read_text()) == {"units": {}}
    assert tuning.tune(machine, NOTHING, check=False) == ([], {})


def test_a_unit_that_cannot_run_again_keeps_its_record(tuning, machine, monkeypatch):
    def run(*argv, **_):
        if argv[1] == "enable":
            raise steps.host.HostError("Unit apt-daily.timer is masked")
        return UNITS

    monkeypatch.setattr(steps.host, "run", run)
    record = {"units": {"apt-daily.timer": {"enabled": True, "active": False}}}
    write(machine, "etc/rackbench/found.json", json.dumps(record))
    done, left = tuning.tune(machine, NOTHING, check=False)
    assert (done, left) == ([], {"apt-daily.timer": "Unit apt-daily.timer is masked"})
    assert json.loads((machine / "etc/rackbench/found.json").read_text()) == record


@pytest.mark.parametrize(
    ("was", "verbs"),
    [((True, False), ["enable"]), ((False, True), ["start"]), ((False, False), [])],
)
def test_a_unit_is_enabled_where_it_was_and_started_where_it_ran(tuning, machine, told, was, verbs):
    found = {"units": {"apt-daily.timer": dict(zip(("enabled", "active"), was, strict=True))}}
    write(machine, "etc/rackbench/found.json", json.dumps(found))
    assert tuning.reset(machine, check=False) == (["units"], {})
    assert [argv[1] for argv in told if argv[0] == "systemctl"] == ["show", *verbs]


@pytest.mark.parametrize(
    ("was", "verbs"),
    [
        ((True, False), ["stop"]),
        ((False, True), ["disable"]),
        ((False, False), ["disable", "stop"]),
    ],
)
def test_a_time_daemon_that_was_off_is_off_again(tuning, machine, told, was, verbs):
    off = {"enabled": False, "active": False}
    daemon = dict(zip(("enabled", "active"), was, strict=True))
    found = {"turned_on": {"apt-daily.timer": daemon, "none.timer": off}}  # one was purged
    write(machine, "etc/rackbench/found.json", json.dumps(found))
    assert tuning.reset(machine, check=False) == (["turned_on"], {})
    assert [argv[1] for argv in told if argv[0] == "systemctl"] == ["show", *verbs]
    assert not (machine / "etc/rackbench/found.json").exists()


def test_a_record_whose_units_somebody_removed_is_reset(tuning, machine, told):
    write(machine, "etc/rackbench/found.json", json.dumps({"units": {}}))
    assert tuning.reset(machine, check=False) == (["units"], {})
    assert told == []


def test_what_is_gone_since_does_not_keep_a_node_from_its_reset(tuning, machine, told):
    """A unit whose package was purged, and a kernel file of a driver that was replaced."""
    tuning.tune(machine, ASKED, check=False)
    record = json.loads((machine / "etc/rackbench/found.json").read_text())
    record["units"] = {"none.timer": {"enabled": True, "active": True}}
    write(machine, "etc/rackbench/found.json", json.dumps(record))
    governor = machine / f"{CPU}/cpu1/cpufreq/scaling_governor"
    governor.unlink()
    told.clear()
    settings, left = tuning.reset(machine, check=False)
    assert (set(settings), left) == ({"files", "at_boot", "units"}, {})
    assert [argv[1] for argv in told] == ["show"]
    assert not governor.exists()
    assert (machine / f"{CPU}/intel_pstate/no_turbo").read_text() == "0"
    assert not (machine / "etc/rackbench/found.json").exists()


def test_what_was_not_restored_is_named_with_the_record_and_the_next_step(
    tuning, machine, monkeypatch
):
    def refuse(_):
        raise OSError("Invalid argument")

    tuning.tune(machine, ASKED, check=False)
    monkeypatch.setattr(steps, "write_all", refuse)
    _, left = tuning.reset(machine, check=False)
    said = tuning.unrestored(machine, left)
    assert "(files: Invalid argument)" in said
    assert f"{machine}/etc/rackbench/found.json keeps the original values" in said
    assert said.endswith("run playbooks/reset.yml again")
    assert (machine / "etc/rackbench/found.json").exists()


def test_the_record_of_an_older_node_is_restored(tuning, machine, told):
    """Every kind that was ever recorded, as the module of one file wrote it."""
    kernel_file = str(machine / HUGE_PAGES)
    older = {
        "at_boot": {},
        "files": {kernel_file: "never"},
        "hostname": {"called": "debian", "file": "debian\n"},
        "interrupts": {str(machine / "proc/irq/9/smp_affinity_list"): "0-1"},
        "packages": {"zip": "install"},
        "placement": {},
        "swap": {"/dev/sda2": "on"},
        "units": {"apt-daily.timer": {"active": False, "enabled": True}},
    }
    write(machine, "etc/rackbench/found.json", json.dumps(older))
    write(machine, "etc/tmpfiles.d/rackbench-tuning.conf", "")
    write(machine, "proc/swaps", "Filename Type Size Used Priority")
    write(machine, "etc/systemd/system/rackbench-.service.d/placement.conf", "")
    assert tuning.reset(machine, check=True) == (list(older), {})
    assert tuning.reset(machine, check=False) == (list(older), {})
    assert (machine / HUGE_PAGES).read_text() == "never"
    files = [path for path in (machine / "etc").rglob("*") if path.is_file()]
    assert files == [machine / "etc/hostname"]
    assert ("swapon", "--all", "--ifexists") in told


@pytest.mark.parametrize(
    ("state", "is_due"),
    [
        ("enabled inactive", True),
        ("enabled-runtime inactive", True),
        ("static active", True),
        ("disabled activating", True),
        ("disabled reloading", True),
        ("disabled inactive", False),
        ("static failed", False),
    ],
)
def test_a_unit_is_off_once_it_neither_runs_nor_starts_at_boot(
    tuning, machine, monkeypatch, state, is_due
):
    unit_file, active = state.split()
    shown = f"Id=a.timer\nLoadState=loaded\nUnitFileState={unit_file}\nActiveState={active}\n"
    monkeypatch.setattr(steps.host, "run", lambda *argv: shown)
    done, _ = tuning.tune(machine, NOTHING | {"units_off": ["a.timer"]}, check=True)
    assert done == ["a.timer"] * is_due


@pytest.mark.parametrize(
    ("swaps", "state"),
    [("", "masked"), ("", "loaded"), ("\n/swap.img file 9 0 -2", "masked")],
)
def test_swap_is_off_once_none_is_used_and_no_boot_turns_it_on(
    tuning, machine, monkeypatch, swaps, state
):
    write(machine, "proc/swaps", f"Filename Type Size Used Priority{swaps}")
    monkeypatch.setattr(steps.host, "run", lambda *argv: f"LoadState={state}\n")
    done, _ = tuning.tune(machine, NOTHING | {"swap": False}, check=True)
    assert done == ["swap"] * (bool(swaps) or state == "loaded")


def test_swap_that_fstab_does_not_name_is_on_again_where_it_is_still_there(
    tuning, machine, monkeypatch
):
    """`swapon --all` reads fstab alone, which has neither zram nor the swap of a unit."""
    told = []

    def run(*argv, stdin="", environment=None):
        told.append(argv)
        if argv[0] == "swaplabel":
            place = Path(argv[1])
            if not place.exists() or place.read_text().strip() != "swap":
                raise steps.host.HostError("swaplabel failed: not a valid swap partition")
        return ""

    monkeypatch.setattr(steps.host, "run", run)
    places = ("/dev/zram0", "/dev/sda2", "/dev/sdb2", "/dev/sdc1", "/swap.img")
    write(machine, "etc/rackbench/found.json", json.dumps({"swap": dict.fromkeys(places, "on")}))
    for place in ("/dev/zram0", "/dev/sda2", "/swap.img"):
        write(machine, place.lstrip("/"), "swap")
    write(machine, "dev/sdc1", "another disk has this name now")
    write(machine, "proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 9 0 -2")
    assert tuning.reset(machine, check=False) == (["swap"], {})
    assert [argv for argv in told if argv[0] == "swapon"] == [
        ("swapon", "--all", "--ifexists"),
        ("swapon", "/dev/zram0"),
        ("swapon", "/swap.img"),
    ]


@pytest.mark.parametrize(
    ("node", "calls"),
    [
        (("/dev/sda2", "loaded"), ["systemctl unmask", "swapon --all"]),
        (("", "loaded"), ["systemctl unmask"]),  # swapoff of an administrator
        (("/dev/sda2", "masked"), ["swapon --all"]),
    ],
)
def test_swap_that_was_off_before_stays_off(tuning, machine, monkeypatch, node, calls):
    (place, state), told = node, []
    states = [state, "masked"]

    def run(*argv, stdin="", environment=None):
        told.append(" ".join(argv[:2]))
        return f"LoadState={states[0]}\n"

    monkeypatch.setattr(steps.host, "run", run)
    used = f"\n{place} partition 9 0 -2" if place else ""
    write(machine, "proc/swaps", f"Filename Type Size Used Priority{used}")
    off = NOTHING | {"swap": False}
    assert tuning.tune(machine, off, check=False) == (["swap"], {})
    states.pop(0)  # rackbench masked it; where the swap is on again, it turns it off again
    assert tuning.tune(machine, off, check=False) == (["swap"] * bool(place), {})
    told.clear()
    assert tuning.reset(machine, check=False) == (["swap"], {})
    assert told == calls


def test_an_idle_state_of_exactly_the_time_asked_for_stays(tuning, server):
    tuning.tune(server, NOTHING | {"max_cstate_us": int(LATENCIES[1])}, check=False)
    assert idle(server)[0] == ["0", "0", "1", "1"]


def test_a_node_without_a_file_of_its_name_has_none_again(tuning, machine, systemd):
    (machine / "etc/hostname").unlink(missing_ok=True)
    tuning.tune(machine, NOTHING | {"hostname": "rack03"}, check=False)
    write(machine, "etc/hostname", "rack03")
    tuning.reset(machine, check=False)
    assert not (machine / "etc/hostname").exists()
