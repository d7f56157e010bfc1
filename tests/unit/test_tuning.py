"""What makes a node steady, against made-up trees of kernel files."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[2] / "roles/baseline/library/tuning.py"
CPU = "sys/devices/system/cpu"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
ASKED = {
    "governor": "performance",
    "turbo": False,
    "huge_pages": "madvise",
    "swap": None,
    "units_off": [],
    "hold": [],
}


@pytest.fixture(scope="module")
def tuning():
    spec = spec_from_file_location("tuning", MODULE)
    module = sys.modules[spec.name] = module_from_spec(spec)  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def machine(tmp_path):
    """A machine of two cores with everything there is to set."""
    write(tmp_path, HUGE_PAGES, "[always] madvise never")
    write(tmp_path, f"{CPU}/intel_pstate/no_turbo", "0")
    for core in range(2):
        write(tmp_path, f"{CPU}/cpu{core}/cpufreq/scaling_governor", "powersave")
        offered = f"{CPU}/cpu{core}/cpufreq/scaling_available_governors"
        write(tmp_path, offered, "performance powersave")
    return tmp_path


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(f"{text}\n")


def values(root):
    """The kernel's files as they are now."""
    names = [f"{CPU}/cpu{core}/cpufreq/scaling_governor" for core in range(2)]
    names += [f"{CPU}/intel_pstate/no_turbo", HUGE_PAGES]
    return [(root / name).read_text().strip() for name in names]


def test_all_is_set_and_kept_at_boot(tuning, machine):
    settings, left = tuning.tune(machine, ASKED, check=False)
    assert settings == ["governor", "turbo", "huge_pages", "at boot"]
    assert left == {}
    assert values(machine) == ["performance", "performance", "1", "madvise"]
    lines = (machine / "etc/tmpfiles.d/rackbench-tuning.conf").read_text().splitlines()
    assert f"w /{CPU}/cpu1/cpufreq/scaling_governor - - - - performance" in lines
    assert f"w /{HUGE_PAGES} - - - - madvise" in lines


def test_a_second_time_there_is_nothing_to_do(tuning, machine):
    tuning.tune(machine, ASKED, check=False)
    assert tuning.tune(machine, ASKED, check=False) == ([], {})


def test_check_mode_tells_and_changes_nothing(tuning, machine):
    before = values(machine)
    settings, _ = tuning.tune(machine, ASKED, check=True)
    assert settings == ["governor", "turbo", "huge_pages", "at boot"]
    assert values(machine) == before
    assert not (machine / "etc").exists()


def test_reset_puts_back_what_was_found_first(tuning, machine):
    tuning.tune(machine, ASKED, check=False)
    tuning.tune(machine, ASKED | {"huge_pages": "never"}, check=False)
    settings, left = tuning.reset(machine, check=False)
    assert (set(settings), left) == ({"files", "at_boot"}, {})
    assert values(machine) == ["powersave", "powersave", "0", "always"]
    assert not [path for path in (machine / "etc").rglob("*") if path.is_file()]
    assert tuning.reset(machine, check=False) == ([], {})


def test_a_kill_between_record_and_change_loses_nothing(tuning, machine, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tuning, "write_all", kill)
        with pytest.raises(KeyboardInterrupt):
            tuning.tune(machine, ASKED, check=False)
    tuning.tune(machine, ASKED, check=False)
    tuning.reset(machine, check=False)
    assert values(machine) == ["powersave", "powersave", "0", "always"]


def kill(_):
    raise KeyboardInterrupt


def test_turbo_by_the_other_drivers_switch(tuning, machine):
    (machine / CPU / "intel_pstate/no_turbo").unlink()
    write(machine, f"{CPU}/cpufreq/boost", "1")
    tuning.tune(machine, ASKED, check=False)
    assert (machine / CPU / "cpufreq/boost").read_text() == "0"


def test_what_is_not_asked_for_is_left_without_a_word(tuning, machine):
    nothing = ASKED | {"governor": "", "turbo": None, "huge_pages": ""}
    before = values(machine)
    assert tuning.tune(machine, nothing, check=False) == ([], {})
    assert values(machine) == before


def test_a_machine_without_the_switches_says_so(tuning, tmp_path):
    settings, left = tuning.tune(tmp_path, ASKED, check=False)
    assert settings == []
    assert left == {
        "governor": "this machine offers no frequency governor",
        "turbo": "this machine offers no switch for it",
        "huge_pages": "this kernel has none",
    }


def test_a_governor_that_the_driver_lacks_is_named_with_those_it_has(tuning, machine):
    _, left = tuning.tune(machine, ASKED | {"governor": "ondemand"}, check=False)
    assert left == {"governor": "this machine offers performance, powersave and not ondemand"}


def test_a_container_sets_nothing_of_its_hosts_kernel(tuning, machine):
    write(machine, "run/systemd/container", "systemd-nspawn")
    write(machine, "proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2")
    before = values(machine)
    settings, left = tuning.tune(machine, ASKED | {"swap": False}, check=False)
    assert settings == []
    assert set(left) == {"governor", "turbo", "huge_pages", "swap"}
    assert all("container" in reason for reason in left.values())
    assert values(machine) == before


def test_what_cannot_be_written_is_left_with_the_reason(tuning, machine, monkeypatch):
    def refuse(_):
        raise OSError("Operation not permitted")

    monkeypatch.setattr(tuning, "write_all", refuse)
    settings, left = tuning.tune(machine, ASKED, check=False)
    assert settings == ["at boot"]
    assert left["turbo"] == "Operation not permitted"
    record = json.loads((machine / "etc/rackbench/found.json").read_text())
    assert record["files"][str(machine / CPU / "intel_pstate/no_turbo")] == "0"
