"""One night: when it is, what it sweeps, and who learns that it failed."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from datetime import datetime, timedelta

import pytest
from loading import ROOT, load

PROGRAM = ROOT / "roles/overnight/files/night.py"
STUDIES = ["sort", "teaching/delivery"]
VARIABLES = {"sweep_hook_environment": {"RACKBENCH_WEBHOOK_URL": "it's a secret"}}
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
SWEEP = """\
echo "$@" >>swept
for word; do case $word in
  @*) cp -p "${word#@}" given;;
  run=*) mkdir -p "results/${word#run=}"; [ -e empty ] || touch "results/${word#run=}/report.html";;
esac; done
[ ! -e bad ] || { cat bad; exit 2; }
[ ! -e slow ] || sleep 60"""


@pytest.fixture(scope="module")
def night():
    return load("roles/overnight/files/night.py", "night")


@pytest.fixture
def berlin(monkeypatch):
    """The clock of this test shows the time of Berlin; returns the seconds of an instant."""
    monkeypatch.setenv("TZ", BERLIN)
    time.tzset()
    yield lambda text: datetime.fromisoformat(text).timestamp()
    monkeypatch.undo()
    time.tzset()


def test_a_night_has_a_locale_that_ansible_takes(night, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE")
    monkeypatch.setenv("LANG", "de_DE")
    settings = {"root": "/kit", "environment": {"XDG_STATE_HOME": "/state"}}
    given = night.environment(settings)
    assert (given["LC_ALL"], given["XDG_STATE_HOME"]) == ("C.UTF-8", "/state")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-01-15T22:00", ("2026-01-15", "2026-01-16T05:30:00Z")),
        ("2026-01-15T21:59:30", ("2026-01-15", "2026-01-16T05:30:00Z")),
        ("2026-01-16T02:00", ("2026-01-15", "2026-01-16T05:30:00Z")),
        ("2026-01-16T06:29:59", ("2026-01-15", "2026-01-16T05:30:00Z")),
        ("2026-01-16T06:30", None),
        ("2026-01-16T08:30", None),
        ("2026-01-16T21:00", None),
        ("2026-03-28T23:00", ("2026-03-28", "2026-03-29T04:30:00Z")),
        ("2026-10-24T23:00", ("2026-10-24", "2026-10-25T05:30:00Z")),
    ],
)
def test_a_night_is_between_its_begin_and_its_end(night, berlin, now, expected):
    found = night.night_of("22:00", "06:30", [], berlin(now))
    assert expected == (found and (found.date, found.deadline))


@pytest.mark.parametrize(
    ("evening", "end", "deadline"),
    [
        ("2026-03-28T23:00", "02:30", "2026-03-29T01:30:00Z"),  # skipped: the clock shows 03:30
        ("2026-03-28T23:00", "03:00", "2026-03-29T01:00:00Z"),
        ("2026-10-24T23:00", "02:30", "2026-10-25T00:30:00Z"),  # twice: the first
        ("2026-10-24T23:00", "03:00", "2026-10-25T02:00:00Z"),
        ("2026-10-25T00:30:00+00:00", "02:30", None),
    ],
)
def test_an_end_that_the_clock_skips_or_shows_twice_is_one_moment(
    night, berlin, evening, end, deadline
):
    found = night.night_of("22:00", end, [], berlin(evening))
    assert deadline == (found and found.deadline)


def test_a_night_may_begin_after_midnight_and_on_some_days_alone(night, berlin):
    assert night.night_of("00:30", "06:30", [], berlin("2026-01-16T01:00")).date == "2026-01-16"
    friday = berlin("2026-01-17T03:00")  # of the night that began on Friday
    assert night.night_of("22:00", "06:30", ["Fri"], friday).date == "2026-01-16"
    assert night.night_of("22:00", "06:30", ["Sat"], friday) is None


def test_the_reason_is_the_last_failure_that_a_playbook_tells(night):
    output = [
        "TASK [Ask] ***\n",
        "fatal: [worker1]: UNREACHABLE! =>\n",
        "    msg: away\n",
        "\n",
        "[ERROR]: Task failed: no\n",
        "Origin: playbooks/sweep.yml:3:4\n",
        "\n",
        "fatal: [client1]: FAILED! =>\n",
        "    msg: client1 is busy\n",
        "\n",
        "PLAY RECAP ***\n",
    ]
    assert night.reason_of(output) == "fatal: [client1]: FAILED! => msg: client1 is busy"
    assert night.reason_of(["the inventory is gone\n", "\n"]) == "the inventory is gone"
    assert night.reason_of([]) == "it printed nothing"


class Repository:
    """A checkout of stubs with a night that began two hours ago and ends in two."""

    def __init__(self, root):
        self.root, self.directory = root, root / "a night"
        bodies = {"ansible-playbook": SWEEP, "collect": 'cat "results/$2/status"', "hook": HOOK}
        (root / ".venv/bin").mkdir(parents=True)
        for name, body in bodies.items():
            (root / ".venv/bin" / name).write_text(f"#!/bin/sh\n{body}\n")
            (root / ".venv/bin" / name).chmod(0o755)
        self.directory.mkdir()
        (self.directory / "variables.json").write_text(json.dumps(VARIABLES))
        (self.directory / "variables.json").chmod(0o600)
        self.begun = datetime.now() - timedelta(hours=2)
        self.settings = {
            "unit": "rackbench_overnight-mylab",
            "root": str(root),
            "project": str(root),
            "inventories": ["/labs/my lab"],
            "begin": f"{self.begun:%H:%M}",
            "end": f"{self.begun + timedelta(hours=4):%H:%M}",
            "days": [],
            "studies": STUDIES,
            "profile": "overnight",
            "dated": True,
            "hook": ".venv/bin/hook 'of mine'",
            "hook_environment": {"RACKBENCH_MAIL_TO": "me@lab.example"},
            "output": "journalctl -u rackbench_overnight-mylab",
            "environment": {"XDG_STATE_HOME": "/state"},
        }

    def set(self, **settings):
        self.settings |= settings

    @property
    def command(self):
        (self.directory / "night.json").write_text(json.dumps(self.settings))
        return [sys.executable, PROGRAM, self.directory]

    def sweep(self):
        return subprocess.run(self.command, capture_output=True, text=True, check=False)

    def tell(self, **environment):
        return subprocess.run(
            [*self.command, "failed"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def swept(self):
        file = self.root / "swept"
        return file.read_text().splitlines() if file.exists() else []

    def told(self):
        return (self.root / "told").read_text().splitlines()


HOOK = 'printf "%s\\n" "$1" "$RACKBENCH_EVENT $RACKBENCH_RUN $RACKBENCH_MAIL_TO" >told; cat >>told'


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def names(repository):
    day = repository.begun.date()
    return [f"sort-overnight-{day}", f"delivery-overnight-{day}"]


def test_a_night_sweeps_in_order_with_one_deadline_in_runs_of_its_own(repository):
    done = repository.sweep()
    assert done.returncode == 0, done.stderr
    end = (repository.begun + timedelta(hours=4)).replace(second=0, microsecond=0)
    deadline = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end.timestamp()))
    variables = repository.directory / "variables.json"
    assert repository.swept() == [
        f"-i /labs/my lab playbooks/sweep.yml -e @{variables} -e study={study} "
        f"-e profile=overnight -e run={run} -e deadline={deadline} -e without=unreachable"
        for study, run in zip(STUDIES, names(repository), strict=True)
    ]


def test_a_study_that_the_last_night_did_not_reach_has_the_first_turn(repository):
    """Else the first of many studies would take every night."""
    day = repository.begun.date()
    for run in (f"sort-overnight-{day - timedelta(days=1)}", f"delivery-overnight-{day}"):
        (repository.root / "results" / run).mkdir(parents=True)
    assert repository.sweep().returncode == 0
    assert [line.split("study=")[1].split()[0] for line in repository.swept()] == STUDIES[::-1]


def test_all_nights_may_go_on_with_one_run(repository):
    repository.set(dated=False)
    assert repository.sweep().returncode == 0
    assert [line.split("run=")[1].split()[0] for line in repository.swept()] == [
        "sort-overnight",
        "delivery-overnight",
    ]


def test_variables_are_given_in_a_file_and_on_no_command_line(repository):
    assert repository.sweep().returncode == 0
    given = repository.root / "given"
    assert json.loads(given.read_text()) == VARIABLES
    assert stat.S_IMODE(given.stat().st_mode) == 0o600
    assert not any("secret" in line for line in repository.swept())


def test_in_the_daytime_nothing_is_swept(repository):
    """So a machine that slept through the night and wakes at 08:30 sweeps nothing."""
    now = datetime.now()
    begin, end = now - timedelta(hours=10), now - timedelta(hours=2)
    repository.set(begin=f"{begin:%H:%M}", end=f"{end:%H:%M}")
    done = repository.sweep()
    assert done.returncode == 0
    assert f"it is not night now: nights are from {begin:%H:%M} to {end:%H:%M}" in done.stdout
    assert repository.swept() == []


def test_no_run_begins_once_the_night_has_ended(repository, night, capsys):
    """A first run may reach the end, so that its successors would begin in the daytime."""
    over = night.Night(repository.begun.date().isoformat(), time.time() - 1)
    assert list(night.failures(repository.settings, repository.directory, over)) == []
    assert repository.swept() == []
    said = capsys.readouterr().out.splitlines()
    assert said == [f"the night is over before {run}" for run in names(repository)]


def test_a_finished_run_is_left_alone(repository):
    for run, left in zip(names(repository), (0, 10), strict=True):
        results = repository.root / "results" / run
        results.mkdir(parents=True)
        (results / "report.html").touch()
        (results / "status").write_text(json.dumps({"remaining": left, "unusable": 0}))
    done = repository.sweep()
    assert done.returncode == 0
    assert f"{names(repository)[0]} is finished" in done.stdout
    assert [line.split("study=")[1].split()[0] for line in repository.swept()] == STUDIES[1:]


def test_the_results_of_a_project_directory_are_its_own(repository):
    project = repository.root / "my project"
    repository.set(project=str(project))
    for run, left in zip(names(repository), (0, 10), strict=True):
        results = project / "results" / run
        results.mkdir(parents=True)
        (results / "report.html").touch()
        (results / "status").write_text(json.dumps({"remaining": left, "unusable": 0}))
    assert repository.sweep().returncode == 0
    assert [line.split("study=")[1].split()[0] for line in repository.swept()] == STUDIES[1:]


def test_two_nights_at_once_are_refused(repository):
    (repository.root / "slow").touch()
    with subprocess.Popen(
        repository.command, stdout=subprocess.DEVNULL, start_new_session=True
    ) as first:
        until = time.monotonic() + 60
        while not repository.swept() and time.monotonic() < until:
            time.sleep(0.05)
        second = repository.sweep()
        os.killpg(first.pid, signal.SIGKILL)
    assert second.returncode == 75
    assert len(repository.swept()) == 1


class Sweeps:
    """Stands for the sweeps of nights from 22:00 to 21:30: when each ends, and why it failed."""

    def __init__(self, repository, night, clock, monkeypatch):
        repository.set(begin="22:00", end="21:30", studies=["sort"])
        self.repository, self.clock, self.now = repository, clock, clock("2026-01-15T22:00")
        self.runs, self.left = [], []
        monkeypatch.setattr(night.time, "time", lambda: self.now)
        monkeypatch.setattr(night, "played", self.play)

    def play(self, settings, directory, words):
        end, reason, then = self.left.pop(0)
        self.runs.append(words[2].removeprefix("run="))
        results = self.repository.root / "results" / self.runs[-1]
        results.mkdir(parents=True)
        (results / "report.html").touch()
        self.now = self.clock(end)
        then()
        return reason

    def end_at(self, end, reason="", then=lambda: None):
        self.left.append((end, reason, then))


@pytest.fixture
def sweeps(repository, night, berlin, monkeypatch):
    return Sweeps(repository, night, berlin, monkeypatch)


def test_a_night_that_begins_before_the_last_one_is_done_is_swept(repository, night, sweeps):
    """Its timer does nothing while the service of the last night is active."""
    assert repository.command
    sweeps.end_at("2026-01-16T22:05")
    sweeps.end_at("2026-01-17T06:00")
    assert night.sweep(repository.directory) == 0
    assert sweeps.runs == ["sort-overnight-2026-01-15", "sort-overnight-2026-01-16"]


def test_a_night_that_ends_before_the_next_one_is_the_only_one(repository, night, sweeps):
    assert repository.command
    sweeps.end_at("2026-01-16T21:45")
    assert night.sweep(repository.directory) == 0
    assert sweeps.runs == ["sort-overnight-2026-01-15"]


def test_the_hook_learns_of_a_night_before_the_next_one_is_swept(repository, night, sweeps):
    assert repository.command
    told = repository.root / "told"
    sweeps.end_at("2026-01-16T22:05", "client1 is busy")
    sweeps.end_at("2026-01-17T06:00", then=lambda: told.rename(repository.root / "told before"))
    assert night.sweep(repository.directory) == 0
    summary = json.loads((repository.root / "told before").read_text().splitlines()[2])
    assert summary["reason"] == "sort-overnight-2026-01-15: client1 is busy"
    assert not (repository.directory / "failure").exists()


def test_nights_that_were_removed_meanwhile_are_not_swept(repository, night, sweeps):
    assert repository.command
    removed = repository.directory / "night.json"
    sweeps.end_at("2026-01-16T22:05", then=removed.unlink)
    assert night.sweep(repository.directory) == 0
    assert sweeps.runs == ["sort-overnight-2026-01-15"]


def test_a_sweep_that_fails_does_not_keep_the_next_from_its_turn(repository):
    (repository.root / "bad").write_text("fatal: [client1]: UNREACHABLE! =>\n    msg: no key\n")
    done = repository.sweep()
    assert done.returncode == 1
    assert len(repository.swept()) == 2
    for run in names(repository):
        assert f"{run}: fatal: [client1]: UNREACHABLE! => msg: no key" in done.stderr


def test_a_sweep_that_did_nothing_has_failed(repository):
    """As with an inventory that has no control host, where Ansible skips every play."""
    (repository.root / "empty").touch()
    done = repository.sweep()
    assert done.returncode == 1
    assert "check that the inventory has a control host" in done.stderr


def test_the_hook_learns_why_a_night_failed(repository):
    (repository.root / "bad").write_text("fatal: [client1]: UNREACHABLE! =>\n    msg: no key\n")
    assert repository.sweep().returncode == 1
    done = repository.tell(MONITOR_SERVICE_RESULT="exit-code", MONITOR_EXIT_STATUS="1")
    assert done.returncode == 0, done.stderr
    word, environment, summary = repository.told()
    assert word == "of mine"
    assert environment == "failed rackbench_overnight-mylab me@lab.example"
    told = json.loads(summary)
    assert (told["event"], told["run"]) == ("failed", "rackbench_overnight-mylab")
    for run in names(repository):
        assert f"{run}: fatal: [client1]: UNREACHABLE! => msg: no key" in told["reason"]
    assert "; its output is in journalctl -u rackbench_overnight-mylab" in told["text"]


def test_the_hook_learns_of_a_night_that_could_not_even_begin(repository):
    done = repository.tell(MONITOR_SERVICE_RESULT="exit-code", MONITOR_EXIT_STATUS="203")
    assert done.returncode == 0, done.stderr
    assert json.loads(repository.told()[2])["reason"] == "it ended with exit-code 203"


def test_a_night_without_its_checkout_fails_with_a_reason(repository):
    repository.set(root=f"{repository.root}/gone")
    done = repository.sweep()
    assert done.returncode == 1
    assert "run overnight.yml again from where the checkout is now" in done.stderr


def test_a_night_without_the_programs_of_its_checkout_names_the_command(repository):
    shutil.rmtree(repository.root / ".venv")
    done = repository.sweep()
    assert done.returncode == 1
    assert f"nights use the programs there: make -C {repository.root} .venv/ready" in done.stderr


def test_a_reason_is_told_once(repository):
    (repository.directory / "failure").write_text("the first night's")
    assert repository.tell().returncode == 0
    assert json.loads(repository.told()[2])["reason"] == "the first night's"
    (repository.directory / "failure").write_text("the second night's")
    assert repository.sweep().returncode == 0
    assert repository.tell().returncode == 0
    assert json.loads(repository.told()[2])["reason"] == "it ended with an error"


def test_a_hook_that_cannot_be_run_is_said(repository):
    repository.set(hook="nowhere/at-all")
    done = repository.tell()
    assert done.returncode == 1
    assert "no hook is called: it cannot be run" in done.stderr
