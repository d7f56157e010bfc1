"""The settings that a trial was read to have run under, next to the plan's."""

from dataclasses import replace

import pytest
from made_up_studies import study_of
from synthetic import make_run

from collect.run.directory import open_run
from collect.run.ran_under import differences, find
from collect.run.setting import release_of
from collect.run.verify import verify_run

SYNCED = "-Dimq.persist.file.sync.enabled=true"
READ = {
    "tomcat on w1": {
        "options": "-Xms64m -Xmx64m -XX:+UseG1GC -Xss1m",
        "jdk": "25.0.3",
        "maxThreads": "8",
    },
    "sort-worker on w1": {"options": "-Xmx32m -XX:+UseG1GC", "jdk": "25"},
    "broker on b1": {"options": f"-Xmx96m -XX:+UseG1GC {SYNCED}", "jdk": "25.0.3"},
    "connection factory on c1": {"imqPingInterval": "10"},
    "parrot on w1": {"options": ""},
    "node on w1": {
        "link_mbit": "10",
        "link_delay_ms": "2.5",
        "link_loss": "0",
        "governor": "powersave",
        "sysctl.net.ipv4.tcp_rmem": "1\t2\t3",
    },
}
ASKED = {
    "tomcat_heap_mb": 64,
    "worker_heap_mb": 16,
    "sort_worker_heap_mb": 32,
    "broker_heap_mb": 96,
    "collector": "g1",
    "jdk": 25,
    "governor": "powersave",
    "synced": True,
    "tomcat_threads": 8,
    "server_jvm_options.tomcat": "-Xss1m",
    "link_mbit": 10,
    "link_delay_ms": 2.50001,  # tc prints some digits
    "link_loss": 0.0,
    "sysctl.net.ipv4.tcp_rmem": "1 2 3",
}


def test_what_ran_as_planned_is_no_finding():
    assert list(differences(ASKED, READ)) == []
    assert list(differences({}, {"tomcat on w1": {}})) == []


def test_a_further_server_is_compared_in_what_its_role_declares_alone():
    parrot = {"parrot on w1": {"options": "-Xmx64m", "jdk": "21"}}
    assert list(differences(ASKED, parrot)) == []
    assert list(differences({**ASKED, "parrot_heap_mb": 32}, parrot)) == [
        "parrot on w1 had -Xmx64m, without -Xmx32m"
    ]


def test_a_further_server_is_compared_in_all_that_its_role_declares():
    asked = {**ASKED, "server_jvm_options.workers": "-Xint"}
    served = {"parrot": ("worker_heap_mb", "server_jvm_options", "collector", "jdk")}
    as_asked = {"parrot on w1": {"options": "-Xmx16m -XX:+UseG1GC -Xint", "jdk": "25.0.1"}}
    assert list(differences(asked, as_asked, served=served)) == []
    otherwise = {"parrot on w1": {"options": "-Xmx64m", "jdk": "21"}}
    assert list(differences(asked, otherwise, served=served)) == [
        "parrot on w1 had -Xmx64m, without -Xmx16m -XX:+UseG1GC -Xint",
        "parrot on w1 had JDK 21, not 25",
    ]
    assert list(differences(asked, otherwise, served={"parrot": ("collector",)})) == [
        "parrot on w1 had -Xmx64m, without -XX:+UseG1GC"
    ]


def test_an_option_that_another_trial_asks_a_further_server_for_is_named():
    of_any = {("server_jvm_options.workers", "-Xint")}
    read, served = {"parrot on w1": {"options": "-Xint"}}, {"parrot": ("server_jvm_options",)}
    assert list(differences({}, read, of_any, served)) == [
        "parrot on w1 had -Xint, which other trials ask for"
    ]
    assert list(differences({}, read, of_any)) == []


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("tomcat_heap_mb", 128, "tomcat on w1 had -Xms64m -Xmx64m"),
        ("sort_worker_heap_mb", 64, "without -Xmx64m"),
        ("broker_heap_mb", 64, "broker on b1"),
        ("collector", "serial", "without -XX:+UseSerialGC"),
        ("jdk", 21, "tomcat on w1 had JDK 25.0.3, not 21; sort-worker on w1 had JDK 25, not 21"),
        ("jdk", 2, "broker on b1 had JDK 25.0.3, not 2"),
        ("governor", "performance", "node on w1 had governor powersave, not performance"),
        ("synced", False, "without -Dimq.persist.file.sync.enabled=false"),
        ("tomcat_threads", 128, "tomcat on w1 had maxThreads 8, not 128"),
        ("server_jvm_options.tomcat", "-Xss2m", "without -Xss2m"),
        ("link_mbit", 100, "node on w1 had link_mbit 10, not 100"),
        ("link_delay_ms", 2.6, "node on w1 had link_delay_ms 2.5, not 2.6"),
        ("link_loss", 1, "node on w1 had link_loss 0, not 1"),
        ("sysctl.net.ipv4.tcp_rmem", "4 5 6", "node on w1 had sysctl.net.ipv4.tcp_rmem"),
    ],
)
def test_what_ran_otherwise_is_named_with_its_place(name, value, where):
    assert where in "; ".join(differences({**ASKED, name: value}, READ))


