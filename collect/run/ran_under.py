"""The settings that trials ran under, as they were read, next to those that the plan asks for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from collect.run.plan import PlannedTrial
from collect.run.setting import (
    COLLECTORS,
    HEAP,
    JDK,
    NETEM,
    OF_NODES,
    OPTIONS,
    PROGRAMS,
    Setting,
    release_of,
    setting_key,
    setting_of,
    varied,
)
from collect.run.trials import Trial
from collect.run.verify import Finding

_OURS = (*PROGRAMS, "tomcat", "broker")
"""Services that take every setting of their kind; further roles declare what theirs take."""
_SYNC = "-Dimq.persist.file.sync.enabled="
Read = Mapping[str, Mapping[str, str]]
Served = Mapping[str, Collection[str]]
"""The names of the settings that further servers take, by service."""
_NONE: Served = {}


def find(
    plan: Sequence[PlannedTrial], trials: Sequence[Trial], served: Served = _NONE
) -> Iterator[Finding]:
    """Find trials that ran under other settings of the nodes than planned, or unknown ones.

    Trials of the same settings are compared with each other in what no setting asks for.
    """
    of_plan = {planned.id: planned for planned in plan}
    several = varied([setting_of(planned) for planned in plan])
    unnamed, differing = _of_unnamed_services(plan), _differing(plan, trials, served)
    for trial in trials:
        planned, found = of_plan[trial.id], differing[trial.id]
        if planned.constants.get("observe") != "none":
            found += _unread(setting_of(planned), trial, several)
            found += unnamed
        if found:
            yield Finding(
                "settings",
                trial.id,
                f"{trial.id}: {'; '.join(found)}; set it aside and sweep again",
            )


def ran_otherwise(
    plan: Sequence[PlannedTrial], trials: Sequence[Trial], served: Served = _NONE
) -> dict[str, str]:
    """Return in words what differed from the plan, by the id of each trial that ran otherwise.

    What differed from earlier trials of the same settings is named as well. Settings that were not
    read are no difference.
    """
    differing = _differing(plan, trials, served)
    return {name: "; ".join(texts) for name, texts in differing.items() if texts}


def _differing(
    plan: Sequence[PlannedTrial], trials: Sequence[Trial], served: Served
) -> dict[str, list[str]]:
    """Return which settings differed from the plan or from earlier trials, by the trial's id."""
    of_plan = {planned.id: planned for planned in plan}
    of_any = _options_of_any(plan)
    found = {trial.id: _otherwise(of_plan[trial.id], trial, of_any, served) for trial in trials}
    first: dict[tuple[str, str, str], str] = {}
    for trial in sorted(trials, key=lambda trial: trial.started_at):
        if not found[trial.id]:
            key = setting_key(setting_of(of_plan[trial.id]))
            found[trial.id] = list(_changed(key, trial, first))
    return found


def _changed(key: str, trial: Trial, first: dict[tuple[str, str, str], str]) -> Iterator[str]:
    """Yield what a service ran with otherwise than in the first trial of the same settings.

    No setting of the plan need ask for it: the inventory may have changed during the run. `first`
    has what earlier trials ran with, by the key of the settings, the place and the name.
    """
    for where, told in trial.ran_with.items():
        for name in ("options", "maxThreads"):
            held = told.get(name, "")
            before = first.setdefault((key, where, name), held) if held else held
            if held != before:
                yield (
                    f"{where} had {name} {held}, but {before} in an earlier trial of the same "
                    "settings"
                )


def _options_of_any(plan: Sequence[PlannedTrial]) -> set[tuple[str, str]]:
    """Return each option of JVMs that any trial asks for, with the name of its setting."""
    settings = [setting_of(planned) for planned in plan]
    return {
        (name, option)
        for setting in settings
        for name, options in setting.items()
        if name.startswith(f"{OPTIONS}.")
        for option in str(options).split()
    }


def _otherwise(
    planned: PlannedTrial, trial: Trial, of_any: Collection[tuple[str, str]], served: Served
) -> list[str]:
    """Return which settings of a trial were read otherwise than planned."""
    return [
        *differences(setting_of(planned), trial.ran_with, of_any, served),
        *_of_client(planned.constants, trial),
    ]


def differences(
    setting: Mapping[str, Setting],
    read: Read,
    of_any: Collection[tuple[str, str]] = (),
    served: Served = _NONE,
) -> Iterator[str]:
    """Yield what was read otherwise than asked, as `tomcat on worker1 had -Xmx64m, not …`.

    `of_any` are the options of JVMs that any trial asks for, each with the name of its setting.
    """
    for where, told in read.items():
        service = where.partition(" on ")[0]
        if service == "node":
            names = [name for name in setting if name.startswith(OF_NODES)]
            wanted = {name: str(setting[name]) for name in names}
        else:
            yield from _of_options(where, told.get("options", "").split(), setting, of_any, served)
            wanted = {"maxThreads": str(setting.get("tomcat_threads", told.get("maxThreads")))}
            own = _own_heap(service)
            if _takes(service, JDK, served):
                yield from _of_jdk(where, told, setting)
            heap = setting.get(own, setting.get("worker_heap_mb"))
            if heap and service not in _OURS:
                wanted[own] = str(heap)
        for name, value in wanted.items():
            held = told.get(name, value)
            if _words(name, held) != _words(name, value):
                yield f"{where} had {name} {held}, not {value}"


