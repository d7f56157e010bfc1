"""Node settings of a study: what is understood, what is refused, and which trials share a plot."""

import json
from itertools import groupby
from pathlib import Path

import pytest
import yaml
from made_up_studies import changed

from collect.errors import InputError
from collect.run.plan import make_plan, plan_bytes
from collect.run.setting import (
    COLLECTORS,
    PROGRAMS,
    SYSCTLS,
    not_understood,
    setting_key,
    setting_of,
)
from collect.run.study import parse_study

FACTORS = {"transport": ["soap", "jms"], "servers": [1], "integers": [500]}


def plan_of(**changes):
    return make_plan(parse_study(changed(**changes), "x").profile("paper", 5))


def message_of(**changes):
    with pytest.raises(InputError) as caught:
        plan_of(**changes)
    return str(caught.value)


def groups_of(block):
    return [key for key, _ in groupby(setting_key(setting_of(trial)) for trial in block)]


@pytest.mark.parametrize(
    ("factor", "levels", "more"),
    [
        ("gc", ["parallel", "g1"], {"constants": {"client_heap_mb": 8, "collector": "gc"}}),
        ("gc", ["parallel", "g1"], {"node": {"collector": "gc"}}),
        ("kept", ["written", "synced"], {"node": {"persistence": "kept"}}),
        ("persistence", ["none", "synced"], {"constants": {"client_heap_mb": 8}}),
        ("options", ["-Xss1m", "-Xss2m"], {"node": {"server_jvm_options": {"tomcat": "options"}}}),
        ("backlog", [64, 128], {"node": {"sysctl.net.core.somaxconn": "backlog"}}),
    ],
)
def test_trials_of_one_setting_stand_together_whatever_names_the_factor(factor, levels, more):
    plan = plan_of(factors={**FACTORS, factor: levels}, **more)
    for _, block in groupby(plan, key=lambda trial: trial.block):
        assert len(groups_of(block)) == len(levels)


def test_a_plan_of_one_setting_is_what_it_was_before_settings_counted_whole():
    first = plan_of(constants={"client_heap_mb": 8, "collector": "parallel"})
    second = plan_of(constants={"client_heap_mb": 8, "collector": "g1"})
    assert plan_bytes(first).replace(b'"parallel"', b'"g1"') == plan_bytes(second)


def test_a_constant_takes_its_value_from_the_factor_that_it_names():
    constants = {"client_heap_mb": "heap", "jvm_options": "options"}
    factors = {**FACTORS, "heap": [64, 128], "options": ["-Xss1m -Xint"]}
    trials = plan_of(factors=factors, constants=constants)
    assert {trial.constants["client_heap_mb"] for trial in trials} == {64, 128}
    assert trials[0].constants["jvm_options"] == ["-Xss1m", "-Xint"]
    assert len({setting_key(setting_of(trial)) for trial in trials}) == 1


def test_options_of_services_are_settings_of_their_own():
    options = {"tomcat": ["-Xss1m", "-XX:+UseNUMA"], "workers": "-Xint"}
    (trial, *_) = plan_of(node={"server_jvm_options": options})
    assert trial.node == {
        "server_jvm_options.tomcat": "-Xss1m -XX:+UseNUMA",
        "server_jvm_options.workers": "-Xint",
    }
    assert trial.parse(trial.line()) == trial


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"tomct_heap_mb": 64}, "node.tomct_heap_mb is no setting that a node understands"),
        ({"jdk": 21}, "node.jdk is no setting of a study: nodes have one JDK"),
        ({"governor": "performance"}, "set baseline_governor in lab.yml"),
        ({"link_delay_ms": 3}, "links have a rate alone"),
        ({"sysctl.kernel.panic": 1}, "is not in the list of what a study may set: net.core"),
        ({"tomcat_heap_mb": 7}, "node.tomcat_heap_mb is 7; write a whole number of MiB from 8"),
        ({"tomcat_heap_mb": "heap"}, "node.tomcat_heap_mb is 'heap'; write a whole number"),
        ({"link_mbit": 0}, "node.link_mbit is 0; write a whole number of Mbit/s from 1 on"),
        ({"tomcat_threads": 1.5}, "node.tomcat_threads is 1.5; write a whole number of threads"),
        ({"collector": "zgc"}, "is 'zgc'; choose one of serial, parallel, g1"),
        ({"server_jvm_options": {"tomcat": "-jar x"}}, "write options of a JVM that begin with -X"),
        ({"server_jvm_options": {"tomcat": "-X$(id)"}}, "write options of a JVM that begin"),
        ({"server_jvm_options": {"apache": "-Xint"}}, "options.apache is no setting that a node"),
    ],
)
def test_what_no_node_understands_is_refused(node, words):
    assert words in message_of(node=node)


def test_a_factor_that_is_a_constant_too_is_refused():
    said = message_of(
        factors={**FACTORS, "collector": ["parallel", "g1"]},
        constants={"client_heap_mb": 8, "collector": "parallel"},
    )
    assert 'constants.collector has the value "parallel", but collector is a factor too' in said


def test_a_heap_of_the_client_that_names_no_factor_is_refused():
    said = message_of(constants={"client_heap_mb": "heap"})
    assert 'constants.client_heap_mb is "heap", which is neither a factor nor a heap' in said


def test_what_a_study_may_set_of_the_kernel_is_recorded_of_the_nodes():
    text = Path("roles/fingerprint/defaults/main.yml").read_text()
    assert all(f"  - {name}\n" in text for name in SYSCTLS)


def test_collectors_and_worker_programs_are_those_of_the_nodes():
    bench = yaml.safe_load(Path("playbooks/vars/bench.yml").read_text())
    assert bench["bench_collectors"] == COLLECTORS
    assert {program["name"] for program in bench["worker_programs_list"]} == {*PROGRAMS}


def test_a_setting_that_no_service_declares_is_found():
    served = {
        "tomcat": ["tomcat_heap_mb", "server_jvm_options"],
        "sort-worker": ["worker_heap_mb"],
        "parrot": ["parrot_heap_mb"],
    }
    taken = ("tomcat_heap_mb", "server_jvm_options.tomcat", "sort_worker_heap_mb", "parrot_heap_mb")
    of_nodes = ("link_mbit", "sysctl.vm.swappiness", "jdk")
    missed = ("broker_heap_mb", "collector", "hello_listener_heap_mb", "server_jvm_options.workers")
    node = dict.fromkeys((*taken, *of_nodes, *missed), 64)
    assert not_understood(node, served) == list(missed)


def test_a_setting_has_one_text():
    assert json.loads(setting_key({"b": 1, "a": 2})) == {"a": 2, "b": 1}
