"""What a sweep refuses before anything happens: two clients, another lab, other terms."""

import hashlib
import json
import re
import shutil

import pytest
import yaml
from loading import ROOT
from made_up_studies import study_of
from played_nodes import ADDRESSES, GROUPS, ME, Lab
from synthetic import edit_json, make_run

from collect.exchange.archive import rerun
from collect.run.directory import open_run
from collect.run.plan import plan_bytes

RUNNER = "rackbench-runner.service"
HERE = f"{ME}:{ROOT}"


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


@pytest.mark.parametrize("playbook", ["sweep.yml", "validate.yml"])
@pytest.mark.parametrize("group", ["client", "broker"])
def test_two_clients_or_brokers_are_refused_before_anything_happens(lab, playbook, group):
    lab.write({**GROUPS, group: [*GROUPS[group], "worker2"], "workers": ["worker1"]})
    code, said = lab.play(playbook, study="sort", sweep_root=str(lab.directory))
    assert code == 2
    assert f"the group {group} has {GROUPS[group][0]} and worker2" in said
    assert "Keep one of them in hosts.yml" in said
    assert not (lab.directory / "results").exists()


def test_a_build_during_a_playbook_does_not_change_what_it_deploys(lab, tmp_path):
    """Nodes would get other builds in the middle of a sweep, whose run.json has the first ones."""
    verified = tmp_path / "playbooks/deployed.yml"
    sums = tmp_path / "java-apps/dist/SHA256SUMS"
    for file in verified, sums:
        file.parent.mkdir(parents=True)
    shutil.copy(ROOT / "playbooks/deployed.yml", verified)
    (sums.parent / "axis.war").write_text("built before")
    built = hashlib.sha256(b"built before").hexdigest()
    sums.write_text(f"{built}  axis.war\n")
    rebuild = {"content": f"{'0' * 64}  axis.war\n", "dest": str(sums)}
    tasks = [
        {"ansible.builtin.copy": rebuild, "delegate_to": "localhost", "run_once": True},
        {"ansible.builtin.debug": {"msg": "deploys {{ rackbench_manifest['axis.war'] }}"}},
    ]
    play = {"hosts": "nodes", "gather_facts": False, "tasks": tasks}
    playbook = yaml.safe_dump([{"ansible.builtin.import_playbook": str(verified)}, play])
    code, said = lab.play(playbook, rackbench_dist=str(sums.parent))
    assert code == 0, said
    assert said.count(f"deploys {built}") == len(ADDRESSES)


def begun(lab, **changes):
    """A run of this lab with one server, but for changed nodes; its directory."""
    directory = lab.directory / "results/monday"
    directory.mkdir(parents=True)
    nodes = [
        {"name": name, "address": ADDRESSES[name], "groups": [group], **changes.get(name, {})}
        for group, names in GROUPS.items()
        for name in names
    ]
    record = {"lab": {"name": "other"}, "nodes": nodes}
    (directory / "run.json").write_text(json.dumps(record))
    return directory


PLAN = """
- hosts: control
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: sweep
        tasks_from: plan
"""
RECORD = """
- hosts: control
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: sweep
        tasks_from: record
      vars:
        sweep_study: sort
        sweep_run: monday
        sweep_provenance: {}
"""


def asked(lab, **extra):
    extra = {"study": "sort", "run": "monday", "sweep_root": str(lab.directory), **extra}
    return {"sweep_fit": True, "sweep_free_mb": 1, **extra}


def planned(lab, **extra):
    return lab.play(PLAN, **asked(lab, **extra))


@pytest.mark.parametrize(
    ("changes", "stranger"),
    [
        ({"worker2": {"address": "198.51.100.4"}}, "worker2"),
        ({"worker2": {"name": "rack04"}}, "rack04"),
        ({"client1": {"groups": ["workers"]}, "worker1": {"groups": ["client"]}}, "worker1"),
    ],
)
def test_a_run_of_another_lab_is_not_gone_on_with_and_both_labs_are_named(lab, changes, stranger):
    directory = begun(lab, **changes)
    code, said = planned(lab)
    assert code == 2
    assert f"monday was begun on the lab other, where {stranger} had" in said
    assert "this inventory, the lab played" in said
    assert "-e run=NAME" in said
    assert not (directory / "plan.jsonl").exists()
    assert "was begun on" not in planned(lab, sweep_same_lab=True)[1]


def test_a_run_of_this_lab_is_gone_on_with(lab):
    begun(lab)
    code, said = planned(lab)
    assert code == 0, said


