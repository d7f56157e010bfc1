"""Which runs of a sweep go together, and what is said of them."""

import json

import pytest
from ansible.errors import AnsibleFilterError
from loading import load
from made_up_studies import changed

from collect.run.plan import make_plan, write_plan
from collect.run.study import find_study, load_study, parse_study

sweep = load("playbooks/filter_plugins/sweep.py")
PLUGIN = "roles/sweep/filter_plugins/runs.py"
DEMO = ("sort", "overhead", "attachments", "mtom", "binding", "harness")


@pytest.fixture(scope="module")
def plugin():
    return load(PLUGIN)


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


def test_each_setting_comes_once_and_a_demo_restarts_no_service(plugin, runs, tmp_path):
    settings = plugin.settings(runs, str(tmp_path))
    assert names(settings) == [["sort", "overhead"], ["attachments", "mtom", "binding", "harness"]]
    assert [s["node"]["tomcat_heap_mb"] for s in settings] == [192, 192]
    assert {s["node"]["collector"] for s in settings} == {"parallel"}
    assert not any(setting["is_attached"] for setting in settings)


@pytest.mark.parametrize("attached", DEMO)
def test_what_the_runner_is_at_comes_first(plugin, runs, tmp_path, attached):
    settings = plugin.settings(runs, str(tmp_path), f"demo-{attached}")
    assert names(settings)[0][0] == attached
    assert [setting["is_attached"] for setting in settings] == [True, False]
    assert sorted(name for group in names(settings) for name in group) == sorted(DEMO)


def test_services_are_restarted_as_seldom_as_can_be(plugin, tmp_path):
    found = []
    for name, heap, link in (("a", 64, 100), ("b", 32, 10), ("c", 64, 10), ("d", 32, 100)):
        node = {"tomcat_heap_mb": heap, "link_mbit": link}
        plan = make_plan(parse_study(changed(node=node), "x").profile("demo", 5))
        write_plan(tmp_path / "results" / name / "plan.jsonl", plan)
        found.append({"study": "sort", "run": name})
    settings = plugin.settings(found, str(tmp_path))
    heaps = [setting["node"]["tomcat_heap_mb"] for setting in settings]
    assert heaps == [64, 64, 32, 32]


def test_a_run_that_would_change_the_nodes_between_its_trials_is_refused(plugin, tmp_path):
    text = changed(node={"link_mbit": "servers"})
    plan = make_plan(parse_study(text, "x").profile("paper", 5))
    write_plan(tmp_path / "results" / "mixed" / "plan.jsonl", plan)
    with pytest.raises(AnsibleFilterError, match="mixed ask for different node settings"):
        plugin.settings([{"study": "sort", "run": "mixed"}], str(tmp_path))


def test_messages_that_are_synced_to_the_disk_ask_for_a_setting_of_the_broker(plugin, tmp_path):
    asked = {}
    for word in ("none", "written", "synced"):
        study = parse_study(changed(constants={"client_heap_mb": 8, "persistence": word}), "x")
        plan = make_plan(study.profile("demo", 5))
        write_plan(tmp_path / "results" / word / "plan.jsonl", plan)
        (setting,) = plugin.settings([{"study": "sort", "run": word}], str(tmp_path))
        asked[word] = setting["node"].get("synced", False)
    assert asked == {"none": False, "written": False, "synced": True}


def test_a_heap_of_one_worker_program_is_told_from_that_of_all(plugin):
    node = {"tomcat_heap_mb": 1, "worker_heap_mb": 2, "broker_heap_mb": 3, "link_mbit": 4}
    assert plugin.worker_heaps(node) == {}
    assert plugin.worker_heaps({**node, "matrix_worker_heap_mb": 5}) == {"matrix-worker": 5}


def test_what_is_put_off_is_told_with_the_run_if_there_are_several(plugin, runs, tmp_path):
    state = {"state": "finished", "put_off": ["a"], "reason": "worker3 is away"}
    (tmp_path / "results/demo-mtom/state.json").write_text(json.dumps(state))
    (tmp_path / "results/demo-sort/state.json").write_text('{"put_off": []}')
    assert plugin.put_off(runs, str(tmp_path)) == ["demo-mtom: worker3 is away"]
    assert plugin.put_off(runs[3:4], str(tmp_path)) == ["worker3 is away"]
    assert plugin.put_off(runs[:3], str(tmp_path)) == []


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
    found = sweep.named(studies, "demo", name)
    assert found == [{"study": study, "run": run} for run, study in runs.items()]


HOSTVARS = {
    "rack02": {
        "node_address": "10.0.0.2",
        "group_names": ["broker", "nodes", "sweep_uses", "workers"],
        "fingerprint_taken": {"fingerprint": {"os": "Debian", "packages": {"a": "1"}}},
    },
}


def test_a_node_is_recorded_with_its_part_in_the_bench_and_without_its_long_list_of_packages():
    assert sweep.nodes_of(HOSTVARS, ["rack02"]) == [
        {"name": "rack02", "address": "10.0.0.2", "groups": ["broker", "workers"], "os": "Debian"}
    ]
