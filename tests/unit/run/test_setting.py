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
    items_of,
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
        ("release", [21, 25], {"node": {"jdk": "release"}}),
        ("speed", ["performance", "powersave"], {"node": {"governor": "speed"}}),
        ("delay", [0, 2.5], {"node": {"link_delay_ms": "delay"}}),
        ("loss", [0, 1], {"node": {"link_loss": "loss"}}),
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


def test_a_constant_may_be_a_list():
    constants = {"client_heap_mb": 8, "jvm_options": ["-Xss1m", "-Xint"], "sizes": [1, 2]}
    domains = {"sizes": {"minimum": 1, "maximum": "workers"}}
    for trial in plan_of(factors=FACTORS, constants=constants, domains=domains):
        assert trial.constants == constants


def test_the_jdk_of_the_client_is_a_constant_and_no_setting_of_the_nodes():
    factors = {**FACTORS, "jdk": [21, 25]}
    trials = plan_of(factors=factors, constants={"client_heap_mb": 8, "jdk": "jdk"})
    assert {trial.constants["jdk"] for trial in trials} == {21, 25}
    assert len({setting_key(setting_of(trial)) for trial in trials}) == 1


@pytest.mark.parametrize("jdk", [16, "25", True, 21.5, "jdk"])
def test_a_jdk_of_the_client_that_is_no_release_is_refused(jdk):
    said = message_of(constants={"client_heap_mb": 8, "jdk": jdk})
    assert f"constants.jdk is {jdk!r}; write the release of a JDK, at least 17" in said


def test_a_run_that_varies_jdk_and_governor_changes_their_items_and_no_others():
    assert items_of(["jdk"]) == items_of(["collector"])
    assert items_of(["governor"]) == (
        "governor",
        "files /etc/tmpfiles.d/rackbench-tuning.conf",
    )


def test_files_of_a_further_server_may_change_with_its_settings_and_others_may_not():
    of_parrot = items_of(["parrot_heap_mb"], ["parrot", "tomcat"])
    assert "files /etc/rackbench/parrot/parrot.conf".startswith(of_parrot)
    assert not "files /etc/rackbench/parrots.conf".startswith(of_parrot)
    assert not "files /etc/rackbench/tomcat/conf/server.xml".startswith(of_parrot)
    assert items_of(["link_mbit"], ["parrot"]) == items_of(["link_mbit"])


def test_options_of_services_are_settings_of_their_own():
    options = {"tomcat": ["-Xss1m", "-XX:+UseNUMA"], "workers": "-Xint"}
    (trial, *_) = plan_of(node={"server_jvm_options": options})
    assert trial.node == {
        "server_jvm_options.tomcat": "-Xss1m -XX:+UseNUMA",
        "server_jvm_options.workers": "-Xint",
    }
    assert trial.parse(trial.line()) == trial