@pytest.mark.parametrize("is_fitted", [False, True])
def test_the_command_of_a_rerun_plans_the_archived_run(lab, monkeypatch, is_fitted):
    """With its own study, profile, seed and flags, under the name that is asked for."""
    root, archived = lab.directory, lab.directory / "archived"
    shutil.copy(ROOT / "pyproject.toml", root)
    monkeypatch.setattr(rerun, "ROOT", root)
    factors, short = {"servers": [1, 2, 3][: 2 + is_fitted]}, {"short": {"replicates": 2}}
    study = study_of(factors, servers="servers", calls=9, profiles=short)
    options = {"fit": is_fitted, "rotate": True, "capture": True, "profile": "short"}
    make_run(archived, lambda planned, rng: [1.0] * 9, study=study, workers=2, **options)
    edit_json(archived / "run.json", rotated=True, seed=7)
    again = rerun.plan_again(open_run(str(archived)), "again", 2, fit=False)

    def play(name, _):
        _, playbook, *variables = again.command(rerun.Lab())
        assert playbook == f"playbooks/{name}" == "playbooks/sweep.yml"
        here = {"sweep_root": str(root), "sweep_kit": str(root), "sweep_free_mb": 1}
        code, said = lab.play(PLAN, *variables, **here)
        assert code == 0, said
        (plan,) = (root / "results").rglob("again/plan.jsonl")
        assert plan.read_bytes() == plan_bytes(again.plan)
        return code

    again.sweep(rerun.Lab(play=play))


def test_a_run_that_recorded_no_nodes_stays_usable(lab):
    directory = begun(lab)
    (directory / "run.json").write_text('{"nodes": [{"name": "worker1"}]}')
    code, said = planned(lab)
    assert code == 0, said


def test_a_run_begins_with_its_first_trials_and_not_with_its_plan(lab):
    results = lab.directory / "results"
    for seed in 1, 2:  # the sweep of the first one was refused
        code, said = planned(lab, sweep_seed=seed)
        assert code == 0, said
        assert not (results / "monday").exists()
    for changed in "changed=2", "changed=0":
        code, said = lab.play(RECORD, **asked(lab, sweep_seed=2))
        assert code == 0, said
        assert changed in said
    assert [path.name for path in results.iterdir()] == ["monday"]
    record = json.loads((results / "monday/run.json").read_text())
    plan = (results / "monday/plan.jsonl").read_bytes()
    assert (record["seed"], record["plan_sha256"]) == (2, hashlib.sha256(plan).hexdigest())
    code, said = planned(lab, sweep_seed=1)
    assert code == 2
    assert "run monday exists with another plan" in said


def test_a_run_records_the_study_as_it_was_planned_though_it_begins_later(lab):
    own = lab.directory / "studies/sort.yml"
    own.parent.mkdir()
    text = (ROOT / "playbooks/studies/sort.yml").read_text()
    own.write_text(text)
    change = {"ansible.builtin.copy": {"content": "torn: [", "dest": str(own)}}
    meanwhile = [{"hosts": "control", "gather_facts": False, "tasks": [change]}]
    code, said = lab.play(PLAN + yaml.safe_dump(meanwhile) + RECORD, **asked(lab))
    assert code == 0, said
    record = json.loads((lab.directory / "results/monday/run.json").read_text())
    assert record["study_file"] == text
    assert set(record["git"]) == {"commit", "dirty"}
    assert record["rackbench"].count(".") == 2


def test_a_deadline_is_one_moment_for_all_runners_of_a_sweep(lab):
    told = {"ansible.builtin.debug": {"msg": "until {{ sweep_deadline }}"}}
    show = [{"hosts": "client", "gather_facts": False, "tasks": [told]}]
    code, said = lab.play(PLAN + yaml.safe_dump(show), **asked(lab, deadline="06:30"))
    assert code == 0, said
    assert re.search(r"until \d{4}-\d\d-\d\dT\d\d:\d\d:00Z", said), said


def test_a_clone_without_an_environment_of_its_own_plans(lab, tmp_path):
    """Ansible and collect may be installed elsewhere."""
    kit = tmp_path / "kit"
    kit.mkdir()
    for name in ("pyproject.toml", "playbooks"):
        (kit / name).symlink_to(ROOT / name)
    code, said = planned(lab, sweep_kit=str(kit))
    assert code == 0, said


def test_results_on_another_disk_are_asked_for_room(lab):
    (lab.directory / "results").symlink_to("/proc")  # has none
    code, said = planned(lab)
    assert code == 2
    assert "/results has 0 MiB free, but a sweep needs 1" in said


