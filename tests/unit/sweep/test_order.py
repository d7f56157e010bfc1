"""Which runs of a sweep go together, and what is said of them."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from made_up_studies import changed

from collect.errors import InputError
from collect.run.plan import make_plan, read_plan, write_plan
from collect.run.setting import asked, heaps_of_programs, setting_of, worker_heaps
from collect.run.study import find_study, load_study, parse_study
from collect.sweep.in_force import in_force
from collect.sweep.interim import open_trials
from collect.sweep.names import runs_of
from collect.sweep.order import jvms_of, netem_of, settings_of, steps_of, understood
from collect.sweep.state import put_off

ROOT = Path(__file__).parents[3]

DEMO = ("sort", "overhead", "attachments", "mtom", "binding", "harness")


@pytest.fixture
def runs(tmp_path):
    found = []
    for study in DEMO:
        plan = make_plan(load_study(find_study(study)).profile("demo", 5))
        write_plan(tmp_path / "results" / f"demo-{study}" / "plan.jsonl", plan)
        found.append({"study": study, "run": f"demo-{study}"})
    return found


def names(settings):
    return [[run["study"] for run in setting["runs"]] for setting in settings]


def test_each_setting_comes_once_and_a_demo_restarts_no_service(runs, tmp_path):
    settings = settings_of(runs, str(tmp_path))
    assert names(settings) == [["sort", "overhead"], ["attachments", "mtom", "binding", "harness"]]
    assert [s["node"]["tomcat_heap_mb"] for s in settings] == [192, 192]
    assert {s["node"]["collector"] for s in settings} == {"parallel"}
    assert not any(setting["is_attached"] for setting in settings)


def test_a_jvm_is_tried_with_the_inventorys_collector_unless_the_study_names_one():
    options = {"server_jvm_options.tomcat": "-XX:+UseZGC"}
    found = jvms_of([{"node": options}, {"node": {**options, "collector": "g1"}}], "parallel")
    assert [jvm["options"] for jvm in found] == [
        ["-XX:+UseParallelGC", "-XX:+UseZGC"],
        ["-XX:+UseG1GC", "-XX:+UseZGC"],
    ]


def test_it_is_known_which_run_has_a_client_that_is_a_program(runs, tmp_path):
    settings = settings_of(runs, str(tmp_path), programs=("wrk", "overhead-tcp"))
    found = {run["study"]: run["has_program"] for one in settings for run in one["runs"]}
    assert found == {study: study == "overhead" for study in DEMO}


@pytest.mark.parametrize("attached", DEMO)
def test_what_the_runner_is_at_comes_first(runs, tmp_path, attached):
    settings = settings_of(runs, str(tmp_path), f"demo-{attached}")
    assert names(settings)[0][0] == attached
    assert [setting["is_attached"] for setting in settings] == [True, False]
    assert sorted(name for group in names(settings) for name in group) == sorted(DEMO)


def test_services_are_restarted_as_seldom_as_can_be(tmp_path):
    found = []
    for name, heap, link in (("a", 64, 100), ("b", 32, 10), ("c", 64, 10), ("d", 32, 100)):
        node = {"tomcat_heap_mb": heap, "link_mbit": link}
        plan = make_plan(parse_study(changed(node=node), "x").profile("demo", 5))
        write_plan(tmp_path / "results" / name / "plan.jsonl", plan)
        found.append({"study": "sort", "run": name})
    settings = settings_of(found, str(tmp_path))
    heaps = [setting["node"]["tomcat_heap_mb"] for setting in settings]
    assert heaps == [64, 64, 32, 32]


@pytest.fixture
def mixed(tmp_path):
    factors = {"transport": ["soap", "jms"], "servers": [1], "integers": [500], "rate": [10, 100]}
    study = parse_study(changed(factors=factors, node={"link_mbit": "rate"}), "x")
    plan = make_plan(study.profile("paper", 5))
    write_plan(tmp_path / "results" / "mixed" / "plan.jsonl", plan)
    return {"study": "sort", "run": "mixed"}


def seal(tmp_path, names):
    for name in names:
        (tmp_path / "results/mixed/trials" / name).mkdir(parents=True)


def test_a_run_of_several_settings_is_given_group_by_group(mixed, tmp_path):
    plan = read_plan(tmp_path / "results/mixed/plan.jsonl")
    steps = settings_of([mixed], str(tmp_path))
    assert [name for step in steps for name in step["runs"][0]["group"]] == [t.id for t in plan]
    asked = {trial.id: setting_of(trial) for trial in plan}
    for step in steps:
        assert all(asked[name] == step["node"] for name in step["runs"][0]["group"])
    # Neighbours in two blocks may be one group, so that nodes change at each step.
    rates = [step["node"]["link_mbit"] for step in steps]
    assert all(one != other for one, other in pairwise(rates))
    assert all(step["sets_link"] for step in steps)
    assert [step["is_first"] for step in steps] == [True] + [False] * (len(steps) - 1)
    assert [step["is_last"] for step in steps] == [False] * (len(steps) - 1) + [True]
    assert [step["runs"][0]["goes_on"] for step in steps][-2:] == [True, False]
    assert not any(step["is_attached"] or step["sets_kernel"] for step in steps[1:])


def test_a_run_that_has_not_begun_is_read_from_its_draft(mixed, tmp_path):
    every = settings_of([mixed], str(tmp_path))
    drafts = tmp_path / "results/.planned"
    drafts.mkdir()
    (tmp_path / "results/mixed").rename(drafts / "mixed")
    assert settings_of([mixed], str(tmp_path), drafts=str(drafts)) == every


def test_groups_that_are_sealed_are_not_set_again(mixed, tmp_path):
    every = settings_of([mixed], str(tmp_path))
    seal(tmp_path, every[0]["runs"][0]["group"])
    left = settings_of([mixed], str(tmp_path))
    assert [step["runs"][0]["group"] for step in left] == [
        step["runs"][0]["group"] for step in every[1:]
    ]
    assert left[0]["is_first"]
    results = tmp_path / "results/mixed"
    group = left[0]["runs"][0]["group"]
    assert open_trials(results, 0, group) == group
    assert open_trials(results, 0, every[0]["runs"][0]["group"]) == []


def test_the_group_that_the_runner_is_at_comes_first_and_alone_is_attached(mixed, runs, tmp_path):
    every = settings_of([mixed], str(tmp_path))
    given = every[2]["runs"][0]["group"]
    steps = settings_of([*runs, mixed], str(tmp_path), "mixed", given)
    assert steps[0]["runs"][0]["group"] == given
    assert [step["is_attached"] for step in steps] == [True] + [False] * (len(steps) - 1)
    assert names(steps)[-2:] == names(settings_of(runs, str(tmp_path)))


def test_a_run_whose_trials_are_all_sealed_still_looks_at_the_nodes_once(mixed, tmp_path):
    every = settings_of([mixed], str(tmp_path))
    seal(tmp_path, [name for step in every for name in step["runs"][0]["group"]])
    (step,) = settings_of([mixed], str(tmp_path))
    assert step["is_first"]
    assert step["is_last"]


def test_a_link_that_varies_is_refused_where_nobody_sets_it(mixed, tmp_path):
    with pytest.raises(InputError, match="mixed varies link_mbit, and only virtual labs"):
        settings_of([mixed], str(tmp_path), sets_links=False)


def test_a_setting_that_no_service_takes_is_refused(mixed, runs, tmp_path):
    services = {"broker": {"settings": ["broker_heap_mb", "collector"]}}
    lab = {"endpoints": {"rack03": {"services": services}}}
    asked = settings_of([mixed], str(tmp_path))
    assert understood(asked, lab) is asked
    with pytest.raises(InputError, match="demo-sort, demo-overhead: no service"):
        understood(settings_of(runs, str(tmp_path)), lab)


def planned(tmp_path, name="mixed", factors=None, **changes):
    base = {"transport": ["soap"], "servers": [1], "integers": [500]}
    needs = ["tomcat", "broker", "matrix-worker"]
    text = changed(factors={**base, **(factors or {})}, needs=needs, **changes)
    plan = make_plan(parse_study(text, "x").profile("paper", 5))
    write_plan(tmp_path / "results" / name / "plan.jsonl", plan)
    return {"study": "sort", "run": name}


def done(run, tmp_path):
    """What is done in turn for a run, with the roles whose services are set."""
    steps = steps_of(settings_of([run], str(tmp_path)))
    return [" ".join(filter(None, (step["tasks"], step.get("role")))) for step in steps]


@pytest.mark.parametrize(
    ("levels", "node", "between"),
    [
        ([10, 100], {"link_mbit": "it"}, ["change"]),
        ([0, 2.5], {"link_delay_ms": "it"}, ["change"]),
        ([8, 64], {"tomcat_threads": "it"}, ["set_service tomcat"]),
        ([64, 128], {"broker_heap_mb": "it"}, ["set_service openmq"]),
        ([64, 128], {"matrix_worker_heap_mb": "it"}, ["set_service worker_programs"]),
        (["-Xss1m", "-Xint"], {"server_jvm_options": {"workers": "it"}},
         ["set_service worker_programs"]),
        (["serial", "g1"], {"collector": "it"},
         [f"set_service {role}" for role in ("openmq", "tomcat", "worker_programs")]),
        ([21, 25], {"jdk": "it"},
         [f"set_service {role}" for role in ("openmq", "tomcat", "worker_programs")]),
        (["performance", "powersave"], {"governor": "it"}, ["change"]),
        ([64, 128], {"sysctl.net.core.somaxconn": "it"}, ["set_kernel"]),
        ([64, 128], {"tomcat_heap_mb": "it", "sysctl.net.core.somaxconn": "it"},
         ["set_kernel", "set_service tomcat"]),
    ],
)  # fmt: skip
def test_between_groups_only_what_differs_is_set(tmp_path, levels, node, between):
    run = planned(tmp_path, factors={"it": levels}, node=node, replicates=2)
    first, *change = done(run, tmp_path)
    assert first == "setting"
    assert change.pop() == "end_setting"
    if between != ["change"]:
        between = ["begin_setting", *between, "end_change"]
    assert change == between * (len(change) // len(between)) != []


def test_a_role_that_an_inventory_adds_is_run_where_a_setting_of_its_services_differs(tmp_path):
    factors, node = {"it": [64, 128]}, {"parrot_heap_mb": "it"}
    text = changed(factors={"transport": ["soap"], "servers": [1], "integers": [500], **factors},
                   node=node, needs=["tomcat", "parrot"], replicates=2)  # fmt: skip
    plan = make_plan(parse_study(text, "x").profile("paper", 5))
    write_plan(tmp_path / "results/mixed/plan.jsonl", plan)
    run = {"study": "sort", "run": "mixed"}
    for declared, role in (("worker_heap_mb", "parrots"), ("jdk", "worker_programs")):
        servers = {"parrots": {"parrot": [declared]}}
        steps = settings_of([run], str(tmp_path), servers=servers)
        assert {one for step in steps for one in step["sets_roles"]} == {role}


def test_each_step_is_one_that_there_is(mixed, tmp_path):
    factors = {"it": [64, 128]}
    node = {"tomcat_heap_mb": "it", "sysctl.net.core.somaxconn": "it"}
    other = planned(tmp_path, "other", factors, node=node)
    for step in steps_of(settings_of([mixed, other], str(tmp_path))):
        assert (ROOT / f"playbooks/tasks/{step['tasks']}.yml").is_file()
        assert "role" not in step or (ROOT / f"roles/{step['role']}/tasks/set.yml").is_file()


def test_runs_of_one_setting_are_looked_at_before_and_after(runs, tmp_path):
    settings = settings_of(runs, str(tmp_path))
    assert [step["tasks"] for step in steps_of(settings)] == ["setting", "end_setting"] * 2


@pytest.mark.parametrize("levels", [[0, 10], [10]])
def test_what_delays_packets_is_refused_where_nobody_sets_links(tmp_path, levels):
    run = planned(tmp_path, factors={"it": levels}, node={"link_delay_ms": "it", "link_loss": 0})
    says = "mixed asks for link_delay_ms, and only virtual labs delay and lose packets; sweep it"
    with pytest.raises(InputError, match=says):
        settings_of([run], str(tmp_path), sets_links=False)
    assert netem_of(settings_of([run], str(tmp_path))) == ["link_delay_ms"]


def test_links_without_delay_and_loss_need_nothing_of_the_kernel(tmp_path):
    run = planned(tmp_path, node={"link_delay_ms": 0, "link_loss": 0})
    settings = settings_of([run], str(tmp_path), sets_links=False)
    assert netem_of(settings) == []


def test_a_link_that_netem_leaves_alone_was_read_to_do_nothing():
    node = {"link_delay_ms": 10, "link_loss": 0}
    taken = {
        "rack03": {"fingerprint": {"link_device": "host0", "link_delay_ms": 9.5}},
        "rack04": {"fingerprint": {"link_device": "host0"}},
    }
    assert in_force(taken, node) == {
        "node on rack03": {"link_delay_ms": 9.5, "link_loss": 0},
        "node on rack04": {"link_delay_ms": 0, "link_loss": 0},
    }


def test_no_group_goes_beyond_an_interim_analysis(tmp_path):
    factors = {"transport": ["soap"], "servers": [1], "integers": [500], "rate": [10, 100]}
    stop = {"half_width": 0.1, "looks": [2, 3]}
    text = changed(factors=factors, node={"link_mbit": "rate"}, stop=stop, replicates=3)
    plan = make_plan(parse_study(text, "x").profile("paper", 5))
    write_plan(tmp_path / "results" / "mixed" / "plan.jsonl", plan)
    steps = settings_of([{"study": "sort", "run": "mixed"}], str(tmp_path))
    blocks = {trial.id: trial.block for trial in plan}
    for step in steps:
        (run,) = step["runs"]
        assert {2 if blocks[name] <= 2 else 3 for name in run["group"]} == set(run["looks"])
    # What comes after an analysis waits for all trials before it.
    results = tmp_path / "results/mixed"
    assert open_trials(results, 3, steps[-1]["runs"][0]["group"]) == []


def test_a_group_that_outlasts_a_stop_sets_what_any_skipped_group_would_have_set(tmp_path):
    """Profiled trials run after the stop, and the groups between were never set."""
    factors = {"rate": [10, 100], "heap": [64, 128]}
    node = {"link_mbit": "rate", "tomcat_heap_mb": "heap"}
    stop = {"half_width": 0.1, "looks": [2, 3]}
    run = planned(tmp_path, factors=factors, node=node, stop=stop, replicates=3, profile_forks=1)
    plan = read_plan(tmp_path / "results/mixed/plan.jsonl")
    counts = {trial.id: trial.counts for trial in plan}
    steps = settings_of([run], str(tmp_path))
    last = [step for step in steps if not all(counts[name] for name in step["runs"][0]["group"])]
    assert last
    assert all(step["sets_link"] and "tomcat" in step["sets_roles"] for step in last)


def test_what_was_read_of_a_node_is_told_for_what_was_asked():
    read = {"link_shaped_mbit": 10.0, "sysctls": {"vm.swappiness": "10", "vm.dirty_ratio": "20"}}
    taken = {"rack03": {"fingerprint": read}, "rack04": {"fingerprint": {}}}
    node = {"link_mbit": 100, "sysctl.vm.swappiness": 10, "tomcat_heap_mb": 64}
    assert in_force(taken, node) == {
        "node on rack03": {"link_mbit": 10, "sysctl.vm.swappiness": "10"}
    }
    assert asked(node, "sysctl.") == {"vm.swappiness": "10"}


def test_the_governor_that_was_read_is_told():
    taken = {"rack03": {"fingerprint": {"governor": "powersave"}}, "rack04": {"fingerprint": {}}}
    assert in_force(taken, {"governor": "performance"}) == {
        "node on rack03": {"governor": "powersave"}
    }


def test_the_jdks_that_services_and_clients_are_asked_for_are_told_with_each_setting(tmp_path):
    factors = {"transport": ["soap"], "servers": [1], "integers": [500], "jdk": [21, 25]}
    asked = {
        "of-services": {"factors": factors, "node": {"jdk": "jdk"}},
        "of-clients": {"factors": factors, "constants": {"client_heap_mb": 8, "jdk": "jdk"}},
        "of-both": {"node": {"jdk": 21}, "constants": {"client_heap_mb": 8, "jdk": 25}},
        "of-none": {},
    }
    for name, changes in asked.items():
        plan = make_plan(parse_study(changed(**changes), "x").profile("paper", 5))
        write_plan(tmp_path / "results" / name / "plan.jsonl", plan)
    found = {
        name: [
            (step["jdks"], step["node"].get("jdk"))
            for step in settings_of([{"study": "sort", "run": name}], str(tmp_path))
        ]
        for name in asked
    }
    assert {jdks == [21, 25] for jdks, _ in found["of-services"]} == {True}
    assert {jdk for _, jdk in found["of-services"]} == {21, 25}
    assert found["of-clients"] == [([21, 25], None)]
    assert found["of-both"] == [([21, 25], 21)]
    assert found["of-none"] == [([], None)]


def test_messages_that_are_synced_to_the_disk_ask_for_a_setting_of_the_broker(tmp_path):
    asked = {}
    for word in ("none", "written", "synced"):
        study = parse_study(changed(constants={"client_heap_mb": 8, "persistence": word}), "x")
        plan = make_plan(study.profile("demo", 5))
        write_plan(tmp_path / "results" / word / "plan.jsonl", plan)
        (setting,) = settings_of([{"study": "sort", "run": word}], str(tmp_path))
        asked[word] = setting["node"].get("synced", False)
    assert asked == {"none": False, "written": False, "synced": True}


def test_a_heap_of_one_worker_program_is_told_from_that_of_all():
    node = {"tomcat_heap_mb": 1, "worker_heap_mb": 2, "broker_heap_mb": 3, "link_mbit": 4}
    assert worker_heaps(node) == {}
    assert worker_heaps({**node, "matrix_worker_heap_mb": 5}) == {"matrix-worker": 5}


def test_a_studys_heap_of_all_programs_comes_before_the_inventorys_of_a_single_one():
    of_study = heaps_of_programs(
        {"worker_heap_mb": 64, "matrix_worker_heap_mb": 128, "tomcat_heap_mb": 1}
    )
    assert {"sort-worker": 300, "parrot": 9, **of_study} == {
        **{"sort-worker": 64, "matrix-worker": 128, "hello-listener": 64, "tcp-server": 64},
        "parrot": 9,
    }
    assert heaps_of_programs({"matrix_worker_heap_mb": 5}) == {"matrix-worker": 5}


def test_a_studys_heap_of_all_programs_is_also_that_of_a_further_server_that_declares_it():
    servers = {"birds": {"parrot": ["worker_heap_mb"], "gull": ["jdk"]}}
    found = heaps_of_programs({"worker_heap_mb": 64}, servers)
    assert found["parrot"] == found["sort-worker"] == 64
    assert "gull" not in found
    assert heaps_of_programs({"worker_heap_mb": 64, "parrot_heap_mb": 32}, servers)["parrot"] == 32
    assert heaps_of_programs({"tomcat_heap_mb": 64}, servers) == {}


def test_what_is_put_off_is_told_with_the_run_if_there_are_several(runs, tmp_path):
    waiting = [{"id": "a", "reason": "worker3 is away"}]
    state = {"state": "finished", "put_off": waiting, "reason": "worker3 is away"}
    (tmp_path / "results/demo-mtom/state.json").write_text(json.dumps(state))
    (tmp_path / "results/demo-sort/state.json").write_text('{"put_off": []}')
    assert put_off(runs, str(tmp_path)) == ["demo-mtom: worker3 is away"]
    assert put_off(runs[3:4], str(tmp_path)) == ["worker3 is away"]
    assert put_off(runs[:3], str(tmp_path)) == []


@pytest.mark.parametrize(
    ("studies", "name", "runs"),
    [
        ("sort", "", {"sort-demo": "sort"}),
        ("sort", "monday", {"monday": "sort"}),
        (" sort, mtom,,sort", "", {"sort-demo": "sort", "mtom-demo": "mtom"}),
        ("mtom,sort", "monday", {"monday-mtom": "mtom", "monday-sort": "sort"}),
        ("teaching/delivery", "", {"delivery-demo": "teaching/delivery"}),
        (" , ", "monday", {}),
    ],
)
def test_runs_are_called_by_the_name_that_was_given_or_by_study_and_profile(studies, name, runs):
    found = runs_of(studies, "demo", name)
    assert found == [{"study": study, "run": run} for run, study in runs.items()]
