"""What is refused before the first trial of a sweep, and what is recorded of its nodes."""

import subprocess
from pathlib import Path

import pytest
import yaml
from loading import ROOT, load
from machine import wait_for
from rendering import Role

sweep = load("roles/sweep/filter_plugins/runs.py")


@pytest.mark.parametrize(("code", "is_refused"), [(0, False), (2, True), (None, False)])
def test_a_kernel_without_netem_is_refused_before_the_first_trial(code, is_refused):
    kernel = {"stderr": "Error: Specified qdisc kind is unknown.\n"}
    role = Role(
        "sweep",
        inventory_hostname="rack01",
        sweep_settings=[{"node": {"link_delay_ms": 10, "link_loss": 1}}],
        sweep_runs=[{"study": "far", "run": "far-demo"}],
        __sweep_netem=kernel if code is None else {**kernel, "rc": code},
    )
    task = role.task("free", "Stop where it cannot")
    assert role.holds(task["when"]) == is_refused
    said = role.render(task["ansible.builtin.fail"]["msg"])
    assert said.startswith(
        "rack01 cannot set link_delay_ms and link_loss of far-demo: its kernel has no sch_netem "
        "(Error: Specified qdisc kind is unknown.). Sweep on a machine"
    )


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


def test_a_run_records_which_settings_further_servers_take():
    (task, *_) = yaml.safe_load((ROOT / "playbooks/tasks/run.yml").read_text())
    served = task["vars"]["sweep_provenance"]["served"]
    assert Role("sweep", sweep_servers={}).render(served) == {}
    birds = {"parrots": {"parrot": ["jdk"]}, "gulls": {"gull": ["collector"]}}
    found = Role("sweep", sweep_servers=birds).render(served)
    assert found == {"parrot": ["jdk"], "gull": ["collector"]}


def test_a_plan_is_checked_in_a_directory_that_goes_away():
    role = Role("sweep", sweep_user="root", sweep_run="monday", sweep_root="/work")
    check = role.render("{{ __sweep_check }}")
    argv = check[check.index("sh") :]
    fake = 'echo "$2"; cat "$2/plan.jsonl"; exit 2'
    done = subprocess.run(
        [*argv, "sh", "-c", fake, "java"], input="{}\n", capture_output=True, text=True, check=False
    )
    directory, plan = done.stdout.splitlines()
    assert (done.returncode, plan) == (2, "{}")
    assert not Path(directory).exists()
    command = role.render("{{ __sweep_check_command }}")
    runner = role.render("{{ __sweep_runner_command }}")
    assert command[-4:] == runner[runner.index("--lab") : runner.index("--lock")]


def test_a_check_is_confined_as_the_runner_of_a_program():
    role = Role("sweep", sweep_user="root", sweep_has_program=True)
    check = role.render("{{ __sweep_check }}")
    unit = check[: check.index("sh")]
    assert set(role.render("{{ __sweep_executes }}")) < set(unit)
    # By its name it has the sandbox of rackbench's units. Its input and its status pass through.
    assert {"--unit=rackbench-check.service", "--pipe", "--wait"} < set(unit)
    script = role.render("{{ __sweep_check_plan }}")
    assert not [one for one in ("${", "$$") if one in script], "systemd would expand these"


@pytest.mark.parametrize("kind", ["one file", "both files of a group"])
def test_two_commands_that_hand_over_the_same_run_at_once_leave_it_whole(tmp_path, kind):
    role = Role("sweep", sweep_user="root", __sweep_source=str(tmp_path))
    one_file = [*role.render("{{ __sweep_hand_over }}")[3:], "open"]
    group = ["sh", "-euc", role.render("{{ __sweep_lay }}"), str(tmp_path)]
    argv = one_file if kind == "one file" else group
    (tmp_path / "state.json").write_text('{"state": "deadline"}')  # of the last night
    both = [subprocess.Popen(argv, stdin=subprocess.PIPE) for _ in range(2)]
    for command in both:
        command.stdin.write(b"{}\nb01-t001\n")
        command.stdin.flush()
    wait_for(lambda: len(list(tmp_path.glob("open*.part"))) == 2, "both to write", 10)
    for command in both:
        command.stdin.close()
        assert command.wait(10) == 0
    handed_over = {"open"} if kind == "one file" else {"open", "setting.json"}
    assert {file.name for file in tmp_path.iterdir()} == handed_over
    assert (tmp_path / "open").read_text().endswith("b01-t001\n")


def test_what_is_handed_over_is_on_the_disk_before_it_has_its_name(tmp_path):
    (tmp_path / "sync").write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/synced\n')
    (tmp_path / "sync").chmod(0o755)
    run = tmp_path / "run"
    role = Role("sweep", sweep_user="root", __sweep_source=str(run))
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    argv = [*role.render("{{ __sweep_hand_over }}")[3:], "plan.jsonl"]
    subprocess.run(argv, input=b"{}\n", check=True, env=path)
    part, directory = (tmp_path / "synced").read_text().splitlines()
    assert part.startswith(f"{run}/plan.jsonl.")
    assert part.endswith(".part")
    assert directory == str(run)


def test_no_locale_of_a_node_writes_the_numbers_of_a_program():
    role = Role(
        "sweep", sweep_user="root", sweep_run="monday", sweep_root="/w", sweep_operator="me"
    )
    for command in ("__sweep_unit_command", "__sweep_check"):
        assert "--setenv=LC_ALL=C.UTF-8" in role.render(f"{{{{ {command} }}}}")


def test_a_trial_that_the_kernel_kills_for_its_memory_leaves_the_runner_at_work():
    """By default systemd stops a unit one of whose processes was killed for that."""
    role = Role(
        "sweep", sweep_user="root", sweep_run="monday", sweep_root="/w", sweep_operator="me"
    )
    assert "--property=OOMPolicy=continue" in role.render("{{ __sweep_unit_command }}")
