"""Nights: what overnight.yml writes, checked by systemd, and what it refuses."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from loading import ROOT
from rendering import Role

HIDDEN = "it's a secret"
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
UNITS = [f"rackbench_overnight-virtual{end}" for end in ("-failed.service", ".service", ".timer")]
SHUT = """\
rack01 | UNREACHABLE! => {
    "changed": false,
    "msg": "Failed to connect to the host via ssh: Permission denied (\\"publickey\\").",
    "unreachable": true
}
rack02 | CHANGED | rc=0 >>

rack03 | FAILED | rc=1 >>
sudo: a password is required
"""


def play(directory, *options, inventory="inventory/virtual", environment=None, **variables):
    """Run overnight.yml with everything below `directory`."""
    for name in ("units", "state"):
        (directory / name).mkdir(exist_ok=True)
    given = {
        "overnight_directory": str(directory / "state/a night"),
        "overnight_unit_directory": str(directory / "units"),
        "overnight_enabled": False,
        "overnight_scheduler": "systemd",
        **variables,
    }
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
    return subprocess.run(
        [
            *(ROOT / ".venv/bin/ansible-playbook", "playbooks/overnight.yml"),
            *(f"--inventory={inventory}" for _ in range(inventory is not None)),
            *("--extra-vars", json.dumps(given), *options),
        ],
        cwd=ROOT,
        env={
            **inherited,
            "ANSIBLE_NOCOLOR": "1",
            "XDG_STATE_HOME": str(directory / "xdg"),
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def changed(done):
    return max(map(int, re.findall(r"changed=(\d+)", done.stdout)))


def flat(done):
    return re.sub(r"\s+", " ", done.stdout)


def units_in(directory):
    return sorted(path.name for path in (directory / "units").iterdir())


def stubs(directory):
    """Make a checkout of stubs below a directory, and what makes nights of it without systemd."""
    programs = directory / "checkout/.venv/bin"
    programs.mkdir(parents=True)
    bodies = {
        "ansible": 'env >seen; printf "%s\\n" "$@" >words; [ ! -e shut ] || { cat shut; exit 4; }',
        "collect": '[ ! -e wrong ] || { cat wrong >&2; exit 2; }; echo "$@" >planned',
    }
    for name, body in bodies.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    return directory / "checkout"


@pytest.fixture
def checkout(tmp_path):
    """A checkout of stubs for one test."""
    return stubs(tmp_path)


def nights(checkout, *options, **given):
    return play(
        checkout, *options, overnight_scheduler="cron", overnight_root=str(checkout), **given
    )


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """What the playbook wrote, in check mode, for real and again; its times have no quotes."""
    tmp_path = tmp_path_factory.mktemp("night")
    (tmp_path / "more.yml").write_text("overnight_begin: 22:15\novernight_end: 6:05\n")
    times, days = f"--extra-vars=@{tmp_path}/more.yml", {"overnight_days": ["Mon", "Fri"]}
    checked = play(tmp_path, "--check", times, **days)
    left = units_in(tmp_path)
    return tmp_path, checked, left, play(tmp_path, times, **days), play(tmp_path, times, **days)


OWN = {"sweep_compress": True}


@pytest.fixture(scope="module")
def proven(tmp_path_factory):
    """A checkout of stubs, and how the playbook ended there, for all that it is told below."""
    directory = stubs(tmp_path_factory.mktemp("proven"))
    done = nights(
        directory,
        environment={"SSH_AUTH_SOCK": "/run/agent"},
        overnight_begin="23:05",
        overnight_studies=["sort", "mtom"],
        overnight_fit=True,
        overnight_variables=OWN,
    )
    return directory, done


def test_check_mode_tells_and_writes_nothing(night):
    _, checked, left, _, _ = night
    assert checked.returncode == 0, checked.stdout
    assert changed(checked) >= 3
    assert left == []


def test_a_second_time_changes_nothing(night):
    _, _, _, first, second = night
    assert first.returncode == 0, first.stdout
    assert (changed(first) > 0, changed(second)) == (True, 0)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_units(night):
    assert units_in(night[0]) == UNITS
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(night[0] / "units" / unit for unit in UNITS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "rackbench" not in done.stderr


def test_whatever_way_a_night_fails_the_hook_is_called(night):
    units = night[0] / "units"
    program = f'/usr/bin/python3 "{night[0]}/state/a night/night.py" "{night[0]}/state/a night"'
    assert f"OnFailure={UNITS[0]}\n" in (units / UNITS[1]).read_text()
    assert f"ExecStart={program}\n" in (units / UNITS[1]).read_text()
    assert f"ExecStart={program} failed\n" in (units / UNITS[0]).read_text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_days_and_time_are_a_calendar_of_systemd(night):
    timer = (night[0] / "units" / UNITS[2]).read_text()
    when = re.search(r"OnCalendar=(.*)", timer).group(1)
    assert when == "Mon,Fri *-*-* 22:15:00"
    assert not subprocess.run(["systemd-analyze", "calendar", when], check=False).returncode


def test_each_inventory_has_a_timer_and_takes_the_place_of_the_former_one(night, tmp_path):
    (tmp_path / "mylab").mkdir()
    inventory = {"control": {"hosts": {"localhost": LOCAL}}}
    (tmp_path / "mylab/hosts.yml").write_text(json.dumps(inventory))
    shutil.copytree(night[0] / "units", tmp_path / "units")
    (tmp_path / "units/rackbench_overnight.timer").write_text("[Timer]\nOnCalendar=22:00\n")
    done = play(tmp_path, inventory=tmp_path / "mylab", rackbench_lab="mylab")
    assert done.returncode == 0, done.stdout
    own = [unit.replace("virtual", "mylab") for unit in UNITS]
    assert units_in(tmp_path) == sorted(UNITS + own)
    settings = json.loads((tmp_path / "state/a night/night.json").read_text())
    assert settings["inventories"] == [str(tmp_path / "mylab")]
    assert settings["environment"] == {"XDG_STATE_HOME": str(tmp_path / "xdg")}


@pytest.mark.parametrize(
    "inventory", ["/home/me/mylab", "/home/me/mylab/", "mylab/hosts.yml", "mylab/inventory"]
)
def test_an_inventory_has_one_name_whatever_way_it_is_named(inventory):
    role = Role("overnight", ansible_inventory_sources=[inventory])
    assert role.render("{{ __overnight_units.timer }}") == "rackbench_overnight-mylab.timer"


def test_the_nights_of_another_account_are_not_replaced(tmp_path):
    (tmp_path / "units").mkdir()
    theirs = tmp_path / "units" / UNITS[1]
    theirs.write_text("[Service]\nUser=somebody\n")
    done = play(tmp_path)
    assert done.returncode != 0
    assert "runs the nights of the account somebody" in " ".join(done.stdout.split())
    assert theirs.read_text() == "[Service]\nUser=somebody\n"


def test_the_nights_of_another_account_are_not_removed(tmp_path):
    (tmp_path / "units").mkdir()
    theirs = tmp_path / "units" / UNITS[1]
    theirs.write_text("[Service]\nUser=somebody\n")
    done = play(tmp_path, overnight_state="absent")
    assert done.returncode == 2
    assert "runs the nights of the account somebody" in flat(done)
    assert "remove those nights as somebody (overnight.yml" in flat(done)
    assert theirs.exists()


def inventory_of(directory):
    """Write an inventory of the control host alone, and return its file."""
    directory.mkdir(parents=True)
    inventory = {"control": {"hosts": {"localhost": LOCAL}}}
    (directory / "hosts").write_text(json.dumps(inventory))
    return directory / "hosts"


def test_the_nights_of_another_inventory_of_that_name_are_not_replaced(tmp_path):
    first, second = (inventory_of(tmp_path / place) for place in ("lab1", "other/lab1"))
    own = [unit.replace("virtual", "lab1") for unit in UNITS]
    for studies in ["sort"], ["mtom"]:  # other nights of the same inventory
        done = play(tmp_path, inventory=first, rackbench_lab="lab1", overnight_studies=studies)
        assert done.returncode == 0, done.stdout
        assert units_in(tmp_path) == own
    service = tmp_path / "units" / own[1]
    before = service.read_text()
    theirs = {"rackbench_lab": "other", "overnight_directory": f"{tmp_path}/state/b"}
    for state in "present", "absent":
        done = play(tmp_path, inventory=second, overnight_state=state, **theirs)
        assert done.returncode == 2
        assert f"runs the nights of {first.parent}, not those of {second.parent}" in flat(done)
        assert "Set overnight_name to another name" in flat(done)
        assert service.read_text() == before
    done = play(tmp_path, inventory=second, overnight_name="lab2", **theirs)
    assert done.returncode == 0, done.stdout
    assert len(units_in(tmp_path)) == 2 * len(UNITS)


@pytest.mark.parametrize("state", ["present", "absent"])
def test_two_inventories_of_one_lab_do_not_share_nights(proven, tmp_path, state):
    checkout, _ = proven
    settings = checkout / "state/a night/night.json"
    before = settings.read_text()
    second = inventory_of(tmp_path / "virtual")
    done = nights(checkout, inventory=second, rackbench_lab="rackbench", overnight_state=state)
    assert done.returncode == 2
    assert f"runs the nights of {ROOT}/inventory/virtual, not those of" in flat(done)
    assert f"overnight.yml -i {ROOT}/inventory/virtual -e overnight_state=absent" in flat(done)
    assert settings.read_text() == before


def test_an_inventory_that_moved_replaces_its_nights(tmp_path):
    named = {"rackbench_lab": "lab1", "overnight_name": "lab1"}
    first = inventory_of(tmp_path / "lab1")
    assert play(tmp_path, inventory=first, **named).returncode == 0
    moved = first.parent.rename(tmp_path / "moved") / "hosts"
    done = play(tmp_path, inventory=moved, **named)
    assert done.returncode == 0, done.stdout
    settings = json.loads((tmp_path / "state/a night/night.json").read_text())
    assert settings["inventories"] == [str(moved)]


def test_a_project_directory_has_its_results_and_a_timer_by_its_name(tmp_path):
    (tmp_path / "thesis/inventory").mkdir(parents=True)
    (tmp_path / "thesis/rackbench.yml").write_text(f"checkout: {ROOT}\n")
    inventory = {"control": {"hosts": {"localhost": LOCAL}}}
    (tmp_path / "thesis/inventory/hosts.yml").write_text(json.dumps(inventory))
    done = play(tmp_path, inventory=tmp_path / "thesis/inventory", rackbench_lab="thesis")
    assert done.returncode == 0, done.stdout
    assert units_in(tmp_path) == [unit.replace("virtual", "thesis") for unit in UNITS]
    settings = json.loads((tmp_path / "state/a night/night.json").read_text())
    assert (settings["root"], settings["project"]) == (str(ROOT), str(tmp_path / "thesis"))


def test_the_virtual_lab_is_swept_only_when_it_is_named(tmp_path):
    done = play(tmp_path, inventory=None)
    assert done.returncode == 2
    assert "Without -i the nights would sweep the virtual lab" in flat(done)
    assert units_in(tmp_path) == []


def test_an_inventory_without_a_control_host_is_refused(tmp_path):
    (tmp_path / "hosts.yml").write_text("nodes: {hosts: {rack01: {}}}\n")
    done = play(tmp_path, inventory=tmp_path / "hosts.yml")
    assert done.returncode == 2
    assert "has 0 hosts in the group control" in flat(done)


def test_without_systemd_the_line_for_cron_is_told(proven):
    checkout, done = proven
    assert done.returncode == 0, done.stdout
    assert "5 23 * * * { /usr/bin/python3 '" in flat(done)
    assert f"'{checkout}/state/a night' failed; }} >> '" in flat(done)
    assert units_in(checkout) == []


@pytest.mark.parametrize(
    ("state", "step"),
    [
        ("present", "writes the program of the nights; then run crontab -e as"),
        ("absent", "removes the program of the nights; then remove the line with"),
    ],
)
def test_a_check_without_systemd_says_what_the_line_for_cron_needs(checkout, state, step):
    done = nights(checkout, "--check", overnight_state=state)
    assert done.returncode == 0, done.stdout
    assert f"Without --check, this command {step}" in flat(done)
    assert not (checkout / "state/a night").exists()


def test_a_checkout_without_its_programs_is_told_how_to_install_them(checkout):
    shutil.rmtree(checkout / ".venv")
    done = nights(checkout)
    assert done.returncode == 2
    assert f"nights use the programs there: make -C {checkout} .venv/ready" in flat(done)
    assert not (checkout / "state/a night/night.json").exists()


def test_the_line_for_cron_tells_of_a_failure_but_not_of_a_night_that_still_sweeps(checkout):
    done = nights(checkout)
    assert done.returncode == 0, done.stdout
    line = re.search(r" \* \* \* (\{ .*? 2>&1)", flat(done))[1]
    program = checkout / "state/a night/night.py"
    log = program.with_name("nights.log")
    for code, told in ((0, [""]), (75, [""]), (1, ["", "failed"])):
        program.write_text(f"import sys\nprint(*sys.argv[2:])\nsys.exit({code})\n")
        log.unlink(missing_ok=True)
        subprocess.run(["sh", "-c", line], check=False)
        assert log.read_text().splitlines() == told


@pytest.mark.parametrize(
    ("variables", "part"),
    [
        ({"overnight_begin": "25:00"}, "cannot be swept"),
        ({"overnight_begin": "1320"}, "HH:MM, put them in quotes"),
        ({"overnight_begin": 390}, "A night from 06:30 to 06:30"),
        ({"overnight_studies": ["sort", "studies/mine.yml"]}, "studies/mine.yml is not the name"),
        ({"overnight_studies": ["sort,mtom"]}, "sort,mtom is not the name of a study"),
    ],
)
def test_a_night_that_cannot_be_is_refused(variables, part):
    assert refused() == ""
    assert part in refused(**variables)


def refused(**given):
    """Return what the role says of these variables where it refuses them."""
    said = []
    for name in ("times that make no night", "files of studies in place of their names"):
        role = Role("overnight", **given)
        check = role.of_task("present", name)["ansible.builtin.assert"]
        wanted = check["that"] if isinstance(check["that"], list) else [check["that"]]
        if not all(map(role.holds, wanted)):
            said.append(role.render(check["fail_msg"]))
    return " ".join(" ".join(said).split())


def test_a_night_that_is_refused_leaves_nothing(tmp_path):
    done = play(tmp_path, overnight_begin="25:00")
    assert done.returncode == 2
    assert "cannot be swept" in flat(done)
    assert units_in(tmp_path) == []
    assert list((tmp_path / "state").iterdir()) == []


def test_a_time_without_quotes_is_read_back(night):
    settings = json.loads((night[0] / "state/a night/night.json").read_text())
    assert (settings["begin"], settings["end"]) == ("22:15", "06:05")
    assert " *-*-* 22:15:00\n" in (night[0] / "units" / UNITS[2]).read_text()


def test_nights_are_removed_whole(night, tmp_path):
    shutil.copytree(night[0] / "units", tmp_path / "units")
    shutil.copytree(night[0] / "state", tmp_path / "state")
    done = play(tmp_path, overnight_state="absent")
    assert done.returncode == 0, done.stdout
    assert "PLAY [Set up or remove the nights]" in done.stdout  # the step that rackbench shows
    assert units_in(tmp_path) == []
    assert list((tmp_path / "state").iterdir()) == []


def test_variables_are_not_shown_when_they_are_written(checkout):
    done = nights(checkout, "--diff", "-vvv", overnight_variables={"sweep_hook": HIDDEN})
    assert done.returncode == 0, done.stdout
    shown = done.stdout.replace(json.dumps({"sweep_hook": HIDDEN}), "")
    assert HIDDEN not in shown


# The proof that a night can begin


def test_a_night_is_tried_without_the_agent_and_the_connections_of_the_caller(proven):
    checkout, done = proven
    assert done.returncode == 0, done.stdout
    seen = (checkout / "seen").read_text().splitlines()
    assert not [line for line in seen if line.startswith("SSH_AUTH_SOCK=")]
    assert "ANSIBLE_SSH_ARGS=-o ControlMaster=no -o ControlPath=none" in seen
    assert f"XDG_STATE_HOME={checkout}/xdg" in seen
    words = (checkout / "words").read_text().splitlines()
    assert words[:3] == ["-i", str(ROOT / "inventory/virtual"), "nodes"]
    planned = (checkout / "planned").read_text()
    assert planned.startswith("plan sort mtom --profile=overnight --workers=5 --fit --output=")


def test_levels_beyond_the_workers_are_skipped_in_the_plan_and_in_each_night(proven):
    checkout, done = proven
    assert done.returncode == 0, done.stdout
    assert " --fit " in (checkout / "planned").read_text()
    written = json.loads((checkout / "state/a night/variables.json").read_text())
    assert written == {**OWN, "fit": True}


def test_each_node_that_a_night_cannot_reach_is_named_with_its_key_and_the_next_step(checkout):
    (checkout / "shut").write_text(SHUT)
    key = {"ansible_ssh_private_key_file": "/home/me/.ssh/nights"}
    done = nights(checkout, overnight_variables=key)
    assert done.returncode == 2
    told = flat(done)
    assert "rack01, with /home/me/.ssh/nights: Failed to connect" in told
    assert "Permission denied" in told
    assert "rack03, with /home/me/.ssh/nights: sudo: a password is required" in told
    assert "rack02" not in told
    assert "needs a key without a passphrase" in told
    assert not (checkout / "state/a night/night.json").exists()


def test_studies_that_cannot_be_planned_are_refused_with_what_collect_says(checkout):
    (checkout / "wrong").write_text("playbooks/studies/sort.yml: line 3: 'servers' is given twice")
    done = nights(checkout, overnight_studies=["sort"])
    assert done.returncode == 2
    assert "The studies sort cannot be planned: playbooks/studies/sort.yml: line 3" in flat(done)
    assert not (checkout / "state/a night/night.json").exists()


def test_a_node_that_nobody_answers_for_is_named_with_the_key_of_the_inventory(tmp_path):
    """By the real programs."""
    lab = tmp_path / "mylab"
    lab.mkdir()
    shutil.copytree(ROOT / "inventory/example/group_vars", lab / "group_vars")
    node = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_user": "me"}
    hosts = {
        "control": {"hosts": {"localhost": LOCAL}},
        "nodes": {
            "vars": {"ansible_ssh_private_key_file": str(tmp_path / "no key")},
            "children": {
                group: {"hosts": {f"rack-{group}": node}}
                for group in ("client", "broker", "workers")
            },
        },
    }
    (lab / "hosts.yml").write_text(json.dumps({"all": {"children": hosts}}))
    given = {"overnight_studies": ["sort"], "overnight_profile": "demo"}
    done = play(
        tmp_path,
        inventory=lab,
        overnight_scheduler="cron",
        overnight_variables={"fit": True},
        **given,
    )
    assert done.returncode == 2
    for group in ("client", "broker", "workers"):
        assert f"rack-{group}, with {tmp_path}/no key: " in flat(done)
    assert "refused" in flat(done)
    assert not list(Path(tmp_path / "state").rglob("*.json"))
