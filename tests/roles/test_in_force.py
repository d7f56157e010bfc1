"""What is in force on a node is compared with what was declared: recorded answers of a node."""

import hashlib
import importlib
import json
import re
import tarfile
import zipfile
from contextlib import nullcontext
from io import BytesIO
from types import SimpleNamespace

import pytest
import yaml
from loading import ROOT, load
from rendering import Role

ROLE = "roles/fingerprint"


@pytest.fixture(scope="module")
def modules():
    """The module that takes a fingerprint, and what it is made of, by their names."""
    paths = {
        "host": "playbooks/module_utils",
        "ssh_session": "roles/probation/module_utils",
        "kernel_words": f"{ROLE}/module_utils",
        "lab_addresses": f"{ROLE}/module_utils",
        "running_jvms": f"{ROLE}/module_utils",
        "in_force": f"{ROLE}/module_utils",
    }
    found = {
        name: load(f"{path}/{name}.py", f"ansible.module_utils.{name}")
        for name, path in paths.items()
    }
    return found | {"fingerprint": load(f"{ROLE}/library/fingerprint.py", "taking")}


@pytest.fixture
def force(modules):
    return modules["in_force"]


@pytest.fixture
def jvms(modules):
    return modules["running_jvms"]


@pytest.fixture
def taking(modules):
    return modules["fingerprint"]


@pytest.fixture
def answers(monkeypatch):
    """Lets a module have these answers of commands, by the beginning of the command."""

    def have(module, said):
        def output(*argv):
            command = " ".join(argv)
            return next((text for words, text in said.items() if command.startswith(words)), None)

        monkeypatch.setattr(module, "output", output)

    return have


def rows(found):
    return [tuple(row.values()) for row in found]


# JVMs

UNIT = """\
[Service]
User=tomcat
ExecStart=/opt/rackbench/jdk/bin/java -Xms192m -Xmx192m \\
# a comment within
  -XX:+UseParallelGC -XX:+ExitOnOutOfMemoryError \\
  -Xlog:gc:file=/run/rackbench-tomcat/gc.log:uptime \\
  --add-opens=java.base/java.io=ALL-UNNAMED -Dcatalina.base={base} \\
  -cp /opt/rackbench/tomcat-ab/bin/bootstrap.jar Bootstrap start -Xnot-a-flag
Restart=always
"""
SERVER = '<Context path="/axis" docBase="/opt/rackbench/axis-cd" reloadable="false"/>'
DECLARED = {
    "name": "tomcat",
    "heap_mb": 192,
    "options": ["-XX:+UseParallelGC", "-XX:+ExitOnOutOfMemoryError"],
    "directories": ["/opt/rackbench/tomcat-ab", "/opt/rackbench/axis-cd"],
}


@pytest.fixture
def node(jvms, tmp_path, monkeypatch):
    """A node with Tomcat running from a JDK; returns how to have it run with other settings."""
    for name in ("units", "proc/77", "base/conf", "jdk/bin", "jdk-25/bin"):
        (tmp_path / name).mkdir(parents=True)
    for version, place in (("21.0.9", "jdk"), ("25", "jdk-25")):
        (tmp_path / place / "release").write_text(f'JAVA_VERSION="{version}"\n')
        (tmp_path / place / "bin/java").touch()
    base = tmp_path / "base"
    (base / "conf/server.xml").write_text(SERVER)
    unit = UNIT.format(base=base)
    (tmp_path / "units/rackbench-tomcat.service").write_text(unit)
    monkeypatch.setattr(jvms, "PROC", tmp_path / "proc")
    monkeypatch.setattr(jvms, "UNITS", tmp_path / "units")
    monkeypatch.setattr(jvms, "JAVA", str(tmp_path / "jdk/bin/java"))
    command = unit.partition("ExecStart=")[2].partition("Restart")[0]
    command = command.replace("\\\n# a comment within", "").replace("\\\n", " ")

    def run(old="", new="", jdk="jdk", environment="", server=SERVER):
        process = tmp_path / "proc/77"
        (process / "cgroup").write_text("0::/system.slice/rackbench-tomcat.service\n")
        (process / "cmdline").write_text("\0".join([*command.replace(old, new).split(), ""]))
        (process / "environ").write_text(f"PATH=/bin\0{environment}\0")
        (process / "status").write_text("Cpus_allowed_list:\t0-1\n")
        (process / "exe").unlink(missing_ok=True)
        (process / "exe").symlink_to(tmp_path / jdk / "bin/java")
        (base / "conf/server.xml").write_text(server)
        return jvms.running()

    return run


def of_jvm(force, running, **changes):
    found = force.of_jvm(DECLARED | changes, running.get("rackbench-tomcat"))
    return [(item.removeprefix("jvms rackbench-tomcat "), *rest) for item, *rest in rows(found)]