FREE = """
- hosts: client
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: sweep
        tasks_from: free
"""
TERMS = "--until 2026-11-27T05:30:00Z --without worker1"
ARGV = f"{{ path=/usr/bin/java ; argv[]=/usr/bin/java -cp x Runner {TERMS} ; }}"


@pytest.mark.parametrize(
    ("extra", "is_refused"),
    [
        ({}, False),
        ({"deadline": "2026-11-27T05:30:00Z", "sweep_without": ["worker1"]}, False),
        ({"sweep_without": []}, False),
        ({"deadline": "2026-11-27T06:30:00Z"}, True),
        ({"sweep_without": ["worker1", "worker2"]}, True),
    ],
)
def test_a_running_sweep_takes_no_other_deadline_or_nodes(lab, extra, is_refused):
    lab.runs("client1", RUNNER, f"rackbench run monday for {HERE}", ExecStart=ARGV)
    given = {"study": "sort", "run": "monday", "sweep_root": str(lab.directory), **extra}
    code, said = lab.play(FREE, **given)
    assert code != 0, "what follows needs a lab"
    refusal = "client1 runs monday already, until 2026-11-27T05:30:00Z and without worker1"
    assert (refusal in said) == is_refused, said
    assert (f"systemctl stop {RUNNER}" in said) == is_refused


TAKEN = ["broker_heap_mb", "collector", "tomcat_heap_mb", "worker_heap_mb"]


def freed(lab, **extra):
    """Ask a client that is provisioned for this lab and keeps its runs in the lab's directory."""
    services = {"all": {"settings": TAKEN}}
    known = {
        "__sweep_missing": [],
        "__sweep_runs": str(lab.directory / "runs"),
        "sweep_lab": {"endpoints": {"worker1": {"services": services}}},
    }
    return lab.play(FREE, **asked(lab, **known, **extra))


def test_clients_of_all_runs_are_checked_before_the_first_trial(lab):
    several = {"study": "sort,mtom"}
    code, said = planned(lab, **several)
    assert code == 0, said
    (lab.directory / "runs").mkdir()
    refusing = "! grep mtom || { echo no such client; exit 2; } >&2"
    code, said = freed(lab, **several, __sweep_check=["sh", "-c", refusing])
    assert code == 2
    assert "client1 cannot run monday-mtom: no such client. Correct that" in said
    assert "cannot run monday-sort" not in said
    for status in 0, 1, 3:  # an earlier version has no such check
        code, said = freed(lab, **several, __sweep_check=["sh", "-c", f"cat >&2; exit {status}"])
        assert code == 0, said
        assert "access issue" not in said  # of the runs' directories, which do not exist yet


def test_the_client_of_a_single_run_is_checked_as_well(lab):
    code, said = planned(lab)
    assert code == 0, said
    (lab.directory / "runs").mkdir()
    refusing = "cat >/dev/null; echo no such client >&2; exit 2"
    code, said = freed(lab, __sweep_check=["sh", "-c", refusing])
    assert code == 2
    assert "client1 cannot run monday: no such client. Correct that" in said


def test_a_client_that_is_not_there_is_refused_with_the_programs_that_are(lab):
    code, said = planned(lab)
    assert code == 0, said
    (lab.directory / "runs").mkdir()
    refusing = "cat >/dev/null; echo /x/own: no such client directory >&2; exit 2"
    code, said = freed(lab, __sweep_check=["sh", "-c", refusing], sweep_programs=["wrk", "own"])
    assert code == 2
    deployed = "playbooks/site.yml deploys the clients in Java and these programs: wrk, own."
    assert f"no such client directory. {deployed} Correct that" in said


def test_a_client_without_room_or_with_another_plan_is_refused_before_the_run_begins(lab):
    code, said = planned(lab)
    assert code == 0, said
    draft = lab.directory / "results/.planned/monday/plan.jsonl"
    there = lab.directory / "runs/monday/plan.jsonl"
    there.parent.mkdir(parents=True)
    there.write_bytes(draft.read_bytes())
    code, said = freed(lab)
    assert code == 0, said
    code, said = freed(lab, sweep_free_mb=10**9)
    assert code == 2
    assert "where sealed trials wait, but a sweep needs 1000000000; make room there" in said
    there.write_text("other\n")
    code, said = freed(lab)
    assert code == 2
    assert "client1 has a run monday of another plan" in said
    assert not (lab.directory / "results/monday").exists()


