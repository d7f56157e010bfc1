"""The runs of a sweep, ordered by what they ask of the nodes, and what is done for each of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.run.directory import Run, open_run
from collect.run.setting import (
    COLLECTORS,
    HEAP,
    JDK,
    NETEM,
    OF_ALL,
    OF_KINDS,
    OPTIONS,
    SYSCTL,
    asked,
    not_understood,
    setting_key,
    setting_of,
    taken_by,
    varied,
    worker_heaps,
)
from collect.sweep.groups import Group, groups_to_run

# What restarts services, then a link, which is one command.
_DEAREST_FIRST = (JDK, "collector", "synced", "tomcat_heap_mb", "broker_heap_mb", "link_mbit")
Served = Mapping[str, Collection[str]]
"""The names of the settings that each service of a role declares."""
_KINDS = {"openmq": "broker", "tomcat": "tomcat", "worker_programs": "workers"}
"""The kind of services of each of rackbench's own roles, in the order of their restarts."""
_WHOLE = {
    **dict.fromkeys(("is_first", "is_last", "sets_link", "sets_kernel"), True),
    "sets_roles": [],
}


def settings_of(  # noqa: PLR0913 - named where it is called
    runs: Sequence[Mapping[str, str]],
    root: str | Path,
    attached: str = "",
    given: Sequence[str] = (),
    *,
    drafts: str | Path = "",
    sets_links: bool = True,
    servers: Mapping[str, Served] | None = None,
    programs: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the settings of the nodes in turn, each with the runs that ask for it.

    The runs are below `results` of `root`, and the plan of one that has not begun is below
    `drafts`, in a directory of its name. `attached` is the run that the runner is at now, with the
    trials `given`: its setting comes first, and its `is_attached` is true. Else runs keep their
    order, so far as nodes are set as seldom as can be. A run whose trials ask for several settings
    comes after the others, with a setting for each group of its open trials (`group`, with the
    interim analysis `looks` after it, and `goes_on` unless it is the last one); before the first
    and after the last group nodes are compared as a whole (`is_first`, `is_last`). `jdks` are those
    that its runs ask for, for services or for clients. Without `sets_links` nobody sets links.
    `servers` are the settings that the services of further roles declare, by role and service.
    A run `has_program` if one of its clients is among `programs`. Raises InputError.
    """
    alike: dict[str, dict[str, Any]] = {}
    mixed: list[dict[str, Any]] = []
    for run in sorted(runs, key=lambda run: run["run"] != attached):
        at_work = run["run"] == attached
        plan = open_run(str(_place(run["run"], Path(root) / "results", drafts)))
        if not sets_links:
            _demand_no_links(run["run"], plan)
        asking = {**run, "has_program": any(one.client in programs for one in plan.all_trials)}
        if plan.varied:
            groups = groups_to_run(plan, given if at_work else ())
            for place in range(len(groups)):
                step = _step(asking, groups, place, at_work and not place, servers or {})
                mixed.append({**step, "jdks": _jdks(plan)})
            continue
        node = setting_of(plan.all_trials[0])
        setting = alike.setdefault(
            setting_key(node),
            {"node": node, "runs": [], "is_attached": False, "jdks": [], **_WHOLE},
        )
        setting["runs"].append(asking)
        setting["jdks"] = sorted({*setting["jdks"], *_jdks(plan)})
        setting["is_attached"] |= at_work
    ordered = _dearest_first(list(alike.values()))
    is_mixed_first = bool(mixed) and mixed[0]["is_attached"]
    return [*mixed, *ordered] if is_mixed_first else [*ordered, *mixed]


def _dearest_first(settings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return settings so that what is dear to change changes as seldom as can be."""
    seen = {name: [setting["node"].get(name) for setting in settings] for name in _DEAREST_FIRST}

    def rank(setting: Mapping[str, Any]) -> list[int]:
        return [seen[name].index(setting["node"].get(name)) for name in _DEAREST_FIRST]

    return sorted(settings, key=rank)


def _place(name: str, results: Path, drafts: str | Path) -> Path:
    has_begun = (results / name / "plan.jsonl").exists()
    return Path(drafts) / name if drafts and not has_begun else results / name


def _demand_no_links(name: str, plan: Run) -> None:
    """Raise InputError for a run that needs links set."""
    if "link_mbit" in plan.varied:
        raise InputError(
            f"{name} varies link_mbit, and only virtual labs set their links; sweep "
            "it on one, or set the switch and sweep a profile for each rate."
        )
    named = [one for one in NETEM if any(trial.node.get(one) for trial in plan.all_trials)]
    if named:
        raise InputError(
            f"{name} asks for {' and '.join(named)}, and only virtual labs delay and lose packets; "
            "sweep it on one, or remove that from the study."
        )


def _step(
    run: Mapping[str, Any],
    groups: Sequence[Group],
    place: int,
    is_attached: bool,
    servers: Mapping[str, Served],
) -> dict[str, Any]:
    """Return one group of a run; what it sets as the one before it is set already.

    A rule that stops the run skips groups, so one that outlasts it may follow any earlier one.
    """
    group, is_first = groups[place], place == 0
    before = groups[:place] if group.outlasts else groups[max(0, place - 1) : place]
    changed = varied([one.setting for one in [*before, group]])
    is_last = place == len(groups) - 1
    more = {"group": list(group.trials), "looks": [group.look], "goes_on": not is_last}
    return {
        "node": dict(group.setting),
        "runs": [{**run, **more}],
        "is_attached": is_attached,
        "is_first": is_first,
        "is_last": is_last,
        "sets_link": is_first or bool(changed & {"link_mbit", *NETEM}),
        "sets_kernel": is_first or any(name.startswith(SYSCTL) for name in changed),
        "sets_roles": _roles(changed, servers),
    }


def _jdks(run: Run) -> list[int]:
    asked = (held.get(JDK) for trial in run.all_trials for held in (trial.node, trial.constants))
    return sorted({release for release in asked if isinstance(release, int)})


def _roles(changed: Collection[str], servers: Mapping[str, Served]) -> list[str]:
    """Return the roles whose services these settings change, in the order of their restarts.

    A broker comes before what connects to it, and other servers after rackbench's own. The heap of
    a program is that of a worker program unless another server declares it.
    """
    of_servers = {role: taken_by(served) for role, served in servers.items()}
    own = {role: taken_by({kind: (*OF_KINDS[kind], *OF_ALL)}) for role, kind in _KINDS.items()}
    heaps = worker_heaps(dict.fromkeys(changed, 0))
    of_programs = {f"{name.replace('-', '_')}{HEAP}" for name in heaps}
    own["worker_programs"] |= of_programs.difference(*of_servers.values())
    ours = [role for role, names in own.items() if names & set(changed)]
    return ours + [role for role, names in of_servers.items() if names & set(changed)]


def understood(ordered: list[dict[str, Any]], lab: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings as they are, if services of the lab take all that is theirs.

    `lab` is as in lab.json. Raises InputError.
    """
    served: dict[str, set[str]] = {}
    for node in lab["endpoints"].values():
        for name, service in node["services"].items():
            served.setdefault(name, set()).update(service["settings"])
    for setting in ordered:
        if names := not_understood(setting["node"], served):
            named = ", ".join(run["run"] for run in setting["runs"])
            raise InputError(
                f"{named}: no service of this lab takes {', '.join(names)}; remove it from "
                "the study, or declare it under `settings` in the role that serves it."
            )
    return ordered


def netem_of(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which delays and losses of packets these settings ask for, by their names."""
    return [name for name in NETEM if any(one["node"].get(name) for one in settings)]


def jvms_of(
    settings: Sequence[Mapping[str, Any]], declared_collector: str = ""
) -> list[dict[str, Any]]:
    """Return the JVMs that settings ask for with options of a study: `jdk` and all `options`.

    `jdk` is 0 for the JDK of the inventory, whose collector is `declared_collector`. Each is there
    once.
    """
    found: dict[str, dict[str, Any]] = {}
    for node in (setting["node"] for setting in settings):
        collector = COLLECTORS.get(str(node.get("collector", declared_collector)))
        for name, text in node.items():
            if name.startswith(f"{OPTIONS}.") and text:
                options = [*([collector] if collector else []), *str(text).split()]
                jvm = {"jdk": node.get(JDK, 0), "options": options}
                found.setdefault(str(jvm), jvm)
    return list(found.values())


def sysctls_of(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the parameters of the kernel that settings ask for, as `name=value`, each once."""
    nodes = (setting["node"] for setting in settings)
    asked_for = (f"{name}={value}" for node in nodes for name, value in asked(node, SYSCTL).items())
    return list(dict.fromkeys(asked_for))


def steps_of(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
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