def test_a_jvm_that_runs_as_its_unit_and_the_inventory_say_has_no_row(force, node):
    assert of_jvm(force, node()) == []
    archive = {"directory": "/opt/rackbench/tomcat-ab", "archive": "dist/tomcat.tar.gz"}
    declared = [archive, "/opt/rackbench/axis-cd"]
    assert of_jvm(force, node(), directories=declared) == []


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            {"environment": "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1"},
            ("flags", "-XX:TieredStopAtLevel=1", "(absent)"),
        ),
        ({"environment": "JDK_JAVA_OPTIONS=-Dx=y -Xint"}, ("flags", "-Dx=y -Xint", "(absent)")),
        ({"environment": "_JAVA_OPTIONS=-Xmx192m"}, ("flags", "-Xmx192m", "(absent)")),
        (
            {"old": "UseParallelGC", "new": "UseSerialGC"},
            ("flags", "-XX:+UseSerialGC", "-XX:+UseParallelGC"),
        ),
        ({"old": "-Xmx192m", "new": "-Xmx512m"}, ("flags", "-Xmx512m", "-Xmx192m")),
        ({"old": "-Xms192m", "new": ""}, ("flags", "(absent)", "-Xms192m")),
        (
            {"old": "-Xlog", "new": "-agentpath:/tmp/a.so -Xlog"},
            ("flags", "-agentpath:/tmp/a.so", "(absent)"),
        ),
        (
            {"old": "--add-opens=java.base/java.io=ALL-UNNAMED", "new": ""},
            ("flags", "(absent)", "--add-opens=java.base/java.io=ALL-UNNAMED"),
        ),
        (
            {"server": SERVER.replace("axis-cd", "axis-ef")},
            ("directories", "/opt/rackbench/axis-ef", "/opt/rackbench/axis-cd"),
        ),
        (
            {"old": "tomcat-ab", "new": "tomcat-old"},
            ("directories", "/opt/rackbench/tomcat-old", "/opt/rackbench/tomcat-ab"),
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_jvm_that_runs_otherwise_is_named_with_both_sides(force, node, told, expected):
    assert of_jvm(force, node(**told)) == [expected]


def test_options_that_an_earlier_study_left_in_the_units_file_can_be_taken_out(force, node):
    without = [option for option in DECLARED["options"] if "Parallel" not in option]
    assert of_jvm(force, node(), options=without) == [
        ("flags", "-XX:+UseParallelGC", "without them")
    ]


COLLECTOR = "-XX:+UseParallelGC"
LOG = "-Xlog:gc:file=/run/rackbench-tomcat/gc.log:uptime"


@pytest.fixture
def of_unit_and_jvm(force, node, tmp_path):
    """Returns what is found of options where the unit, and its JVM, have others next to theirs."""
    file = tmp_path / "units/rackbench-tomcat.service"
    plain = file.read_text()

    def found(options, *more):
        other = " ".join([COLLECTOR, *more])
        file.write_text(plain.replace(COLLECTOR, other))
        return of_jvm(force, node(COLLECTOR, other), options=options)

    return found


@pytest.mark.parametrize("option", [COLLECTOR, "-XX:+ExitOnOutOfMemoryError", "-Xint"])
def test_an_option_counts_as_often_as_it_is_declared(of_unit_and_jvm, option):
    """The options of a study stand in a unit after those that it has anyway."""
    declared = DECLARED["options"]
    once, twice = [*declared, option], [*declared, option, option]
    assert of_unit_and_jvm(once, option) == []
    assert of_unit_and_jvm(twice, option, option) == []
    assert of_unit_and_jvm(twice, option) == [("flags", "(absent)", option)]
    assert of_unit_and_jvm(once) == [("flags", "(absent)", option)]
    assert of_unit_and_jvm(declared, option) == [("flags", option, "without them")]


@pytest.mark.parametrize("option", [LOG, "--add-opens=java.base/java.io=ALL-UNNAMED"])
def test_a_declared_flag_that_the_units_file_has_of_its_own_may_stand_there_twice(
    of_unit_and_jvm, option
):
    assert of_unit_and_jvm([*DECLARED["options"], option], option) == []
    assert of_unit_and_jvm([*DECLARED["options"], option]) == []


def test_a_flag_of_the_environment_that_is_declared_too_is_told(force, node):
    given = node(environment=f"JAVA_TOOL_OPTIONS={COLLECTOR}")
    assert of_jvm(force, given) == [("flags", COLLECTOR, "(absent)")]


def test_a_further_server_need_not_declare_options_and_directories(force, node):
    declared = {"name": "tomcat", "heap_mb": 192}
    found = rows(force.of_jvm(declared, node()["rackbench-tomcat"]))
    assert [(item.split()[-1], others) for item, _, others in found] == [
        ("flags", "without them"),
        ("directories", "(absent)"),
    ]


def test_a_service_of_another_group_is_named_with_the_next_step(force, tmp_path, monkeypatch):
    monkeypatch.setattr(force, "UNITS", tmp_path)
    for name in ("tomcat", "health"):
        (tmp_path / f"rackbench-{name}.service").touch()
    (tmp_path / "rackbench-.service.d").mkdir()
    ((item, value, others),) = rows(force.not_in_force({"units": ["rackbench-health"]}, {}, 0))
    assert (item, others) == ("units rackbench-tomcat", "(absent)")
    assert "run playbooks/reset.yml for this node, then site.yml" in value


def test_a_drop_in_of_somebody_else_is_named_also_where_no_other_node_has_the_unit(
    force, kernel_of
):
    own = "etc/systemd/system/rackbench-.service.d/sandbox.conf"
    edited = "etc/systemd/system/rackbench-broker.service.d/override.conf"
    runtime = "run/systemd/system.control/rackbench-runner.service.d/50-CPUWeight.conf"
    machine = "run/systemd/system/service.d/zzz-lxc-service.conf"
    kernel_of(dict.fromkeys((own, edited, runtime, machine), "[Service]"))
    told = rows(force.not_in_force({"drop_ins": [f"/{own}"]}, {}, 0))
    assert [(item, others) for item, _, others in told] == [
        ("units rackbench-broker.service", "(absent)"),
        ("units rackbench-runner.service", "(absent)"),
    ]
    mend = "remove it and reboot the node, or list it in fingerprint_drop_ins"
    assert told[0][1] == f"/{edited}: {mend}"
    meant = [f"/{own}", f"/{edited}", f"/{runtime}"]
    assert rows(force.not_in_force({"drop_ins": meant}, {}, 0)) == []


def test_the_declared_drop_ins_are_those_that_rackbench_writes():
    declared = yaml.safe_load((ROOT / "playbooks/vars/bench.yml").read_text())
    named = re.findall(r"'(rackbench-[^']+)'", declared["fingerprint_declared"]["drop_ins"])
    health, runner = (
        (ROOT / f"roles/{role}/vars/main.yml").read_text() for role in ("health", "runner")
    )
    laid_down = re.findall(r"rackbench-[\w.-]*[.]d/[\w-]+[.]conf", health + runner)
    placed = [file for file in named if file.endswith("/placement.conf")]
    assert sorted(named) == sorted([*laid_down, *placed])
    placement = importlib.import_module("ansible.module_utils.tuning.placement")
    units = (placement.ALL, *placement.UNPLACED)
    assert sorted(placed) == sorted(f"{unit}.d/{placement.DROP_IN}" for unit in units)
    not_measured = load("roles/health/files/health.py", "health").OWN
    assert sorted(placement.UNPLACED) == sorted(f"{unit}.service" for unit in not_measured)


def test_a_link_below_a_linked_directory_is_as_declared(force, tmp_path):
    (tmp_path / "srv/harness-ab").mkdir(parents=True)
    (tmp_path / "opt").symlink_to(tmp_path / "srv")
    (tmp_path / "opt/harness").symlink_to(tmp_path / "opt/harness-ab")
    links = {f"{tmp_path}/opt/harness": f"{tmp_path}/opt/harness-ab"}
    assert rows(force.not_in_force({"links": links}, {}, 0)) == []


def test_what_a_node_may_not_set_in_its_kernel_is_not_compared(force, tmp_path, monkeypatch):
    monkeypatch.setattr(force, "KERNEL", f"{tmp_path}/")
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm/swappiness").write_text("60\n")
    asked = {"sysctls": {"vm.swappiness": 10, "vm.absent": 1}}
    assert rows(force.not_in_force(asked, {}, 0)) == [("sysctls vm.swappiness", "60", "10")]


def test_another_jdk_is_named_by_its_program(force, node, jvms, tmp_path):
    ((item, value, others),) = of_jvm(force, node(jdk="jdk-25"))
    assert item == "executable"
    assert (value, others) == (f"{tmp_path}/jdk-25/bin/java", f"{tmp_path}/jdk/bin/java")


def test_the_jdk_of_a_service_is_the_one_that_is_declared_for_it(force, node, tmp_path):
    other = str(tmp_path / "jdk-25")
    assert of_jvm(force, node(jdk="jdk-25"), jdk=other) == []
    found = of_jvm(force, node(), jdk=other)
    assert found == [("executable", f"{tmp_path}/jdk/bin/java", f"{other}/bin/java")]


def test_each_further_jdk_is_compared_with_the_release_that_is_declared(force, node, tmp_path):
    home = f"{tmp_path}/jdk-25"
    assert rows(force.not_in_force({"jdks": {home: 25}}, {}, 0)) == []
    assert rows(force.not_in_force({"jdks": {home: 21}}, {}, 0)) == [
        (f"jdks {home}", "25", "Java 21")
    ]
    gone = f"{tmp_path}/jdk-26"
    assert rows(force.not_in_force({"jdks": {gone: 26}}, {}, 0)) == [
        (f"jdks {gone}", "(absent)", "Java 26")
    ]


@pytest.fixture
def kernel_of(force, monkeypatch, tmp_path):
    """Returns how to give a node files of its kernel, and whether it is a container."""
    monkeypatch.setattr(force, "ROOT", tmp_path)

    def have(files, *, is_container=False):
        container = {"run/systemd/container": "lxc"} if is_container else {}
        for name, text in {**files, **container}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"{text}\n")

    return have