def test_trials_of_a_run_that_has_not_begun_here_are_not_taken_for_its_own(lab):
    code, said = planned(lab)
    assert code == 0, said
    trials = lab.directory / "runs/monday/trials"
    trials.mkdir(parents=True)
    code, said = freed(lab)
    assert code == 0, said
    (trials / "b01-t001-soap-1-500").mkdir()
    code, said = freed(lab)
    assert code == 2
    assert "client1 has sealed trials of an earlier run monday" in said
    results = lab.directory / "results"
    results.joinpath("monday").mkdir()
    # `collect rerun` lays the plan down before its run begins.
    shutil.copy(results / ".planned/monday/plan.jsonl", results / "monday")
    code, said = freed(lab)
    assert code == 2
    assert "client1 has sealed trials of an earlier run monday" in said
    code, said = lab.play(RECORD, **asked(lab))  # now it has begun
    assert code == 0, said
    code, said = freed(lab)
    assert code == 0, said


# As many zeros as a checksum has, of what `make build` would build.
BUILT = ("axis.war", "mtom.war", "tomcat.tar.gz", "openmq.zip", "workers.tar.gz")
MANIFEST = dict.fromkeys((*BUILT, "harness.tar.gz", "clients.tar.gz"), "0" * 64)


def of_sweep(name):
    """Return the play that sets the nodes, and its task whose name begins so."""
    plays = yaml.safe_load((ROOT / "playbooks/sweep.yml").read_text())
    (sweep,) = [play for play in plays if play["name"] == "Sweep"]
    (task,) = [task for task in sweep["tasks"] if task["name"].startswith(name)]
    return sweep, task


def heaps_asked(lab, *nodes):
    """Ask on nodes of 2000 MiB for these settings, by the sweep's own task."""
    sweep, task = of_sweep("Refuse heaps")
    known = {
        "validate_answer": {"stdout": "free-mb 9000\nmemory-mb 2000\n"},
        "sweep_settings": [{"node": node} for node in nodes],
    }
    before = [
        # For its filters.
        {"ansible.builtin.import_role": {"name": "sweep", "tasks_from": "record"}, "when": False},
        {"ansible.builtin.group_by": {"key": "sweep_uses"}},
        {"ansible.builtin.set_fact": known},
    ]
    text = [
        {"hosts": "nodes", "gather_facts": False, "tasks": before},
        {**sweep, "tasks": [task]},
    ]
    return lab.play(yaml.safe_dump(text), rackbench_manifest=MANIFEST)


def test_a_heap_too_large_for_a_node_is_refused_before_the_first_group(lab):
    code, said = heaps_asked(lab, {"tomcat_heap_mb": 64}, {"sort_worker_heap_mb": 512})
    assert code == 0, said
    code, said = heaps_asked(lab, {"link_mbit": 10}, {"tomcat_heap_mb": 4096, "worker_heap_mb": 64})
    assert code == 2
    for worker in GROUPS["workers"]:
        assert f"{worker} has 2000 MiB of memory, but its services need 4802: heaps of 4096" in said
    assert "broker1 has 2000" not in said


OTHERS = [{"package": "openjdk-25-jre-headless", "release": 25}]


def settable_play():
    """Return a play that asks nodes what a sweep asks them before it sets anything."""
    _, ask = of_sweep("Refuse what a node cannot")
    ask["ansible.builtin.include_tasks"] = str(ROOT / "playbooks/tasks/settable.yml")
    groups = {"name": "Use all", "ansible.builtin.group_by": {"key": "sweep_uses"}}
    play = {"hosts": "nodes", "gather_facts": False, "tasks": [groups, ask]}
    return yaml.safe_dump([play], sort_keys=False)


def settable(lab, **extra):
    """Ask nodes whether they can be set to what two groups of trials and a client need."""
    of_services = {"node": {"jdk": 21}, "jdks": [21, 25], "is_attached": False}
    of_client = {"node": {}, "jdks": [25], "is_attached": False}
    known = {"sweep_settings": [of_services, of_client], "rackbench_manifest": MANIFEST}
    return lab.play(settable_play(), **known | extra)


def test_a_jdk_that_the_inventory_does_not_list_is_refused_with_node_and_next_step(lab):
    code, said = settable(lab)
    assert code != 0
    assert "worker2 has no JDK 25, which a study asks for: its inventory lists JDK 21." in said
    assert "jdk_others: [{package: openjdk-25-jre-headless, release: 25}] to lab.yml" in said
    assert settable(lab, jdk_others=OTHERS)[0] == 0
    code, said = settable(lab, jdk_others=OTHERS, jdk_release=17)
    assert "worker1 has no JDK 21, which a study asks for: its inventory lists JDK 17, 25." in said