@pytest.mark.parametrize("option", ["-XX:MaxHeapFreeRatio=30", "-XX:MinHeapDeltaBytes=1m"])
def test_an_option_that_sets_no_size_of_the_heap_is_taken(option):
    (trial, *_) = plan_of(node={"server_jvm_options": {"tomcat": option}})
    assert trial.node == {"server_jvm_options.tomcat": option}


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"tomct_heap_mb": 64}, "node.tomct_heap_mb is not a node setting"),
        ({"jdk": 8}, "node.jdk is 8; write the release of a JDK, at least 17"),
        ({"jdk": "21"}, "node.jdk is '21'; write the release of a JDK"),
        ({"governor": 7}, "node.governor is 7; write the name of a governor, such as performance"),
        ({"governor": "on demand"}, "write the name of a governor"),
        (
            {"link_delay_ms": -1},
            "link_delay_ms is -1; write a number of ms, at least 0 and below 10000",
        ),
        ({"link_delay_ms": True}, "node.link_delay_ms is True; write a number of ms"),
        (
            {"link_loss": 100},
            "link_loss is 100; write a number of percent, at least 0 and below 100",
        ),
        ({"link_loss": "1%"}, "node.link_loss is '1%'; write a number of percent"),
        ({"sysctl.kernel.panic": 1}, "cannot be set by a study; choose one of net.core"),
        (
            {"tomcat_heap_mb": 7},
            "node.tomcat_heap_mb is 7; write a whole number of MiB, at least 8",
        ),
        ({"tomcat_heap_mb": "heap"}, "node.tomcat_heap_mb is 'heap'; write a whole number"),
        ({"link_mbit": 0}, "node.link_mbit is 0; write a whole number of Mbit/s, at least 1"),
        ({"tomcat_threads": 1.5}, "node.tomcat_threads is 1.5; write a whole number of threads"),
        ({"tomcat_threads": 2**31}, "of threads, at least 1 and at most 2147483647"),
        ({"collector": "zgc"}, "is 'zgc'; choose one of serial, parallel, g1"),
        ({"server_jvm_options": {"tomcat": "-jar x"}}, "write options of a JVM that begin with -X"),
        ({"server_jvm_options": {"tomcat": "-X$(id)"}}, "write options of a JVM that begin"),
        (
            {"server_jvm_options": {"tomcat": "-XX:ErrorFile=/tmp/hs_err_pid%p.log"}},
            "begin with -X and have only letters, digits and -+:=._/,",
        ),
        ({"server_jvm_options": {"tomcat": "-Xlog:gc*"}}, "have only letters, digits and -+:=._/,"),
        ({"server_jvm_options": {"tomcat": "-Xmx1g"}}, "write heaps as tomcat_heap_mb"),
        ({"server_jvm_options": {"tomcat": "-XX:MaxHeapSize=1g"}}, "write heaps as tomcat_heap_mb"),
        ({"server_jvm_options": {"broker": "-XX:MaxRAMPercentage=50"}}, "write heaps as tomcat"),
        ({"server_jvm_options": {"apache": "-Xint"}}, "options.apache is not a node setting"),
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


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"collector": "zgc"}, "constants.collector is 'zgc'; choose one of serial, parallel, g1"),
        ({"collector": "size"}, "constants.collector is 500; choose one of serial, parallel, g1"),
        ({"persistence": "disk"}, "persistence is 'disk'; choose one of none, written, synced"),
        (
            {"jvm_options": "-Xint"},
            'jvm_options is "-Xint", which is neither a factor of texts nor a list; write a list',
        ),
        ({"jvm_options": "size"}, "constants.jvm_options is 500, which is neither a factor"),
        (
            {"jvm_options": ["-Xss1m", "-Xmx2g"]},
            "constants.jvm_options has '-Xmx2g'; write the heap as client_heap_mb",
        ),
        ({"jvm_options": ["-XX:MaxRAMPercentage=50"]}, "write the heap as client_heap_mb"),
        ({"jvm_options": ["-mx2g"]}, "has '-mx2g'; write the heap as client_heap_mb"),
        ({"jvm_options": ["Xint"]}, "has 'Xint'; write options of a JVM, each a text that begins"),
        ({"jvm_options": [-1]}, "has -1; write options of a JVM"),
        ({"persistence": ["none"]}, "persistence is ['none']; choose one of none, written, synced"),
    ],
)
def test_a_constant_of_which_no_node_and_no_jvm_knows_the_value_is_refused(constants, words):
    factors = {"transport": ["soap"], "servers": [1], "integers": [500], "size": [500]}
    said = message_of(factors=factors, constants={"client_heap_mb": 8, **constants}, domains={})
    assert words in said


def test_a_constant_of_some_cells_is_checked_too():
    where = [{"cells": {"transport": "jms"}, "constants": {"persistence": "disk"}}]
    said = message_of(constants={"client_heap_mb": 8}, where=where, domains={})
    assert "constants.persistence is 'disk'; choose one of" in said


@pytest.mark.parametrize(
    ("factor", "line"),
    [
        ("tomcat_threads", "tomcat_threads: tomcat_threads"),
        ("link_mbit", "link_mbit: link_mbit"),
        ("governor", "governor: governor"),
        ("sort_worker_heap_mb", "sort_worker_heap_mb: sort_worker_heap_mb"),
        ("server_jvm_options", "server_jvm_options: {tomcat: server_jvm_options}"),
    ],
)
def test_a_factor_of_the_name_of_a_setting_that_no_node_gets_is_refused(factor, line):
    said = message_of(factors={**FACTORS, factor: [64, 128]}, node={})
    assert f"factors.{factor} is a node setting, but no node gets its levels" in said
    assert f"write `{line}` under node, or rename the factor" in said