CPU = "sys/devices/system/cpu"


def governed(*held):
    """The files of cores with these governors."""
    offered = "performance powersave"
    files = {}
    for core, governor in enumerate(held):
        files[f"{CPU}/cpu{core}/cpufreq/scaling_governor"] = governor
        files[f"{CPU}/cpu{core}/cpufreq/scaling_available_governors"] = offered
    return files


FAST = ("performance", "performance")


@pytest.mark.parametrize(
    "node",
    [
        ("powersave", FAST, False, [("performance", "powersave")]),
        ("performance", FAST, False, []),
        (
            *("performance", ["performance", "powersave"], False),
            [("performance, powersave", "performance")],
        ),
        ("", FAST, False, []),
        ("ondemand", FAST, False, []),  # not offered: baseline leaves it
        ("powersave", FAST, True, []),
        ("powersave", [], False, []),
    ],
)
def test_the_governor_is_compared_where_the_node_can_choose_it(force, kernel_of, node):
    wanted, held, is_container, found = node
    kernel_of(governed(*held), is_container=is_container)
    told = rows(force.not_in_force({"governor": wanted}, {}, 0))
    assert told == [("governor", *both) for both in found]


def test_a_processor_that_is_off_has_no_governor_to_compare(force, kernel_of, tmp_path):
    kernel_of(governed(*FAST) | {f"{CPU}/cpu0/online": "0"})
    unread = tmp_path / f"{CPU}/cpu0/cpufreq"
    for name in ("scaling_governor", "scaling_available_governors"):
        (unread / name).unlink()
        (unread / name).mkdir()  # reading it fails, as the kernel has it fail
    assert rows(force.not_in_force({"governor": "performance"}, {}, 0)) == []
    assert rows(force.not_in_force({"governor": "powersave"}, {}, 0)) == [
        ("governor", "performance", "powersave")
    ]


@pytest.mark.parametrize(
    "node",
    [
        ("[always] madvise never", "madvise", False, [("always", "madvise")]),  # tuned does that
        ("always [madvise] never", "madvise", False, []),
        ("[always] madvise never", "madvise", True, []),
        ("[always] madvise never", "", False, []),
        ("[always] madvise never", "often", False, []),  # the kernel takes no such word
        (None, "madvise", False, []),
    ],
)
def test_huge_pages_are_compared_where_the_node_has_them(force, kernel_of, node):
    held, wanted, is_container, found = node
    path = "sys/kernel/mm/transparent_hugepage/enabled"
    kernel_of({path: held} if held else {}, is_container=is_container)
    told = rows(force.not_in_force({"huge_pages": wanted}, {}, 0))
    assert told == [("huge_pages", *both) for both in found]


@pytest.mark.parametrize(
    "node",
    [
        ("intel_pstate/no_turbo", "0", False, False, True),
        ("intel_pstate/no_turbo", "1", False, False, False),
        ("cpufreq/boost", "1", False, False, True),
        ("cpufreq/boost", "0", False, False, False),
        ("cpufreq/boost", "1", False, True, False),
        ("cpufreq/boost", "0", True, False, False),
        ("cpufreq/other", "1", False, False, False),
    ],
)
def test_turbo_that_should_be_off_is_named(force, kernel_of, node):
    switch, value, declared, is_container, is_told = node
    kernel_of({f"{CPU}/{switch}": value}, is_container=is_container)
    told = rows(force.not_in_force({"turbo": declared}, {}, 0))
    assert told == [("turbo", "on", "off")] * is_told


UNITS_OFF = """\
Id=apt-daily.timer
LoadState=loaded
UnitFileState={}
ActiveState={}

Id=none.timer
LoadState=not-found
UnitFileState=
ActiveState=inactive"""


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("enabled active", "runs"),
        ("static activating", "runs"),
        ("disabled active", "runs"),
        ("enabled inactive", "starts at boot"),
        ("enabled-runtime failed", "starts at boot"),
        ("disabled inactive", ""),
        ("static failed", ""),
        ("masked inactive", ""),
    ],
)
def test_a_unit_that_should_be_off_and_runs_or_starts_at_boot_is_named(
    force, monkeypatch, state, found
):
    units = ["apt-daily.timer", "none.timer"]
    shown = UNITS_OFF.format(*state.split())
    monkeypatch.setattr(
        force.units.host, "run", lambda *argv: shown if argv[-2:] == (*units,) else ""
    )
    told = rows(force.not_in_force({"units_off": units}, {}, 0))
    assert told == ([("units_off apt-daily.timer", found, "off")] if found else [])
    assert rows(force.not_in_force({"units_off": []}, {}, 0)) == []


DISK, FILE = "/dev/sda2 partition 9 0 -2\n", "/swap.img file 9 0 -3\n"


@pytest.mark.parametrize(
    "node",
    [
        ("", "masked", False, ""),
        (DISK + FILE, "masked", False, "in use: /dev/sda2, /swap.img"),
        ("", "loaded", False, "starts at boot: swap.target"),
        (DISK, "loaded", True, ""),
    ],
)
def test_swap_that_should_be_off_is_named(force, kernel_of, monkeypatch, node):
    used, target, is_container, found = node
    swaps = f"Filename Type Size Used Priority\n{used}".rstrip()
    kernel_of({"proc/swaps": swaps}, is_container=is_container)
    monkeypatch.setattr(force.memory.host, "run", lambda *argv: f"LoadState={target}\n")
    told = rows(force.not_in_force({"swap": False}, {}, 0))
    assert told == ([("swap", found, "off")] if found else [])
    assert rows(force.not_in_force({"swap": True}, {}, 0)) == []