def test_a_jdk_that_a_service_does_not_run_on_is_refused_where_it_serves(lab):
    """OpenMQ 6.7 needs Java 21."""
    of_17 = [{"package": "openjdk-17-jre-headless", "release": 17}]
    both = [{"node": {"jdk": jdk}, "jdks": [17, 21], "is_attached": False} for jdk in (21, 17)]
    code, said = settable(lab, sweep_settings=both, jdk_others=of_17)
    assert code != 0
    assert "broker1: a study asks for JDK 17 for all services, but broker needs JDK 21 or" in said
    assert "worker1: a study" not in said
    older = {"jdk_others": of_17, "rackbench_openmq": "6.5.1"}
    assert settable(lab, sweep_settings=both, **older)[0] == 0
    of_client = [{"node": {"jdk": 21}, "jdks": [17, 21], "is_attached": False}]
    assert settable(lab, sweep_settings=of_client, jdk_others=of_17)[0] == 0


JAVA = """#!/bin/sh
case "$*" in *UseFoo*) echo "Unrecognized VM option 'UseFoo'" >&2; exit 1 ;; esac
"""
SYSCTL = """#!/bin/sh
case "$1 $2" in
"--values "*) cat "$NODE/$2" ;;
"--quiet --write")
  case $3 in *=fast) echo "sysctl: setting key ${3%%=*}: Invalid argument" >&2; exit 1 ;; esac
  echo "$3" >>"$NODE/written"
  case $3 in *=010) echo 8 ;; *) echo "${3#*=}" | tr ' ' '\\t' ;; esac >"$NODE/${3%%=*}" ;;
"--quiet --load="*)
  cat "${2#--load=}" >>"$NODE/written"
  while read -r name _ value; do echo "$value" >"$NODE/$name"; done <"${2#--load=}" ;;
esac
"""


def with_a_kernel(lab, tmp_path):
    """Give each node a kernel of one parameter, which is 4096; return its name."""
    name = "net.core.somaxconn"
    stub = tmp_path / "stubs/sysctl"
    stub.write_text(SYSCTL)
    stub.chmod(0o755)
    for node in ADDRESSES:
        (lab.node(node) / name).write_text("4096\n")
    return name


def test_options_that_a_jvm_does_not_take_are_refused_before_the_first_trial(lab, tmp_path):
    java = tmp_path / "jdk/bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA)
    java.chmod(0o755)
    more = {"server_jvm_options.tomcat": "-XX:+UseFoo", "collector": "g1"}
    asked = [{"node": more, "jdks": [], "is_attached": False}]
    code, said = settable(lab, sweep_settings=asked, bench_jdk_home=str(tmp_path / "jdk"))
    assert code != 0
    assert "worker1: Java 21 does not start with -XX:+UseG1GC -XX:+UseFoo: Unrecognized VM" in said
    runs = [{"node": {}, "jdks": [], "is_attached": True}]  # a JVM would disturb its trial
    code, said = settable(lab, sweep_settings=runs + asked, bench_jdk_home=str(tmp_path / "jdk"))
    assert code == 0, said
    more["server_jvm_options.tomcat"] = "-Xss1m"
    code, said = settable(lab, sweep_settings=asked, bench_jdk_home=str(tmp_path / "jdk"))
    assert code == 0, said


def test_a_value_that_the_kernel_does_not_take_is_refused_and_others_are_restored(lab, tmp_path):
    name = with_a_kernel(lab, tmp_path)
    groups = [128, "fast"]
    asked = [{"node": {f"sysctl.{name}": one}, "jdks": [], "is_attached": False} for one in groups]
    kept = {"bench_sysctls_kept": f"{tmp_path}/kept-{{{{ inventory_hostname }}}}"}
    code, said = settable(lab, sweep_settings=asked, **kept)
    assert code != 0
    assert f"worker2 cannot set {name}=fast: sysctl: setting key {name}: Invalid" in said
    written = (lab.node("worker1") / "written").read_text().splitlines()
    assert written == [f"{name}=128", f"{name} = 4096", f"{name} = 4096"]
    for one in asked:
        one["is_attached"] = True
    assert settable(lab, sweep_settings=asked, **kept)[0] == 0


