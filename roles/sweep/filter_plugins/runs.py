"""The runs of a sweep: what they ask of the nodes, and what of them is deferred."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from collect.run.directory import Run, open_run
from collect.run.setting import (
    GOVERNOR,
    HEAP,
    JDK,
    NETEM,
    OPTIONS,
    SYSCTL,
    not_understood,
    setting_key,
    setting_of,
    varied,
    worker_heaps,
)
from collect.sweep.groups import Group, groups_to_run
from collect.sweep.interim import analyses_of, open_trials
from collect.sweep.state import RunnerState

EXAMPLES = r"""
- name: Show how often the nodes are set
  ansible.builtin.debug:
    msg: "{{ runs | sweep_settings('/home/me/rackbench') | length }}"
  vars:
    runs: [{study: sort, run: monday-sort}, {study: mtom, run: monday-mtom}]

- name: Refuse settings that no service takes
  ansible.builtin.debug:
    msg: "{{ runs | sweep_settings('/home/me/rackbench') | sweep_understood(runner_lab) | length }}"

- name: Show what is to be run of a run that may stop after 10 blocks
  ansible.builtin.debug:
    msg: "{{ 'results/monday' | sweep_open(10) }}"
  when: 10 in 'results/monday' | sweep_looks

- name: Show what a group of trials asks for, and what is read to be in force on the nodes
  ansible.builtin.debug:
    msg:
      - "{{ {'sysctl.vm.swappiness': 10} | sweep_asked('sysctl.') }}"
      - "{{ {'tomcat_heap_mb': 512, 'matrix_worker_heap_mb': 512} | sweep_worker_heaps }}"
      - "{{ {'rack03': fingerprint_taken} | sweep_in_force({'link_mbit': 100}) }}"

- name: Show what is done between the groups of a run
  ansible.builtin.debug:
    msg: "{{ sweep_settings | sweep_steps | map(attribute='tasks') }}"

- name: Show which delays and losses of packets the runs ask for
  ansible.builtin.debug:
    msg: "{{ sweep_settings | sweep_netem }}"

- name: Stop if trials are deferred
  ansible.builtin.fail:
    msg: "{{ runs | sweep_put_off('/home/me/rackbench') }}"
  when: runs | sweep_put_off('/home/me/rackbench') | length > 0
"""

# What restarts services, then a link, which is one command.
_DEAREST_FIRST = (JDK, "collector", "synced", "tomcat_heap_mb", "broker_heap_mb", "link_mbit")


def settings(  # noqa: PLR0913 - named where it is called
    runs: Sequence[Mapping[str, str]],
    root: str,
    attached: str = "",
    given: Sequence[str] = (),
    *,
    drafts: str = "",
    sets_links: bool = True,
) -> list[dict[str, Any]]:
    """Return the settings of the nodes in turn, each with the runs that ask for it.

    The plan of a run that has not begun is below `drafts`, in a directory of its name.
    `attached` is the run that the runner is at now, with the trials `given`: its setting comes
    first, and its `is_attached` is true. Else runs keep their order, so far as nodes are set as
    seldom as can be. A run whose trials ask for several settings comes after the others, with a
    setting for each group of its open trials (`group`, with the interim analysis `looks` after it,
    and `goes_on` unless it is the last one); before the first and after the last group nodes are
    compared as a whole (`is_first`, `is_last`). `jdks` are those that its runs ask for, for
    services or for clients. Raises AnsibleFilterError or InputError.
    """
    alike: dict[str, dict[str, Any]] = {}
    mixed: list[dict[str, Any]] = []
    for run in sorted(runs, key=lambda run: run["run"] != attached):
        at_work = run["run"] == attached
        home = _place(run["run"], Path(root) / "results", drafts)
        plan = open_run(str(home))
        _demand_links(run["run"], plan, sets_links=sets_links)
        if plan.varied:
            groups = groups_to_run(plan, given if at_work else ())
            mixed += [
                {**_step(run, groups, place, at_work and not place), "jdks": _jdks(plan)}
                for place in range(len(groups))
            ]
            continue
        node = setting_of(plan.all_trials[0])
        setting = alike.setdefault(
            setting_key(node),
            {"node": node, "runs": [], "is_attached": False, "jdks": [], **_WHOLE},
        )
        setting["runs"].append(dict(run))
        setting["jdks"] = sorted({*setting["jdks"], *_jdks(plan)})
        setting["is_attached"] |= at_work
    ordered = list(alike.values())
    seen = {name: [setting["node"].get(name) for setting in ordered] for name in _DEAREST_FIRST}

    def rank(setting: Mapping[str, Any]) -> list[int]:
        return [seen[name].index(setting["node"].get(name)) for name in _DEAREST_FIRST]

    ordered.sort(key=rank)
    is_mixed_first = bool(mixed) and mixed[0]["is_attached"]
    return [*mixed, *ordered] if is_mixed_first else [*ordered, *mixed]


_WHOLE = {
    **dict.fromkeys(("is_first", "is_last", "sets_link", "sets_kernel"), True),
    "sets_roles": [],
}
_OF_ALL = ("collector", JDK)
"""The settings that all services go by."""


def _place(name: str, results: Path, drafts: str) -> Path:
    draft = Path(drafts) / name
    has_begun = (results / name / "plan.jsonl").exists()
    return draft if drafts and not has_begun else results / name


def understood(ordered: list[dict[str, Any]], lab: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings as they are, if services of the lab take all that is theirs.

    `lab` is as in lab.json. Raises AnsibleFilterError.
    """
    served: dict[str, set[str]] = {}
    for node in lab["endpoints"].values():
        for name, service in node["services"].items():
            served.setdefault(name, set()).update(service["settings"])
    for setting in ordered:
        if names := not_understood(setting["node"], served):
            named = ", ".join(run["run"] for run in setting["runs"])
            raise AnsibleFilterError(
                f"{named}: no service of this lab takes {', '.join(names)}; remove it from "
                "the study, or declare it under `settings` in the role that serves it."
            )
    return ordered