def test_a_factor_of_the_name_of_a_setting_is_legal_where_nodes_get_its_levels():
    heaps = {**FACTORS, "worker_heap_mb": [64, 128]}
    assert plan_of(factors=heaps, node={"sort_worker_heap_mb": "worker_heap_mb"})
    assert plan_of(factors={**FACTORS, "link_mbit": [100]}, node={"link_mbit": 100})
    where = [{"cells": {"link_mbit": level}, "constants": {"rate": level}} for level in (10, 100)]
    of_constants = {"node": {"link_mbit": "rate"}, "where": where}
    assert plan_of(factors={**FACTORS, "link_mbit": [10, 100]}, **of_constants)
    assert "no node gets its levels" in message_of(
        factors={**FACTORS, "link_mbit": [10, 100]}, node={"link_mbit": 100}
    )


@pytest.mark.parametrize(
    ("factor", "levels", "of_services"),
    [
        ("jdk", [21, 25], ", or under node for the services"),
        ("collector", ["serial", "g1"], ", or under node for the services"),
        ("client_heap_mb", [64, 128], ""),
        ("jvm_options", ["", "-Xint"], ""),
    ],
)
def test_a_factor_of_jvms_that_no_jvm_gets_is_refused(factor, levels, of_services):
    factors = {**FACTORS, factor: levels}
    assert (
        f"factors.{factor} is a setting of JVMs, but no JVM gets its levels; write "
        f"`{factor}: {factor}` under constants for the client{of_services}, or rename the factor"
    ) in message_of(factors=factors, constants={}, node={})
    of_some = [{"cells": {"transport": "soap"}, "constants": {factor: factor}}]
    assert plan_of(factors=factors, constants={factor: factor}, node={})
    assert plan_of(factors=factors, constants={}, node={}, where=of_some)


def test_a_factor_of_jvms_may_set_those_of_services_alone():
    for factor, levels in (("jdk", [21, 25]), ("collector", ["serial", "g1"])):
        factors = {**FACTORS, factor: levels}
        assert plan_of(factors=factors, constants={}, node={factor: factor})
        assert plan_of(
            factors={**FACTORS, factor: levels[:1]}, constants={}, node={factor: levels[0]}
        )


def test_a_factor_that_clients_read_themselves_needs_no_node():
    assert plan_of(factors={**FACTORS, "persistence": ["none"]}, constants={}, node={})


@pytest.mark.parametrize(
    "constants", [{"link_mbit": 10}, {"tomcat_heap_mb": 64}, {"link_delay_ms": 10}]
)
def test_a_constant_of_the_name_of_a_setting_that_no_node_has_is_refused(constants):
    (name,) = constants
    told = f"constants.{name} is a node setting, but no node gets it; write it under node"
    assert told in message_of(constants=constants, node={})
    where = [{"cells": {"transport": "jms"}, "constants": constants}]
    assert told in message_of(constants={}, node={}, where=where)
    assert told in message_of(constants=constants, node={name: 2000})
    assert plan_of(constants=constants, node=constants)
    assert plan_of(constants=constants, node={name: name})


HEAP = {"factors": {**FACTORS, "heap": [64, 128]}}


@pytest.mark.parametrize(
    ("kind", "name", "other"),
    [
        ("node", "tomcat_heap_mb", {"broker_heap_mb": 96}),
        ("constants", "client_heap_mb", {"jvm_options": ["-Xint"]}),
    ],
)
def test_a_profile_that_takes_the_levels_of_a_factor_away_is_refused(kind, name, other):
    named, own = {kind: {name: "heap"}}, {kind: {name: 96}}
    told = (
        f"profiles.paper.{kind}.{name} is 96, but the study gives it the levels of the factor "
        f"heap, which then set nothing; write `{name}: heap`, or give heap that level alone"
    )
    assert told in message_of(**HEAP, **named, profiles={"paper": own})
    assert plan_of(**HEAP, **named, profiles={"paper": {**own, "factors": {"heap": [96]}}})
    assert plan_of(**HEAP, **named, profiles={"paper": {kind: other}})
    elsewhere = {"node": {"worker_heap_mb": "heap", **named.get("node", {})}}
    assert plan_of(**HEAP, **named | elsewhere, profiles={"paper": own})