def test_what_site_turns_off_is_what_a_node_is_compared_with():
    """The role baseline and the declaration name the same units and settings."""
    declared = yaml.safe_load((ROOT / "playbooks/vars/bench.yml").read_text())
    for name in ("huge_pages", "swap", "turbo"):
        assert f"baseline_{name}" in declared["fingerprint_declared"][name]
    units = declared["fingerprint_declared"]["units_off"]
    task = yaml.safe_load((ROOT / "roles/baseline/tasks/tuning.yml").read_text())[0]
    extra, settings = task["vars"]["__baseline_services_off"], task["tuning"]["settings"]
    assert settings["units_off"] == "{{ baseline_timers_off + __baseline_services_off }}"
    named = re.findall(r"'([\w.-]+)'", units)
    assert named == re.findall(r"'([\w.-]+)'", extra)
    assert re.findall(r"if (.*?) else", units) == re.findall(r"if (.*?) else", extra)
    assert units.startswith("{{ baseline_timers_off + ")


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        (21, []),
        ("21", []),
        (2, [("jdk", "21.0.9", "Java 2")]),
        (25, [("jdk", "21.0.9", "Java 25")]),
    ],
)
def test_the_release_of_the_jdk_is_compared(force, node, declared, found):
    assert rows(force.not_in_force({"jdk": declared}, {}, 0)) == found


def test_what_the_inventory_declares_is_compared_and_not_only_what_the_unit_says(force, node):
    """A unit that somebody changed on all nodes is the same everywhere."""
    running = node()
    assert of_jvm(force, running, heap_mb=256) == [
        ("flags", "-Xms192m -Xmx192m", "-Xms256m -Xmx256m")
    ]
    sync = "-Dimq.persist.file.sync.enabled=true"
    found = of_jvm(force, running, options=[*DECLARED["options"], sync])
    assert found == [("flags", "(absent)", sync)]


def test_a_service_that_does_not_run_is_told_by_its_own_name(force):
    assert rows(force.of_jvm(DECLARED, None)) == [("services tomcat", "does not run", "runs")]


def test_a_program_that_is_no_jvm_and_a_process_that_is_gone_have_no_flags(jvms, tmp_path):
    assert jvms.flags_of(tmp_path, ["/usr/bin/python3", "-x"]) == []
    assert jvms.flags_of(tmp_path, jvms.texts_of(tmp_path / "gone")) == []


def test_a_jvm_is_known_by_its_command_line_and_its_environment(jvms, tmp_path):
    command = ["/usr/bin/java", "-Xmx64m", "-XX:+PerfDisableSharedMem", "-cp", "a:b", "Main", "-x"]
    given = ["_JAVA_OPTIONS=-Dlast=1", "PATH=/bin", "JAVA_TOOL_OPTIONS=-Da=b=c -Xint", ""]
    (tmp_path / "environ").write_bytes("\0".join(given).encode() + b"ODD=\xff")
    expected = ["-Da=b=c", "-Xint", "-Xmx64m", "-XX:+PerfDisableSharedMem", "-Dlast=1"]
    assert jvms.flags_of(tmp_path, command) == expected


# Links and the rate


def test_a_link_to_another_build_is_named(force, tmp_path):
    for build in ("harness-old", "harness-new"):
        (tmp_path / build).mkdir()
    link, new = tmp_path / "harness", str(tmp_path / "harness-new")
    declared = {"links": {str(link): new}}
    assert rows(force.not_in_force(declared, {}, 0)) == [(f"links {link}", "(absent)", new)]
    link.symlink_to(tmp_path / "harness-old")
    old = str(tmp_path / "harness-old")
    assert rows(force.not_in_force(declared, {}, 0)) == [(f"links {link}", old, new)]
    link.unlink()
    link.symlink_to(new)
    assert rows(force.not_in_force(declared, {}, 0)) == []


@pytest.mark.parametrize(
    ("declared", "shaped", "in_force", "is_odd"),
    [
        (100, True, 100.0, False),
        (100, True, 0, True),
        (100, True, 10.0, True),
        (0, True, 0, False),
        (0, True, 100.0, True),
        (1000, False, 1000.0, False),
        (1000, False, 100.0, True),
        (1000, False, 0, False),  # nobody tells the rate
        (None, False, 100.0, False),
    ],
)
def test_the_rate_of_the_link_is_compared(force, declared, shaped, in_force, is_odd):
    found = force.not_in_force({"link_mbit": declared, "link_is_shaped": shaped}, {}, in_force)
    expected = [("link_mbit", f"{in_force:g}", f"{declared or 0:g}")]
    assert rows(found) == expected * is_odd


def tbf(rate):
    """What tc 6.15 answers for a device that a shaper limits, its rate in bytes a second."""
    options = {"rate": rate, "burst": 32000, "lat": 100000}
    return json.dumps([{"kind": "tbf", "handle": "8001:", "root": True, "options": options}])


@pytest.mark.parametrize(
    ("asked", "rate", "mbit"),
    [
        ("8bit", 1, 8e-6),
        ("64kbit", 8_000, 0.064),
        ("100mbit", 12_500_000, 100),
        ("1gbit", 125_000_000, 1000),
        ("12500kbps", 12_500_000, 100),
        ("1mbps", 1_000_000, 8),
        ("1gbps", 1_000_000_000, 8000),
    ],
)
def test_a_rate_of_tc_is_in_bytes_whatever_unit_it_was_given_in(taking, answers, asked, rate, mbit):
    answers(taking, {"tc -json qdisc show dev host0": tbf(rate)})
    assert taking.shaped("host0")["link_shaped_mbit"] == pytest.approx(mbit), asked


@pytest.mark.parametrize("said", [None, "[]", '[{"kind": "noqueue", "options": {}}]'])
def test_a_link_without_a_shaper_has_no_shaped_rate(taking, answers, said):
    answers(taking, {"tc": said})
    assert set(taking.shaped("host0").values()) == {None}


def impaired_by(**options):
    """What tc 6.15 answers for a device with a shaper and netem under it."""
    of_netem = {"limit": 991, **options, "ecn": False, "gap": 0}
    queues = json.loads(tbf(12_500_000))
    queues.append({"kind": "netem", "handle": "8002:", "parent": "1:1", "options": of_netem})
    return json.dumps(queues)


DELAYED = {"delay": {"delay": 0.01, "jitter": 0, "correlation": 0}}
LOSING = {"loss-random": {"loss": 0.015, "correlation": 0}}