def test_a_value_that_the_kernel_reads_otherwise_is_refused(lab, tmp_path):
    name = with_a_kernel(lab, tmp_path)
    kept = {"bench_sysctls_kept": f"{tmp_path}/kept-{{{{ inventory_hostname }}}}"}
    nothing = {"jdks": [], "is_attached": False}
    spaced = [{"node": {f"sysctl.{name}": "4096  16384"}, **nothing}]
    code, said = settable(lab, sweep_settings=spaced, **kept)
    assert code == 0, said
    octal = [{"node": {f"sysctl.{name}": "010"}, **nothing}]
    code, said = settable(lab, sweep_settings=octal, **kept)
    assert code != 0
    assert f"worker2 cannot set {name}=010: the kernel then has 8. Correct the study" in said
    assert (lab.node("worker2") / name).read_text() == "4096\n"


def test_a_limit_in_bytes_is_restored_after_a_study_of_its_ratio(lab, tmp_path):
    with_a_kernel(lab, tmp_path)
    for node in ADDRESSES:
        (lab.node(node) / "vm.dirty_ratio").write_text("0\n")
        (lab.node(node) / "vm.dirty_bytes").write_text("4096\n")
    asked = [{"node": {"sysctl.vm.dirty_ratio": 10}, "jdks": [], "is_attached": False}]
    kept = {"bench_sysctls_kept": f"{tmp_path}/kept-{{{{ inventory_hostname }}}}"}
    code, said = settable(lab, sweep_settings=asked, **kept)
    assert code == 0, said
    written = (lab.node("worker1") / "written").read_text().splitlines()
    assert written == ["vm.dirty_ratio=10", "vm.dirty_bytes = 4096"]


def test_a_kernel_that_lost_a_setting_of_the_study_is_set_again(lab, tmp_path):
    name = with_a_kernel(lab, tmp_path)
    tasks, only = ROOT / "playbooks/tasks", tmp_path / "set_services.yml"
    parts = yaml.safe_load((tasks / "set_services.yml").read_text())
    (kernel,) = [task for task in parts if task["name"] == "Set the kernel"]
    kernel["ansible.builtin.import_tasks"] = str(tasks / "set_kernel.yml")
    only.write_text(yaml.safe_dump([kernel]))
    (services,) = yaml.safe_load((tasks / "services.yml").read_text())
    services["ansible.builtin.include_tasks"] = str(only)
    groups = {"ansible.builtin.group_by": {"key": "sweep_uses"}}
    play = [{"hosts": "nodes", "gather_facts": False, "tasks": [groups, services]}]
    code, said = lab.play(
        yaml.safe_dump(play),
        bench_sysctls={name: "128"},
        bench_sysctls_kept=f"{tmp_path}/kept-{{{{ inventory_hostname }}}}",
        fingerprint_taken={"undeclared": [{"item": f"sysctls {name}", "others": "128"}]},
        setting_is_due=True,
        sweep_setting={"is_attached": False},
        worker_programs_list=[],
    )
    assert code == 0, said
    assert (lab.node("worker1") / "written").read_text() == f"{name}=128\n"


@pytest.mark.parametrize("is_attached", [True, False])
def test_a_kernel_is_not_set_under_a_running_trial(lab, tmp_path, is_attached):
    name = with_a_kernel(lab, tmp_path)
    groups = {"ansible.builtin.group_by": {"key": "sweep_uses"}}
    tasks = {"ansible.builtin.include_tasks": str(ROOT / "playbooks/tasks/set_kernel.yml")}
    play = [{"hosts": "nodes", "gather_facts": False, "tasks": [groups, tasks]}]
    code, said = lab.play(
        yaml.safe_dump(play),
        bench_sysctls={name: "128"},
        bench_sysctls_kept=f"{tmp_path}/kept-{{{{ inventory_hostname }}}}",
        setting_is_due=True,
        sweep_setting={"is_attached": is_attached},
    )
    assert code == 0, said
    assert (lab.node("worker1") / "written").exists() != is_attached


def test_a_governor_that_a_node_does_not_offer_is_refused_before_the_first_trial(lab):
    nothing = {"jdks": [], "is_attached": False}
    asked = [{"node": {"governor": "conserving"}, **nothing}, {"node": {}, **nothing}]
    code, said = settable(lab, sweep_settings=asked)
    assert code != 0
    assert "worker1" in said
    assert "A study needs the governor conserving, but this" in said
    assert "Remove governor from the study" in said
    code, said = settable(lab, sweep_settings=asked, baseline_governor="")
    assert "baseline_governor of worker1 is empty, so no later sweep could restore it" in said