def test_an_option_of_other_trials_is_named_where_a_trial_had_it():
    of_any = {("server_jvm_options.tomcat", one) for one in ("-Xint", "-Xss1m")}
    had = {"tomcat on w1": {"options": "-Xmx64m -Xss1m -Xint"}}
    asked = {"server_jvm_options.tomcat": "-Xss1m"}
    assert list(differences(asked, had, of_any)) == [
        "tomcat on w1 had -Xint, which other trials ask for"
    ]
    of_all = {"server_jvm_options.tomcat": "-Xss1m -Xint"}
    assert list(differences(of_all, had, of_any)) == []
    assert list(differences(asked, {"broker on b1": {"options": "-Xint"}}, of_any)) == []


@pytest.mark.parametrize(
    ("version", "release"),
    [("21.0.9+10-Debian-1", "21"), ("25", "25"), ("25-ea", "25"), ("25+36-Debian", "25"), ("", "")],
)
def test_the_release_is_the_first_number_of_a_version(version, release):
    assert release_of(version) == release


THREADS = {"node": {"tomcat_threads": "tomcat_threads"}, "constants": {"client_heap_mb": 64}}
TOLD = {"options": "-Xmx64m"}


@pytest.fixture
def found(tmp_path):
    """Returns what is found of a run of such a study, of which each trial recorded so much."""

    def of(ran_with, services=("tomcat on w1",), needs=("tomcat",), replicates=1, **study):
        changes = {"factors": {"tomcat_threads": [1, 8]}, "restart": "none", **THREADS, **study}
        profiles = {"demo": {"replicates": replicates, "calls": 4, "warmup": 1}}
        # Earlier versions planned a study whose trials need none.
        text = study_of(profiles=profiles, needs=list(needs or ["tomcat"]), **changes)
        make_run(tmp_path / "run", lambda planned, rng: [1.0] * 4, study=text)
        run = open_run(str(tmp_path / "run"))
        plan = [replace(planned, needs=list(needs)) for planned in run.plan]
        trials = [
            replace(
                trial,
                ran_with=ran_with(trial.factors) if callable(ran_with) else ran_with,
                services=dict.fromkeys(services, "1"),
            )
            for trial in verify_run(run).trials
        ]
        return [finding.text.partition(": ")[2] for finding in find(plan, trials)]

    return of


def as_planned(factors):
    return {"tomcat on w1": {**TOLD, "maxThreads": str(factors["tomcat_threads"])}}


def test_a_tomcat_that_tells_its_threads_as_planned_is_no_finding(found):
    assert found(as_planned) == []


def test_a_tomcat_that_does_not_tell_its_threads_is_named_where_they_vary(found):
    said = "does not record maxThreads of tomcat on w1; set it aside and sweep again"
    assert found({"tomcat on w1": TOLD}) == [said] * 2


def test_threads_that_do_not_vary_need_not_be_told(found):
    of_heaps = {"tomcat_threads": 8, "tomcat_heap_mb": "heap"}
    told = lambda factors: {"tomcat on w1": {"options": f"-Xmx{factors['heap']}m"}}  # noqa: E731
    assert found(told, factors={"heap": [64, 128]}, node=of_heaps) == []


def test_a_heap_that_changed_during_the_run_is_a_finding_though_no_setting_asks_for_it(found):
    heaps = iter([192, 192, 64, 64])

    def told(factors):
        (planned,) = as_planned(factors).values()
        return {"tomcat on w1": {**planned, "options": f"-Xmx{next(heaps)}m"}}

    said = "had options -Xmx64m, but -Xmx192m in an earlier trial of the same settings"
    assert found(told, replicates=2) == [f"tomcat on w1 {said}; set it aside and sweep again"] * 2


def test_a_trial_that_ran_with_the_options_of_another_group_is_a_finding(found):
    factors = {"options": ["", "-Xint"]}
    node = {"server_jvm_options": {"tomcat": "options"}}
    told = {"tomcat on w1": {"options": "-Xmx64m -Xint"}}
    (said,) = found(told, factors=factors, node=node)
    assert said.startswith("tomcat on w1 had -Xint, which other trials ask for; set it aside")