@pytest.mark.parametrize(
    ("said", "delay_ms", "loss"),
    [
        (impaired_by(**DELAYED, **LOSING), 10, 1.5),
        (impaired_by(**DELAYED), 10, None),
        (impaired_by(**LOSING), None, 1.5),
        (impaired_by(), None, None),
        (tbf(12_500_000), None, None),
        (None, None, None),
    ],
)
def test_what_netem_does_is_in_ms_and_percent(taking, answers, said, delay_ms, loss):
    answers(taking, {"tc -json qdisc show dev host0": said})
    read = taking.shaped("host0")
    assert (read.get("link_delay_ms"), read.get("link_loss")) == (delay_ms, loss)
    assert read["link_shaped_mbit"] == (100 if said else None)


@pytest.mark.parametrize(
    ("declared", "link", "odd"),
    [
        ({}, {}, []),
        ({"link_delay_ms": 10, "link_loss": 0}, {"link_delay_ms": 10.0}, []),
        ({"link_delay_ms": 2.50001}, {"link_delay_ms": 2.5}, []),
        ({"link_delay_ms": 10}, {}, [("link_delay_ms", "0", "10")]),
        ({"link_loss": "0.5"}, {"link_loss": 1.0}, [("link_loss", "1", "0.5")]),
        ({}, {"link_loss": 1.0}, [("link_loss", "1", "0")]),
    ],
)
def test_delay_and_loss_are_compared_where_links_are_shaped(force, declared, link, odd):
    shaped = {**declared, "link_is_shaped": True}
    assert rows(force.not_in_force(shaped, {}, 0, link)) == odd
    assert rows(force.not_in_force(declared, {}, 0, link)) == []


# Hardware that has no words of its own


@pytest.fixture
def network(taking, tmp_path, monkeypatch):
    """Devices of a network in /sys: cards by driver and speed, and devices upon others."""
    monkeypatch.setattr(taking, "NETWORK", tmp_path)

    def have(cards, upon=()):
        for name, (driver, speed, *numbers) in cards.items():
            (tmp_path / name / "device/msi_irqs").mkdir(parents=True)
            (tmp_path / "drivers" / driver).mkdir(parents=True, exist_ok=True)
            (tmp_path / name / "device/driver").symlink_to(tmp_path / "drivers" / driver)
            (tmp_path / name / "speed").write_text(f"{speed}\n")
            for number in numbers:
                (tmp_path / name / "device/msi_irqs" / str(number)).touch()
        for name, lower in upon:
            (tmp_path / name).mkdir()
            for one in lower:
                (tmp_path / name / f"lower_{one}").symlink_to(tmp_path / one)

    return have


@pytest.mark.parametrize(
    ("device", "cards", "expected"),
    [
        ("eno1", ["eno1"], ("ixgbe", "10000")),
        ("bond0", ["eno1", "eno2"], ("igb, ixgbe", "1000")),
        ("bond0.7", ["eno1", "eno2"], ("igb, ixgbe", "1000")),
        ("eno2.7", ["eno2"], ("igb", "1000")),
        ("veth", ["veth"], (None, None)),
    ],
)
def test_a_bond_or_vlan_has_the_drivers_and_the_slowest_speed_of_its_cards(
    taking, network, device, cards, expected
):
    network(
        {"eno1": ("ixgbe", 10000), "eno2": ("igb", 1000)},
        [("bond0", ["eno1", "eno2"]), ("bond0.7", ["bond0"]), ("eno2.7", ["eno2"]), ("veth", [])],
    )
    assert taking.cards_of(device) == cards
    assert tuple(taking.hardware(cards).values()) == expected


def test_a_bond_has_the_rate_of_the_ports_that_have_a_cable(taking, network, tmp_path):
    network({"eno1": ("igb", -1), "eno2": ("igb", 100)}, [("tap0", [])])
    for name, carrier in {"eno1": 0, "eno2": 1, "tap0": 0}.items():
        (tmp_path / name / "carrier").write_text(f"{carrier}\n")
    told = taking.hardware(["eno1", "eno2", "tap0"])
    assert told == {"link_down": 1, "link_driver": "igb, igb", "link_speed_mbit": "100"}
    assert taking.allowed_mbit(told) == 100


def test_a_card_of_unknown_speed_allows_no_rate(taking, network):
    """As those of virtual machines, which have a carrier."""
    network({"eth0": ("virtio_net", -1)})
    told = taking.hardware(["eth0"])
    assert told == {"link_driver": "virtio_net", "link_speed_mbit": "-1"}
    assert taking.allowed_mbit(told) == 0


def test_the_rate_of_a_link_is_its_shapers_or_else_its_hardwares(taking):
    hardware = {"link_driver": "igb", "link_speed_mbit": "1000"}
    assert taking.allowed_mbit(hardware) == 1000
    assert taking.allowed_mbit(hardware | {"link_shaped_mbit": 10.0}) == 10
    assert taking.allowed_mbit({"link_speed_mbit": "10000"}) == 0
    assert taking.allowed_mbit({}) == 0


def test_interrupts_are_those_of_all_cards_of_a_bond(taking, network, answers, monkeypatch):
    network({"eno1": ("igb", 1000, 41, 42), "eno2": ("igb", 1000, 51)})
    answers(taking, {})
    served = {"41": "0", "42": "1", "51": "1"}
    monkeypatch.setattr(taking, "read", lambda path: served.get(path.split("/")[3]))
    told = taking.interrupts(["eno1", "eno2"])
    assert told["link_irq_affinity"] == "1 on 0, 2 on 1"


def test_the_link_of_an_address_on_a_vlan_is_found(taking, network, answers):
    network({"eno1": ("ixgbe", 10000)}, [("lab", ["eno1"])])
    entry = {"ifname": "lab", "mtu": 9000, "addr_info": [{"local": "10.0.0.3"}]}
    other = {"ifname": "eno1", "mtu": 1500, "addr_info": [{"local": "192.168.1.3"}]}
    answers(taking, {"ip -json": json.dumps([other, entry]), "tc": tbf(12_500_000)})
    assert taking.link("10.0.0.3") == {
        "link_device": "lab",
        "link_mtu": 9000,
        "link_duplex": None,
        "link_shaped_mbit": 100.0,
        "link_driver": "ixgbe",
        "link_speed_mbit": "10000",
    }
    assert taking.link("10.0.0.4") == {}


ARM = """\
processor\t: {number}
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: {variant}
CPU part\t: {part}
CPU revision\t: 1
"""
INTEL = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon(R) E5\nmicrocode\t: 0x4\n"


def arm(*cores):
    blocks = [ARM.format(number=n, part=p, variant=v) for n, (p, v) in enumerate(cores)]
    return "\n".join(blocks)


N1, A72 = ("0xd0c", "0x3"), ("0xd08", "0x0")


