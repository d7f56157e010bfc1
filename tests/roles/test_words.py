"""No failure without words: whatever a task waits for or refuses, it says so itself."""

import re
from pathlib import Path

import pytest
import yaml
from loading import ROOT

FILES = sorted(
    path
    for pattern in ("roles/*/tasks/*.yml", "roles/*/handlers/*.yml", "playbooks/**/*.yml")
    for path in ROOT.glob(pattern)
    if not {"clients", "studies", "vars"} & set(path.parts)
)
LISTS = ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always")
WORDS_OF = {"assert": "fail_msg", "fail": "msg", "wait_for": "msg", "wait_for_connection": "msg"}
PROGRAMS = {"command", "shell", "raw", "script"}
WAITS = re.compile(r"\bsleep\b|\btimeout\b|--retry\b|__service_up_wait")


def module_of(task):
    """Return the builtin module of a task and its arguments."""
    for key, arguments in task.items():
        if key.startswith("ansible.builtin."):
            return key.removeprefix("ansible.builtin."), arguments
    return "", {}


def speaks(tasks):
    """Return whether a list of tasks ends a failure with a text of its own."""
    return any(module_of(task)[0] == "fail" and module_of(task)[1].get("msg") for task in tasks)


def refuses(task):
    """Return whether this task is a refusal, or a play or block that holds one."""
    parts = (one for part in LISTS for one in task.get(part, []))
    return module_of(task)[0] in ("fail", "assert") or any(map(refuses, parts))


def is_told_later(task, later):
    """Return whether this task never fails itself, and a later one refuses what it registered."""
    name = task.get("register", "\0")
    told = any(name in str(one) for one in later if refuses(one))
    return task.get("failed_when") is False and told


def wordless(tasks, rescued=False, beyond=()):
    """Yield the tasks of a list, and of the lists in it, that may fail without words.

    `beyond` are the plays and tasks that follow the list.
    """
    for place, task in enumerate(tasks):
        later = [*tasks[place + 1 :], *beyond]
        module, arguments = module_of(task)
        waits = "until" in task or (module in PROGRAMS and WAITS.search(str(arguments)))
        judges = task.get("failed_when", False) is not False
        if module in WORDS_OF and not arguments.get(WORDS_OF[module]):
            yield f"{task['name']}: {module} without {WORDS_OF[module]}"
        if (waits or judges) and not rescued and not is_told_later(task, later):
            yield f"{task['name']}: {'waits' if waits else 'failed_when'} without words"
        covered = rescued or speaks(task.get("rescue", []))
        for part in LISTS:
            yield from wordless(task.get(part, []), covered and part == "block", later)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_each_wait_and_each_refusal_has_words(file):
    assert list(wordless(yaml.safe_load(file.read_text()) or [])) == []


WORDLESS = """
- {name: wait, ansible.builtin.wait_for: {port: 1}}
- {name: judge, ansible.builtin.command: {cmd: df}, register: room, failed_when: room.rc}
- {name: poll, ansible.builtin.command: {cmd: df}, register: room, until: room.rc == 0}
- {name: sleep, ansible.builtin.shell: {cmd: "until false; do sleep 1; done"}}
- {name: demand, ansible.builtin.assert: {that: false}}
- name: in vain
  block:
    - {name: sleep in a block, ansible.builtin.shell: {cmd: timeout 9 true}}
  rescue:
    - {name: hide, ansible.builtin.debug: {msg: well}}
"""
WITH_WORDS = """
- {name: wait, ansible.builtin.wait_for: {port: 1, msg: nobody listens}}
- {name: poll, command: {cmd: df}, register: room, until: room.rc == 0, failed_when: false}
- {name: tell, ansible.builtin.fail: {msg: no room}, when: room.rc != 0}
- name: a play
  tasks:
    - {name: poll, command: {cmd: df}, register: hall, until: hall.rc == 0, failed_when: false}
- name: another play
  tasks:
    - {name: tell, ansible.builtin.fail: {msg: no room}, when: hall.rc != 0}
- name: told
  block:
    - {name: sleep, ansible.builtin.shell: {cmd: timeout 9 true}}
  rescue:
    - {name: tell, ansible.builtin.fail: {msg: it did not}}
"""


def test_what_has_no_words_is_found_and_what_has_them_is_not():
    found = [line.partition(":")[0] for line in wordless(yaml.safe_load(WORDLESS))]
    assert found == ["wait", "judge", "poll", "sleep", "demand", "sleep in a block"]
    assert list(wordless(yaml.safe_load(WITH_WORDS))) == []


def test_scripts_run_from_a_home_that_forbids_programs():
    """Ansible copies a script to the account's home, which may be mounted noexec."""
    for file in FILES:
        for text in re.findall(r"ansible\.builtin\.script:\n(?:(?: {4,}).*\n)+", file.read_text()):
            assert "executable: /bin/bash" in text, Path(file).relative_to(ROOT)