def test_the_trial_that_began_first_is_what_others_are_compared_with(tmp_path):
    """Not the one before it in the plan, which may have been deferred."""
    profiles = {"demo": {"replicates": 2, "calls": 4, "warmup": 1}}
    text = study_of({"size": [1]}, profiles=profiles, restart="none", needs=["tomcat"])
    make_run(tmp_path / "run", lambda planned, rng: [1.0] * 4, study=text)
    run = open_run(str(tmp_path / "run"))
    first, second = verify_run(run).trials

    def ran(trial, stack, at):
        options = f"-Xmx192m -XX:+UseParallelGC -Xss{stack}m"
        return replace(trial, ran_with={"tomcat on w1": {"options": options}}, started_at=at)

    deferred = ran(first, 1, second.started_at), ran(second, 2, first.started_at)
    (finding,) = find(run.plan, deferred)
    assert finding.subject == first.id
    assert "-Xss1m, but -Xmx192m -XX:+UseParallelGC -Xss2m in an earlier trial" in finding.text


@pytest.mark.parametrize(
    ("options", "without"),
    [
        (["-Xms64m", "-Xmx64m", "-XX:+UseG1GC", "-Xint"], ""),
        ([], ""),  # it told none
        (["-Xmx96m", "-XX:+UseG1GC", "-Xint"], "-Xmx64m"),
        (["-Xmx64m", "-XX:+UseParallelGC"], "-XX:+UseG1GC -Xint"),
    ],
)
def test_a_client_whose_jvm_had_other_options_is_a_finding(tmp_path, options, without):
    constants = {"client_heap_mb": 64, "collector": "g1", "jvm_options": ["-Xint", "-Da=b"]}
    profiles = {"demo": {"replicates": 1, "calls": 4, "warmup": 1}}
    text = study_of({"size": [1]}, profiles=profiles, restart="none", constants=constants)
    make_run(tmp_path / "run", lambda planned, rng: [1.0] * 4, study=text)
    run = open_run(str(tmp_path / "run"))
    (trial,) = verify_run(run).trials
    found = list(find(run.plan, [replace(trial, jvm={"version": "21.0.9", "options": options})]))
    told = f"the client had {' '.join(options)}, without {without}; set it aside and sweep again"
    assert [finding.text for finding in found] == ([f"{trial.id}: {told}"] if without else [])


@pytest.mark.parametrize(("node", "findings"), [({"jdk": 25}, 2), ({}, 0)])
def test_a_jvm_that_told_no_jdk_is_named_where_the_plan_asks_for_one(found, node, findings):
    said = "does not record the JDK of tomcat on w1; set it aside and sweep again"
    factors = {"integers": [1, 2]}
    assert found({"tomcat on w1": TOLD}, factors=factors, node=node) == [said] * findings
    assert list(differences(node, {"tomcat on w1": TOLD})) == []


PARROT = {
    "services": ("parrot on w1",),
    "needs": ("parrot",),
    "factors": {"heap": [16, 32]},
    "node": {"parrot_heap_mb": "heap"},
}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"options": ""}, "does not record parrot_heap_mb of parrot on w1"),
        ({"options": "", "parrot_heap_mb": "8"}, "parrot on w1 had parrot_heap_mb 8, not "),
    ],
)
def test_a_further_server_that_is_no_jvm_tells_its_setting(found, told, said):
    assert [text.startswith(said) for text in found({"parrot on w1": told}, **PARROT)] == [True] * 2


@pytest.mark.parametrize(
    ("name", "text"), [("parrot_heap_mb", "{heap}"), ("options", "-Xmx{heap}m")]
)
def test_a_further_server_that_told_its_setting_as_planned_is_no_finding(found, name, text):
    told = lambda factors: {"parrot on w1": {"options": "", name: text.format(**factors)}}  # noqa: E731
    assert found(told, **PARROT) == []


def test_the_heap_of_all_programs_is_that_of_a_further_server_that_tells_its_own():
    told = {"parrot on w1": {"parrot_heap_mb": "8"}, "gull on w1": {"options": ""}}
    assert list(differences({"worker_heap_mb": 16}, told)) == [
        "parrot on w1 had parrot_heap_mb 8, not 16"
    ]


def test_services_that_no_trial_needs_are_named_where_their_settings_vary(found):
    (said, _) = found({}, services=(), needs=())
    assert said.startswith("does not record the settings of any service; name those that it calls")


def test_a_collector_of_the_client_alone_needs_no_service(found):
    of_client = {"constants": {"client_heap_mb": 64, "collector": "gc"}, "node": {}}
    factors = {"gc": ["parallel", "g1"]}
    assert found({}, services=(), needs=(), factors=factors, **of_client) == []