@pytest.mark.parametrize(
    ("told", "model"),
    [
        (INTEL + "\n" + INTEL, "Xeon(R) E5"),
        (arm(N1, N1), "implementer 0x41, part 0xd0c, variant 0x3, revision 1"),
        (arm(("0xd0c", "0x4")), "implementer 0x41, part 0xd0c, variant 0x4, revision 1"),
        (
            arm(N1, A72) + "\n\nHardware\t: BCM2835\nRevision\t: a03111\n",
            "implementer 0x41, part 0xd08, variant 0x0, revision 1; "
            "implementer 0x41, part 0xd0c, variant 0x3, revision 1",
        ),
        (None, None),
    ],
    ids=["named", "arm", "another stepping", "two kinds", "nothing"],
)
def test_a_processor_without_a_name_is_told_by_its_numbers(taking, monkeypatch, told, model):
    monkeypatch.setattr(taking, "read", {"/proc/cpuinfo": told}.get)
    assert taking.processor()["cpu_model"] == model


def test_the_microcode_is_told(taking, monkeypatch):
    monkeypatch.setattr(taking, "read", {"/proc/cpuinfo": INTEL}.get)
    assert taking.processor()["microcode"] == "0x4"


# The packet filter

RULES = """table inet rackbench {
\tchain input {
\t\ttype filter hook input priority filter; policy drop;
\t\tiif "lo" accept
\t\ttcp dport { 8080, 9100, 9102 } accept
\t}
}"""
FILE = "/etc/rackbench/packet-filter.nft"


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RULES, []),
        (None, [("packet_filter", "no table inet rackbench", FILE)]),
        (
            RULES.replace("policy drop", "policy accept"),
            [
                (
                    "packet_filter",
                    "type filter hook input priority filter; policy accept;",
                    "type filter hook input priority filter; policy drop;",
                )
            ],
        ),
        (
            RULES.replace('\t\tiif "lo" accept\n', ""),
            [("packet_filter", "(absent)", 'iif "lo" accept')],
        ),
    ],
    ids=["as applied", "gone", "opened", "a rule less"],
)
def test_the_kernels_rules_are_those_of_the_file(force, answers, kernel, expected):
    answers(force, {"unshare --net sh -c nft --file": RULES, "nft --stateless": kernel})
    assert rows(force.of_packet_filter(FILE)) == expected


def test_a_file_of_rules_that_is_gone_is_told(force, answers):
    answers(force, {"nft --stateless": RULES})
    ((item, value, _),) = rows(force.of_packet_filter(FILE))
    assert (item, value) == ("packet_filter", f"nftables does not take {FILE}")


# sshd

KIT = "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
SHUT = "port 22\npasswordauthentication no\npermitrootlogin without-password\n"
OPEN = SHUT.replace("passwordauthentication no", "passwordauthentication yes")
INCLUDE = "Include d/*.conf\n"


STARTED = (
    "ExecStart={ path=/usr/sbin/sshd ; argv[]=/usr/sbin/sshd -D $SSHD_OPTS ; ignore_errors=no ; "
    "start_time=[n/a] }\nEnvironment=\n"
)


@pytest.fixture
def sshd(force, tmp_path, monkeypatch):
    """Settings files of sshd; returns what is told of them when sshd answers so."""
    monkeypatch.setattr(force, "SSHD_CONFIG", str(tmp_path / "sshd_config"))
    monkeypatch.setattr(force, "SSHD_DEFAULTS", str(tmp_path / "default"))
    (tmp_path / "d").mkdir()
    kit = tmp_path / "d/00-rackbench.conf"

    def told(answer, main=INCLUDE + "UsePAM yes\n", drop_in="", kit_text=KIT, unit=STARTED):
        kit.write_text(kit_text)
        (tmp_path / "sshd_config").write_text(main)
        (tmp_path / "d/00-aaa.conf").write_text(drop_in)
        asked = []

        def output(*argv):
            return unit if argv[0] == "systemctl" else asked.append(argv) or answer

        monkeypatch.setattr(force, "output", output)
        found = rows(force.of_sshd(str(kit)))
        (command,) = asked
        assert command[:3] == ("/usr/sbin/sshd", "-T", "-C")
        return [tuple(text.replace(f"{tmp_path}/", "") for text in row) for row in found]

    return told


@pytest.mark.parametrize("word", ["without-password", "prohibit-password"])
def test_an_sshd_that_goes_by_the_settings_has_no_row(sshd, word):
    same = "# PasswordAuthentication yes\nMatch User a\nPasswordAuthentication no\n"
    assert sshd(SHUT.replace("without-password", word), drop_in=same) == []


@pytest.mark.parametrize("options", ["", "-4"])
def test_an_option_that_sshd_is_started_with_is_named(sshd, tmp_path, options):
    (tmp_path / "default").write_bytes(b"# caf\xe9\nSSHD_OPTS=" + options.encode() + b"\n")
    assert sshd(SHUT) == []
    (tmp_path / "default").write_text('SSHD_OPTS="-o PasswordAuthentication=yes"\n')
    said = sshd(SHUT)
    assert said == [("sshd options", 'SSHD_OPTS="-o PasswordAuthentication=yes": default', "none")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-D $SSHD_OPTS", "-D -o PasswordAuthentication=yes"),
        ("-D $SSHD_OPTS", "-Df /etc/ssh/mine"),
        ("-D $SSHD_OPTS", '-D -o "passwordauthentication yes"'),
        ("-D $SSHD_OPTS", "-D -oInclude=/etc/ssh/mine"),
        ("Environment=", 'Environment=SSHD_OPTS="-o PasswordAuthentication=yes"'),
    ],
)
def test_an_option_in_the_unit_of_sshd_is_named(sshd, old, new):
    ((item, value, declared),) = sshd(SHUT, unit=STARTED.replace(old, new))
    assert (item, declared) == ("sshd options", "none")
    assert new.removeprefix("Environment=") in value
    assert value.endswith(": systemctl cat ssh.service")


@pytest.mark.parametrize(
    "options",
    [
        '-o "AuthorizedKeysCommand /usr/share/ec2-instance-connect/eic_run_authorized_keys %u %f"'
        ' -o "AuthorizedKeysCommandUser ec2-instance-connect"',
        "-E /var/log/ssh-old.log",
        "-oLogLevel=VERBOSE -4",
    ],
)
def test_options_that_set_nothing_of_rackbenchs_are_the_sites_own(sshd, tmp_path, options):
    assert sshd(SHUT, unit=STARTED.replace("$SSHD_OPTS", options)) == []
    assert sshd(SHUT, unit=STARTED.replace("$SSHD_OPTS", options.replace('"', ""))) == []
    (tmp_path / "default").write_text(f"SSHD_OPTS='{options}'\n")
    assert sshd(SHUT) == []


