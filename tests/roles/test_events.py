"""The plug-in that tells `rackbench` what a playbook does."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import yaml
from loading import ROOT, load

events = load("playbooks/callback_plugins/rackbench_events.py")

PLAY = [
    {
        "name": "Do something",
        "hosts": "all",
        "gather_facts": False,
        "any_errors_fatal": False,
        "tasks": [
            {"name": "Say something", "ansible.builtin.debug": {"msg": ["one", "two"]}},
            {"name": "Change something", "ansible.builtin.command": {"cmd": "true"}},
            {
                "name": "Keep a secret",
                "ansible.builtin.fail": {"msg": "the secret"},
                "no_log": True,
                "when": "inventory_hostname == 'b'",
            },
            {
                "name": "Fail with a list",
                "ansible.builtin.fail": {"msg": ["first", "second"]},
                "when": "inventory_hostname == 'a'",
            },
        ],
    },
]


def told(tmp_path: Path, strategy: str) -> list[dict[str, object]]:
    """The events of a play on two hosts."""
    (tmp_path / "play.yml").write_text(yaml.safe_dump(PLAY))
    done = subprocess.run(
        [
            *(ROOT / ".venv/bin/ansible-playbook", "-i", "a,b,", "-c", "local"),
            *("-e", "ansible_python_interpreter={{ ansible_playbook_python }}"),
            tmp_path / "play.yml",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "RACKBENCH_EVENTS": str(tmp_path / "events"),
            "ANSIBLE_STRATEGY": strategy,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    return [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]


def check(found: list[dict[str, object]]) -> None:
    kinds = [event["event"] for event in found]
    assert kinds[0] == "play"
    assert kinds[-1] == "end"
    assert [e["name"] for e in found if e["event"] == "play"] == ["Do something"]
    assert [e["text"] for e in found if e["event"] == "said"] == ["one\ntwo"] * 2
    failures = {e["node"]: (e["task"], e["reason"]) for e in found if e["event"] == "failed"}
    assert failures["a"] == ("Fail with a list", "first\nsecond")
    assert "the secret" not in json.dumps(found)
    assert found[-1]["ok"] is False
    assert found[-1]["changed"] == {"a": 1, "b": 1}


def test_plays_failures_messages_and_the_end_are_told(tmp_path: Path) -> None:
    check(told(tmp_path, "linear"))


def test_mitogen_tells_the_same(tmp_path: Path) -> None:
    check(told(tmp_path, "mitogen_all_cores"))


def test_the_reason_of_a_command_is_what_it_said() -> None:
    assert events.reason_of({"msg": "non-zero return code", "stderr": "no room\n"}) == "no room"
    items = [{"failed": True, "msg": "one"}, {"msg": "good"}, {"failed": True, "msg": "one"}]
    assert events.reason_of({"msg": "One or more items failed", "results": items}) == "one"
    assert events.reason_of({}) == "no reason was given"