def _demand_links(name: str, plan: Run, *, sets_links: bool) -> None:
    """Raise AnsibleFilterError for links that nobody sets."""
    if sets_links:
        return
    if "link_mbit" in plan.varied:
        raise AnsibleFilterError(
            f"{name} varies link_mbit, and only virtual labs set their links; sweep "
            "it on one, or set the switch and sweep a profile for each rate."
        )
    named = [one for one in NETEM if any(trial.node.get(one) for trial in plan.all_trials)]
    if named:
        raise AnsibleFilterError(
            f"{name} asks for {' and '.join(named)}, and only virtual labs delay and lose packets; "
            "sweep it on one, or remove that from the study."
        )


def _step(
    run: Mapping[str, str], groups: Sequence[Group], place: int, is_attached: bool
) -> dict[str, Any]:
    """Return one group of a run; what it sets as the one before it is set already."""
    group, before = groups[place], groups[place - 1].setting if place else None
    changed = varied([before, group.setting]) if before is not None else set()
    is_last = place == len(groups) - 1
    more = {"group": list(group.trials), "looks": [group.look], "goes_on": not is_last}
    return {
        "node": dict(group.setting),
        "runs": [{**run, **more}],
        "is_attached": is_attached,
        "is_first": before is None,
        "is_last": is_last,
        "sets_link": before is None or bool(changed & {"link_mbit", *NETEM}),
        "sets_kernel": before is None or any(name.startswith(SYSCTL) for name in changed),
        "sets_roles": _roles(changed),
    }


def _jdks(run: Run) -> list[int]:
    asked = (held.get(JDK) for trial in run.all_trials for held in (trial.node, trial.constants))
    return sorted({release for release in asked if isinstance(release, int)})


def _roles(changed: Collection[str]) -> list[str]:
    """Return the roles whose services these settings change, in the order of their restarts.

    A broker comes before what connects to it.
    """
    own = {
        "openmq": {"broker_heap_mb", "synced", f"{OPTIONS}.broker"},
        "tomcat": {"tomcat_heap_mb", "tomcat_threads", f"{OPTIONS}.tomcat"},
        "worker_programs": {"worker_heap_mb", f"{OPTIONS}.workers"},
    }
    heaps = worker_heaps(dict.fromkeys(changed, 0))
    own["worker_programs"] |= {f"{name.replace('-', '_')}{HEAP}" for name in heaps}
    return [role for role, names in own.items() if {*names, *_OF_ALL} & set(changed)]


def steps(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is done in turn for settings: each with the `tasks` that are included for it.

    Between two groups of a run only what the second one changes is done: a task that has nothing to
    do costs as long as one that has. `role` is the one whose services are set.
    """
    return [{**setting, **step} for setting in settings for step in _steps(setting)]


def _steps(setting: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    if setting["is_first"]:
        yield {"tasks": "setting"}
    elif not (setting["sets_kernel"] or setting["sets_roles"]):
        yield {"tasks": "change"}
    else:
        yield {"tasks": "begin_setting"}
        if setting["sets_kernel"]:
            yield {"tasks": "set_kernel"}
        yield from ({"tasks": "set_service", "role": role} for role in setting["sets_roles"])
        yield {"tasks": "end_change"}
    if setting["is_last"]:
        yield {"tasks": "end_setting"}


def in_force(taken: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what each node was read to have of a setting that is no service's, for trial.json."""
    found = {}
    for name, answer in taken.items():
        read = answer["fingerprint"]
        known = {f"{SYSCTL}{key}": value for key, value in read.get("sysctls", {}).items()}
        known[GOVERNOR] = read.get(GOVERNOR)
        rate = read.get("link_shaped_mbit")
        if rate is not None:
            known["link_mbit"] = _number(rate)
        if "link_device" in read or rate is not None:
            known |= {name: _number(read.get(name) or 0) for name in NETEM}
        told = {key: known.get(key) for key in sorted(node)}
        found[f"node on {name}"] = {key: held for key, held in told.items() if held is not None}
    return {name: held for name, held in found.items() if held}


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def netem(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which delays and losses of packets these settings ask for, by their names."""
    return [name for name in NETEM if any(one["node"].get(name) for one in settings)]


def asked(node: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """Return the settings whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): str(value)
        for name, value in node.items()
        if name.startswith(prefix)
    }


def put_off(runs: Sequence[Mapping[str, str]], root: str) -> list[str]:
    """Return why trials are deferred, a text for each run with such; named if there are several."""
    reasons = {}
    for run in runs:
        with suppress(OSError, ValueError):
            file = Path(root) / "results" / run["run"] / "state.json"
            if (state := RunnerState.parse(file.read_bytes())).put_off:
                reasons[run["run"]] = state.reason
    if len(runs) == 1:
        return list(reasons.values())
    return [f"{run}: {reason}" for run, reason in reasons.items()]


def open_ones(results: str, look: int = 0, group: Sequence[str] = ()) -> list[str]:
    """Return the trials of a group, or all, to run now, up to a look.

    Takes the decision of a look that is due.
    """
    return open_trials(Path(results), int(look), frozenset(group))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "sweep_looks": lambda results: analyses_of(Path(results)),
            "sweep_open": open_ones,
            "sweep_settings": settings,
            "sweep_understood": understood,
            "sweep_steps": steps,
            "sweep_netem": netem,
            "sweep_in_force": in_force,
            "sweep_asked": asked,
            "sweep_put_off": put_off,
            "sweep_worker_heaps": worker_heaps,
        }