def test_an_exception_that_takes_the_levels_of_a_factor_away_is_refused():
    heap = {"constants": {"client_heap_mb": "heap"}}
    where = [{"cells": {"transport": "jms"}, "constants": {"client_heap_mb": 96}}]
    assert "where[0].constants.client_heap_mb is 96, but the study gives it the levels of" in (
        message_of(**HEAP, **heap, where=where)
    )
    of_level = [{"cells": {"heap": 64}, "constants": {"client_heap_mb": 64}}]
    assert plan_of(**HEAP, **heap, where=of_level)


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("tomcat_threads", []),
        ("tomcat_heap_mb", ["broker", "sort-worker"]),
        ("broker_heap_mb", ["tomcat"]),
        ("worker_heap_mb", ["tomcat", "broker"]),
        ("sort_worker_heap_mb", ["tomcat", "broker", "matrix-worker"]),
    ],
)
def test_a_setting_of_services_that_no_trial_needs_is_refused(name, needs):
    assert (
        f"node.{name} differs between cells, but no trial needs a service that takes it; name the "
        "services that the client calls under needs"
    ) in message_of(**HEAP, node={name: "heap"}, needs=needs)
    one_level = {"factors": {**FACTORS, "heap": [64]}}
    assert plan_of(**one_level, node={name: "heap"}, needs=needs)
    every = ["tomcat", "broker", "sort-worker"]
    assert plan_of(**HEAP, node={name: "heap", "tomcat_heap_mb": "heap"}, needs=every)


def test_each_factor_of_services_needs_one_that_takes_its_levels():
    factors = {**FACTORS, "heap": [64, 128], "pool": [8, 64]}
    node = {"tomcat_threads": "pool", "broker_heap_mb": "heap"}
    said = message_of(factors=factors, node=node, needs=["tomcat"])
    assert "node.broker_heap_mb differs between cells, but no trial needs a service that" in said
    assert plan_of(factors=factors, node=node, needs=["tomcat", "broker"])
    # The heaps of all services may be one factor.
    heaps = dict.fromkeys(("tomcat_heap_mb", "broker_heap_mb", "worker_heap_mb"), "heap")
    assert plan_of(**HEAP, node=heaps, needs=["tomcat"])


def test_a_persistence_of_the_node_needs_the_broker():
    kept = {"factors": {**FACTORS, "kept": ["written", "synced"]}, "node": {"persistence": "kept"}}
    assert "node.persistence differs between cells" in message_of(**kept, needs=["tomcat"])
    assert plan_of(**kept, needs=["broker"])


def test_options_of_a_service_in_a_profile_leave_those_of_others_as_the_study_has_them():
    factors = {**FACTORS, "stack": ["-Xss1m", "-Xss2m"]}
    node = {"server_jvm_options": {"tomcat": "-Xint", "broker": "stack"}}
    own = {"paper": {"node": {"server_jvm_options": {"tomcat": "-Xcomp"}}}}
    plan = plan_of(factors=factors, node=node, profiles=own)
    assert {trial.node["server_jvm_options.tomcat"] for trial in plan} == {"-Xcomp"}
    assert all(trial.node["server_jvm_options.broker"] == trial.factors["stack"] for trial in plan)


def test_a_list_is_no_value_of_the_kernel_and_gives_options_as_one_text():
    lists = {"client_heap_mb": 8, "sizes": [4096, 16384], "options": ["-Xss1m", "-Xint"]}
    said = message_of(constants=lists, node={"sysctl.net.ipv4.tcp_rmem": "sizes"})
    assert "node.sysctl.net.ipv4.tcp_rmem is [4096, 16384]; write a value as `sysctl" in said
    (trial, *_) = plan_of(constants=lists, node={"server_jvm_options": {"tomcat": "options"}})
    assert trial.node == {"server_jvm_options.tomcat": "-Xss1m -Xint"}


def test_a_recorded_study_may_have_settings_without_effect():
    changes = {
        "factors": {**FACTORS, "jdk": [21, 25], "threads": [1, 2]},
        "constants": {"link_mbit": 10},
        "node": {"server_jvm_options": {"tomcat": "-XX:ErrorFile=/tmp/%p"}},
    }
    recorded = parse_study(changed(**changes), "x", is_recorded=True)
    assert recorded.profile("paper", 5).cells()


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
    of_nodes = ("link_mbit", "sysctl.vm.swappiness", "governor")
    missed = (
        *("broker_heap_mb", "collector", "hello_listener_heap_mb", "jdk"),
        "server_jvm_options.workers",
    )
    node = dict.fromkeys((*taken, *of_nodes, *missed), 64)
    assert not_understood(node, served) == list(missed)


def test_what_a_study_varies_of_links_is_no_change_of_the_nodes():
    assert items_of(["link_mbit", "link_loss"]) == ("link_shaped_mbit", "link_loss")
    assert items_of(["link_delay_ms"]) == ("link_delay_ms",)


def test_a_setting_has_one_text():
    assert json.loads(setting_key({"b": 1, "a": 2})) == {"a": 2, "b": 1}