def _takes(service: str, name: str, served: Served) -> bool:
    return service in _OURS or name in served.get(service, ())


def _own_heap(service: str) -> str:
    """Return the name of the setting of a service's heap.

    A further server that is no JVM tells its value by that name.
    """
    return f"{service.replace('-', '_')}{HEAP}"


def _words(name: str, text: str) -> list[str]:
    """Return a value as what tells it apart: tc prints some digits of an amount alone."""
    with suppress(ValueError):
        if name in NETEM:
            return [f"{float(text):.4g}"]
    return text.split()


def _of_jdk(where: str, told: Mapping[str, str], setting: Mapping[str, Setting]) -> Iterator[str]:
    """Yield of which other JDK a JVM was."""
    if JDK not in setting or not told.get("options"):
        return
    held = told.get(JDK, "")
    if held and release_of(held) != str(setting[JDK]):
        yield f"{where} had JDK {held}, not {setting[JDK]}"


def _of_client(constants: Mapping[str, Setting], trial: Trial) -> Iterator[str]:
    """Yield what the client's JVM had otherwise; a client that is a program has none."""
    if not trial.jvm:
        return
    release, held = constants.get(JDK), trial.jvm.get("version", "")
    if release is not None and release_of(held) != str(release):
        yield f"the client had JDK {held}, not {release}"
    told = trial.jvm.get("options")
    if not isinstance(told, list) or not told:
        return
    wanted = [COLLECTORS.get(str(constants.get("collector")), "")]
    if heap := constants.get("client_heap_mb"):
        wanted.append(f"-Xmx{heap}m")
    if isinstance(options := constants.get("jvm_options"), list):
        wanted += map(str, options)
    # The launcher keeps other options for itself.
    missing = [one for one in wanted if one.startswith("-X") and one not in told]
    if missing:
        yield f"the client had {' '.join(map(str, told))}, without {' '.join(missing)}"


def _of_options(
    where: str,
    options: Sequence[str],
    setting: Mapping[str, Setting],
    of_any: Collection[tuple[str, str]],
    served: Served,
) -> Iterator[str]:
    """Yield what the options of a JVM lack, or have of other trials, if it told any."""
    service = where.partition(" on ")[0]
    if not options or service == "connection factory":
        return
    wanted, others = [], []
    kind = service if service in ("tomcat", "broker") else "worker"
    of_kind = setting.get(f"{kind}{HEAP}") if _takes(service, f"{kind}{HEAP}", served) else None
    heap = setting.get(_own_heap(service), of_kind)
    if heap is not None:
        wanted.append(f"-Xmx{heap}m")
    collector = COLLECTORS.get(str(setting.get("collector")))
    if collector and _takes(service, "collector", served):
        wanted.append(collector)
    if _takes(service, OPTIONS, served):
        more = f"{OPTIONS}.{'workers' if kind == 'worker' else kind}"
        wanted += str(setting.get(more, "")).split()
        others = [one for one in options if (more, one) in of_any and one not in wanted]
    if any(option.startswith(_SYNC) for option in options):
        wanted.append(f"{_SYNC}{'true' if setting.get('synced') else 'false'}")
    missing = [option for option in wanted if option not in options]
    if missing:
        yield f"{where} had {' '.join(options)}, without {' '.join(missing)}"
    elif others:
        yield f"{where} had {' '.join(others)}, which other trials ask for"


def _unread(setting: Mapping[str, Setting], trial: Trial, several: Collection[str]) -> list[str]:
    """Return which settings of nodes that vary in the run were not read for a trial."""
    read = {
        name
        for where, told in trial.ran_with.items()
        if where.startswith("node on ")
        for name in told
    }
    varied_here = sorted(name for name in several & setting.keys() if name.startswith(OF_NODES))
    lacking = [name for name in varied_here if name not in read]
    if any(not name.startswith(OF_NODES) for name in several):
        lacking += [
            f"the options of {where}"
            for where in trial.services
            if where.partition(" on ")[0] in _OURS
            and not trial.ran_with.get(where, {}).get("options")
        ]
    if "tomcat_threads" in several:
        lacking += [
            f"maxThreads of {where}"
            for where in trial.services
            if where.startswith("tomcat on ")
            and not trial.ran_with.get(where, {}).get("maxThreads")
        ]
    lacking += [
        f"{own} of {where}"
        for where in trial.services
        if (service := where.partition(" on ")[0]) not in _OURS
        and (own := _own_heap(service)) in several
        and not any(trial.ran_with.get(where, {}).get(name) for name in ("options", own))
    ]
    if JDK in setting:
        lacking += [
            f"the JDK of {where}"
            for where, told in trial.ran_with.items()
            if where.partition(" on ")[0] in _OURS and told.get("options") and not told.get(JDK)
        ]
    return [f"does not record {name}" for name in lacking]


def _of_unnamed_services(plan: Sequence[PlannedTrial]) -> list[str]:
    """Return that no trial can record the settings of services, which its study varies.

    A runner reads those of the services that a trial needs. What constants ask of a collector may
    be meant for the client alone.
    """
    vary = any(not name.startswith(OF_NODES) for name in varied([one.node for one in plan]))
    if not vary or any(planned.needs for planned in plan):
        return []
    return ["does not record the settings of any service; name those that it calls in needs"]