def test_an_older_name_of_a_setting_among_the_options_is_named(sshd):
    unit = STARTED.replace("$SSHD_OPTS", "-o ChallengeResponseAuthentication=yes")
    ((item, *_),) = sshd(
        "kbdinteractiveauthentication no\n", kit_text="KbdInteractiveAuthentication no\n", unit=unit
    )
    assert item == "sshd options"


def test_an_earlier_drop_in_is_named(sshd):
    said = sshd(OPEN, drop_in='# mine\npasswordauthentication="Yes"\n')
    assert said == [("sshd passwordauthentication", "yes: d/00-aaa.conf:2", "no")]


def test_an_older_name_of_a_setting_is_understood(sshd):
    kit = "KbdInteractiveAuthentication no\n"
    answer = "kbdinteractiveauthentication yes\n"
    said = sshd(answer, drop_in="ChallengeResponseAuthentication yes\n", kit_text=kit)
    assert said == [("sshd kbdinteractiveauthentication", "yes: d/00-aaa.conf:1", "no")]


def test_a_later_line_that_sshd_does_not_go_by_is_no_matter(sshd):
    assert sshd(SHUT, main=INCLUDE + "PasswordAuthentication yes\n") == []


def test_a_file_that_is_not_included_is_named(sshd):
    said = sshd(OPEN, main="UsePAM yes\nPasswordAuthentication yes\n")
    where = "sshd_config:2, sshd_config does not include d/00-rackbench.conf"
    assert said == [("sshd passwordauthentication", f"yes: {where}", "no")]


def test_a_setting_that_no_line_names_is_sshds_default(sshd):
    said = sshd(OPEN, main="Match User a\n" + INCLUDE)
    assert said == [("sshd passwordauthentication", "yes: sshd's own default", "no")]


@pytest.mark.parametrize(
    "match",
    ["User student,tutor", "User !root,stud*", "Address 10.1.0.0/16", "Group students", "all"],
)
def test_a_match_block_is_told_for_whom_it_holds(sshd, match):
    """sshd answers for a stranger as it should."""
    block = f"Match {match}\n  PasswordAuthentication yes\n  PermitRootLogin no\n"
    expected = [
        ("sshd passwordauthentication", f"yes for {match}: PLACE:2", "no"),
        ("sshd permitrootlogin", f"no for {match}: PLACE:3", "without-password"),
    ]
    for place, given in (
        ("d/00-aaa.conf", {"drop_in": block}),
        ("sshd_config", {"main": block + "Match all\n" + INCLUDE}),
    ):
        said = sshd(SHUT, **given)
        assert said == [tuple(text.replace("PLACE", place) for text in row) for row in expected]


def test_the_settings_of_a_file_within_a_match_block_hold_for_those_alone(sshd):
    main = "Match User student\nInclude d/00-aaa.conf\nMatch all\n" + INCLUDE
    said = sshd(SHUT, main=main, drop_in="PasswordAuthentication yes\n")
    assert ("sshd passwordauthentication", "yes for User student: d/00-aaa.conf:1", "no") in said


def test_an_sshd_that_refuses_its_settings_and_a_missing_file_are_told(
    sshd, force, tmp_path, monkeypatch
):
    ((item, value, _),) = sshd(None)
    assert item == "sshd"
    assert value.startswith("/usr/sbin/sshd -T -C user=nobody,host=stranger.invalid,addr=192.0.2.1")
    monkeypatch.setattr(force, "output", lambda *argv: SHUT)
    gone = str(tmp_path / "gone.conf")
    assert rows(force.of_sshd(gone)) == [("sshd", "(absent)", gone)]


# Archives


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def filters():
    return load(f"{ROLE}/filter_plugins/differences.py")


@pytest.fixture
def archives(tmp_path):
    """A tar archive below one directory of its own, and a ZIP archive."""
    with tarfile.open(tmp_path / "tomcat.tar.gz", "w:gz") as tar:
        for name in ("tomcat-9/lib/a.jar", "tomcat-9/webapps/ROOT/x.jsp"):
            entry = tarfile.TarInfo(name)
            entry.size = len(name)
            tar.addfile(entry, BytesIO(name.encode()))
        tar.addfile(tarfile.TarInfo("tomcat-9/empty"))
    with zipfile.ZipFile(tmp_path / "axis.war", "w") as war:
        war.mkdir("WEB-INF")
        war.writestr("WEB-INF/web.xml", "<web/>")
    return {
        "workers": [
            {"directory": "/o/tomcat-1", "archive": str(tmp_path / "tomcat.tar.gz"), "strip": 1},
            {"directory": "/o/axis-2", "archive": str(tmp_path / "axis.war")},
        ]
    }


UNPACKED = {
    "/o/tomcat-1/lib/a.jar": digest("tomcat-9/lib/a.jar"),
    "/o/tomcat-1/empty": digest(""),
    "/o/axis-2/WEB-INF/web.xml": digest("<web/>"),
    "/o/axis-old/WEB-INF/web.xml": "the build before",
}


def undeclared(archives, files=UNPACKED, ignored="", own=()):
    """Return what the role's own task compares."""
    role = Role(
        "fingerprint",
        fingerprint_nodes={
            "worker1": {"fingerprint": {"files": files}, "undeclared": list(own)},
        },
        fingerprint_groups={"workers": ["worker1"], "client": []},
        fingerprint_archives=archives,
        fingerprint_files_not=["/o/*/webapps/*"],
        fingerprint_ignored=ignored,
    )
    role.of_task("compare", "with each other")
    return role.render("{{ __fingerprint_undeclared }}")


def test_directories_that_hold_what_the_archives_hold_have_no_row(archives):
    assert undeclared(archives) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            UNPACKED | {"/o/axis-2/WEB-INF/web.xml": digest("<other/>")},
            "/o/axis-2/WEB-INF/web.xml differs; remove the directory",
        ),
        (
            UNPACKED | {"/o/axis-2/WEB-INF/lib/b.jar": "y", "/o/axis-2/WEB-INF/web.xml": "z"},
            "/o/axis-2/WEB-INF/lib/b.jar differs, with 1 more; remove the directory",
        ),
        (
            {**UNPACKED, "/o/axis-2/WEB-INF/a": "a"} | {"/o/axis-2/WEB-INF/web.xml": None},
            "/o/axis-2/WEB-INF/a differs, with 1 more; remove the directory",
        ),
        ({path: held for path, held in UNPACKED.items() if "axis-2" not in path}, "(absent)"),
    ],
    ids=["changed", "one too many", "partial", "another build"],
)
def test_other_contents_are_named_with_the_archive(archives, files, expected):
    (row,) = undeclared(archives, {path: held for path, held in files.items() if held})
    assert list(row.values()) == ["worker1", "contents /o/axis-2", expected, "those of axis.war"]


