"""Nights: what overnight.yml writes, checked by systemd, and what a night then does."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from loading import ROOT, load

STUDIES = ["sort", "mtom"]


def play(directory, *options, **variables):
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
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
    return subprocess.run(
        [
            *(ROOT / ".venv/bin/ansible-playbook", "playbooks/overnight.yml"),
            *("--extra-vars", json.dumps(given), *options),
        ],
        cwd=ROOT,
        env={**environment, "ANSIBLE_NOCOLOR": "1", "XDG_STATE_HOME": str(directory / "xdg")},
        capture_output=True,
        text=True,
        check=False,
    )


def changed(done):
    return int(re.search(r"changed=(\d+)", done.stdout).group(1))


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """What the playbook wrote, in check mode, for real and again."""
    tmp_path = tmp_path_factory.mktemp("night")
    days = {"overnight_days": ["Mon", "Fri"]}
    checked = play(tmp_path, "--check", **days)
    left = list((tmp_path / "units").iterdir())
    return tmp_path, checked, left, play(tmp_path, **days), play(tmp_path, **days)


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
    units = sorted(map(str, (night[0] / "units").iterdir()))
    assert [Path(unit).name for unit in units] == [
        "rackbench_overnight.service",
        "rackbench_overnight.timer",
    ]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "rackbench" not in done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_days_and_time_are_a_calendar_of_systemd(night):
    timer = (night[0] / "units/rackbench_overnight.timer").read_text()
    when = re.search(r"OnCalendar=(.*)", timer).group(1)
    assert when == "Mon,Fri *-*-* 22:00:00"
    assert not subprocess.run(["systemd-analyze", "calendar", when], check=False).returncode


def test_without_systemd_the_line_for_cron_is_told(tmp_path):
    done = play(tmp_path, overnight_scheduler="cron", overnight_begin="23:05")
    assert done.returncode == 0, done.stdout
    assert "5 23 * * * '" in done.stdout
    assert "sweep-the-night' >> '" in done.stdout
    assert list((tmp_path / "units").iterdir()) == []


@pytest.mark.parametrize(
    ("variables", "part"),
    [
        ({"overnight_begin": "25:00"}, "cannot be swept"),
        ({"overnight_profile": "nowhere"}, "There is no profile nowhere of: sort"),
    ],
)
def test_a_night_that_cannot_be_is_refused(tmp_path, variables, part):
    done = play(tmp_path, **variables)
    assert done.returncode == 2
    assert part in re.sub(r"\s+", " ", done.stdout)
    assert list((tmp_path / "units").iterdir()) == []


def test_nights_are_removed_whole(night, tmp_path):
    shutil.copytree(night[0] / "units", tmp_path / "units")
    shutil.copytree(night[0] / "state", tmp_path / "state")
    done = play(tmp_path, overnight_state="absent")
    assert done.returncode == 0, done.stdout
    assert list((tmp_path / "units").iterdir()) == []
    assert list((tmp_path / "state").iterdir()) == []


# What a night does

HIDDEN = "it's a secret"
VARIABLES = {"sweep_hook": "a hook", "sweep_hook_environment": {"RACKBENCH_WEBHOOK_URL": HIDDEN}}
SWEEP = """\
echo "$@" >>swept
for word; do case $word in @*) cp -p "${word#@}" given;; esac; done
[ ! -e bad ] || exit 2
[ ! -e slow ] || sleep 60"""


@pytest.fixture(scope="module")
def stubbed(tmp_path_factory):
    """A repository of stubs with a night in it, and when that night ends."""
    root = tmp_path_factory.mktemp("repository")
    bodies = {
        "ansible-playbook": SWEEP,
        "collect": 'cat "results/$2/status"',
    }
    (root / ".venv/bin").mkdir(parents=True)
    for name, body in bodies.items():
        (root / ".venv/bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (root / ".venv/bin" / name).chmod(0o755)
    (root / "playbooks").mkdir()
    (root / "playbooks/studies").symlink_to(ROOT / "playbooks/studies")
    end = datetime.now() + timedelta(hours=2)
    done = play(
        root,
        overnight_root=str(root),
        overnight_studies=STUDIES,
        overnight_begin=f"{end - timedelta(hours=4):%H:%M}",
        overnight_end=f"{end:%H:%M}",
        overnight_variables=VARIABLES,
    )
    assert done.returncode == 0, done.stdout
    return root, end.replace(second=0, microsecond=0).astimezone(UTC)


@pytest.fixture
def repository(stubbed):
    root, _ = stubbed
    for path in (root / name for name in ("swept", "given", "bad", "slow")):
        path.unlink(missing_ok=True)
    shutil.rmtree(root / "results", ignore_errors=True)
    return root


def sweep_the_night(root):
    script = root / "state/a night/sweep-the-night"
    return subprocess.run([script], capture_output=True, text=True, check=False)


def swept(root):
    """The commands of a night's sweeps."""
    return (root / "swept").read_text().splitlines() if (root / "swept").exists() else []


def studies_of(root):
    return [re.search(r"study=(\S+)", line).group(1) for line in swept(root)]


def test_a_night_sweeps_in_order_with_one_deadline(repository, stubbed):
    assert sweep_the_night(repository).returncode == 0
    assert studies_of(repository) == STUDIES
    assert all(f"deadline={stubbed[1]:%Y-%m-%dT%H:%M:%SZ}" in line for line in swept(repository))
    assert all("profile=overnight" in line for line in swept(repository))


def test_variables_are_given_in_a_file_and_on_no_command_line(repository):
    assert sweep_the_night(repository).returncode == 0
    given = repository / "given"
    assert json.loads(given.read_text()) == VARIABLES
    assert stat.S_IMODE(given.stat().st_mode) == 0o600
    assert not any(HIDDEN in line for line in swept(repository))
    assert HIDDEN not in (repository / "state/a night/sweep-the-night").read_text()


def test_variables_are_not_shown_when_they_are_written(tmp_path):
    done = play(tmp_path, "--diff", "-vvv", overnight_variables={"sweep_hook": HIDDEN})
    assert done.returncode == 0, done.stdout
    shown = done.stdout.replace(json.dumps({"sweep_hook": HIDDEN}), "")
    assert HIDDEN not in shown


def test_a_sweep_that_fails_does_not_keep_the_next_from_its_turn(repository):
    (repository / "bad").touch()
    done = sweep_the_night(repository)
    assert done.returncode == 1
    assert studies_of(repository) == STUDIES
    assert "did not end well: sort-overnight mtom-overnight" in done.stderr


def test_a_finished_run_is_left_alone(repository):
    for name, left in (("sort", 0), ("mtom", 10)):
        results = repository / f"results/{name}-overnight"
        results.mkdir(parents=True)
        (results / "report.html").touch()
        (results / "status").write_text(json.dumps({"remaining": left, "unusable": 0}))
    done = sweep_the_night(repository)
    assert done.returncode == 0
    assert "sort-overnight is finished" in done.stdout
    assert studies_of(repository) == ["mtom"]


def test_two_nights_at_once_are_refused(repository):
    (repository / "slow").touch()
    script = repository / "state/a night/sweep-the-night"
    with subprocess.Popen([script], stdout=subprocess.DEVNULL, start_new_session=True) as first:
        until = time.monotonic() + 60
        while not swept(repository) and time.monotonic() < until:
            time.sleep(0.05)
        second = sweep_the_night(repository)
        os.killpg(first.pid, signal.SIGKILL)
    assert second.returncode == 75
    assert len(swept(repository)) == 1


def test_studies_without_a_file_or_without_the_profile_are_named_in_order(tmp_path):
    studies = tmp_path / "playbooks/studies"
    studies.mkdir(parents=True)
    (studies / "sort.yml").write_text("profiles: {demo: {}, overnight: {}}\n")
    (studies / "mtom.yml").write_text("profiles: {demo: {}}\n")
    without = load("roles/overnight/filter_plugins/profiles.py").without_profile
    named = ["soort", "sort", "mtom"]
    assert without(named, "overnight", str(tmp_path)) == ["soort", "mtom"]
    assert without(named, "demo", str(tmp_path)) == ["soort"]
    (studies / "mtom.yml").write_text("title: no profiles\n")
    with pytest.raises(AnsibleFilterError, match=r"mtom\.yml cannot be read as a study"):
        without(named, "demo", str(tmp_path))