def test_what_a_setting_may_still_change_is_left_out_where_that_is_asked_for(archives):
    items = ["jvms rackbench-tomcat flags", "jvms rackbench-tomcat executable", "services broker"]
    own = [{"item": item, "value": "a", "others": "b"} for item in items]
    found = undeclared(archives, own=own)
    assert [row["item"] for row in found] == items
    found = undeclared(archives, own=own, ignored=r"jvms \S+ flags$|services ")
    assert [row["item"] for row in found] == ["jvms rackbench-tomcat executable"]
    found = undeclared(archives, own=own, ignored=sweeps_ignore())
    assert found == []


def sweeps_ignore():
    """Return what a sweep leaves to its roles while it sets the services."""
    (task, *_) = yaml.safe_load((ROOT / "playbooks/tasks/set_services.yml").read_text())
    return task["vars"]["fingerprint_ignored"]


def test_the_table_names_its_sides(filters, archives):
    own = [{"item": "jdk", "value": "25.0.1", "others": "Java 21"}]
    table = filters.as_table(undeclared(archives, own=own), ["in force", "declared"])
    assert table.splitlines() == [
        "item  node     in force  declared",
        "jdk   worker1  25.0.1    Java 21",
    ]


# The playbook


def test_services_that_do_not_answer_are_named_also_where_nodes_differ():
    """The comparison runs once for all nodes, so that its failure ends the playbook."""
    plays = yaml.safe_load((ROOT / "playbooks/verify.yml").read_text())
    names = [play["name"] for play in plays]
    ask, compare = "Ask every node whether its services answer", "Compare the nodes"
    assert names.index(ask) < names.index(compare)
    (play,) = (play for play in plays if play["name"] == ask)
    assert play["any_errors_fatal"] is False


@pytest.mark.parametrize(
    ("state", "silent"), [("up", []), ("silent", ["tomcat"]), (None, ["tomcat"])]
)
def test_a_service_that_was_never_installed_does_not_answer_either(state, silent):
    """The comparison would miss one without a JVM, which may be the only one of its group."""
    plays = yaml.safe_load((ROOT / "playbooks/verify.yml").read_text())
    (asked,) = (task for play in plays for task in play.get("tasks", []) if "block" in task)
    services = {"broker": {"state": "down"}, "tomcat": {"state": state}}
    told = {name: service for name, service in services.items() if service["state"]}
    node = {"bench_serves": [{"name": "tomcat"}], "verify_health": {"json": {"services": told}}}
    assert Role("fingerprint", **node).render(asked["vars"]["verify_silent"]) == silent


# What only a node's kernel says, from files of ours


@pytest.fixture
def kernel(taking, tmp_path, monkeypatch):
    """A root for /sys, /proc and /dev; returns how to write a file of theirs."""
    real = taking.Path
    monkeypatch.setattr(taking, "Path", lambda path: real(tmp_path / str(path).lstrip("/")))

    def have(path, content):
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    return have


def test_an_idle_state_is_off_on_as_many_processors_as_have_it_disabled(taking, kernel):
    for cpu, disabled in ((0, ("0", "1")), (1, ("0", "1")), (2, ("0", "0"))):
        for state, name in enumerate(("POLL", "C6")):
            place = f"/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"
            kernel(f"{place}/name", f"{name}\n")
            kernel(f"{place}/disable", f"{disabled[state]}\n")
    assert taking.idle()["idle_states"] == "C6 off on 2, POLL"


@pytest.mark.parametrize(
    ("asked", "told"), [(2_000_000_000, None), (1_999_999_999, 1_999_999_999), (0, 0)]
)
def test_the_latency_that_somebody_asks_for_is_told(taking, kernel, asked, told):
    kernel("/dev/cpu_dma_latency", asked.to_bytes(4, "little", signed=True))
    assert taking.idle_latency() == told


def test_packages_that_left_only_their_settings_are_not_installed(taking, answers):
    answers(taking, {"dpkg-query": "installed tar 1.35\nconfig-files old 1\ninstalled jq 1.7\n"})
    assert taking.packages()["packages"] == {"jq": "1.7", "tar": "1.35"}


@pytest.mark.parametrize(("top", "is_neutral"), [("/etc", True), ("/opt", False)])
def test_addresses_count_by_role_in_settings_alone(taking, top, is_neutral):
    class File:
        def __init__(self, text):
            self.text = text

        def read_bytes(self):
            return self.text

        def is_relative_to(self, other):
            return other == top

    roles = taking.Roles({"192.0.2.1": "broker", "192.0.2.2": "broker"}, {})
    one, other = (taking.digest(File(f"at 192.0.2.{n}".encode()), roles) for n in (1, 2))
    assert (one == other) == is_neutral


def test_the_round_trip_is_the_shortest_one(taking, monkeypatch):
    trips = iter([0.009, 0.002] + [0.005] * 98)
    monkeypatch.setattr(taking, "connect_seconds", lambda peer: next(trips))
    monkeypatch.setattr(taking, "transfer_mbit", lambda peer: 95.0)
    assert taking.peer_link("192.0.2.1:9102", 100.0)["link_rtt_ms"] == 2.0


def test_the_rate_of_a_transfer_counts_from_its_first_block_on(taking, monkeypatch):
    """The first block waits until the peer's health service is started."""
    now, sent = [0.0], iter([(5, 65_536), (1, 750_000), (1, 250_000), (0, 0)])

    def recv(most):
        seconds, size = next(sent)
        now[0] += seconds
        return bytes(size)

    peer = SimpleNamespace(recv=recv, settimeout=lambda _: None, sendall=lambda _: None)
    monkeypatch.setattr(taking, "reach", lambda _: nullcontext(peer))
    monkeypatch.setattr(taking, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    assert taking.transfer_mbit("192.0.2.1:9102") == pytest.approx(4.0)


def test_memory_is_told_in_mebibytes(taking, monkeypatch):
    told = "MemTotal:        2097152 kB\nMemFree:          131072 kB\nSwapTotal:       1048576 kB\n"
    monkeypatch.setattr(taking, "read", {"/proc/meminfo": told}.get)
    found = taking.memory()
    assert (found["memory_mb"], found["swap_mb"]) == (2048, 1024)


def test_the_slowest_card_is_that_of_the_smallest_number(taking, network):
    network({"eno1": ("ixgbe", 10000), "eno2": ("igb", 2500)})
    assert taking.hardware(["eno1", "eno2"])["link_speed_mbit"] == "2500"


def test_a_process_is_told_with_its_processors_and_its_policy_of_memory(jvms, tmp_path):
    status = "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t1\n"
    (tmp_path / "status").write_text(status)
    assert jvms.placement(tmp_path) == "CPUs 0-3, memory of nodes 1, policy default"
    (tmp_path / "numa_maps").write_text("7f00 bind:1 file=/usr/lib/libc.so.6\n7f10 default\n")
    assert jvms.placement(tmp_path) == "CPUs 0-3, memory of nodes 1, policy bind:1"
