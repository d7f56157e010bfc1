"""The units that a bench stops: those of them that a node has, and back as they were."""

import pytest
import yaml
from loading import ROOT, load

WANTED = yaml.safe_load((ROOT / "playbooks/vars/bench.yml").read_text())["baseline_timers_off"]
HAS = {
    "fstrim.timer": ("enabled", "active"),
    "mdcheck_start.timer": ("enabled", "inactive"),
    "xfs_scrub_all.timer": ("disabled", "inactive"),
    "man-db.timer": ("static", "active"),
    "snapd.service": ("enabled", "active"),
    "snapd.socket": ("enabled", "active"),
}
STOPPED = [name for name in WANTED if name in HAS and name != "xfs_scrub_all.timer"]
NOTHING = {
    **dict.fromkeys(("governor", "huge_pages", "irq_cpus", "hostname"), ""),
    **dict.fromkeys(("turbo", "swap", "max_cstate_us", "tcp_tw_reuse"), None),
    **dict.fromkeys(("jvm_cpus", "jvm_numa"), None),
    **{"hold": [], "port_range": []},
}


@pytest.fixture
def node(monkeypatch):
    """The module on a node with some of the units, and the commands that it calls."""
    module, called = load("roles/baseline/library/tuning.py"), []

    def run(*argv, stdin=""):
        if argv[1] != "show":
            called.append(argv)
            return ""
        rows = []
        for name in argv[4:]:
            file, active = HAS.get(name, ("", "inactive"))
            load_state = "loaded" if name in HAS else "not-found"
            rows.append(
                f"Id={name}\nLoadState={load_state}\nUnitFileState={file}\nActiveState={active}\n"
            )
        return "\n".join(rows)

    monkeypatch.setattr(module.steps.host, "run", run)
    return module, called


def test_what_a_node_has_is_stopped_and_started_again_by_a_reset(node, tmp_path):
    tuning, called = node
    done, left = tuning.tune(tmp_path, NOTHING | {"units_off": WANTED}, check=False)
    assert (done, left) == (STOPPED, {})
    assert called == [("systemctl", "disable", "--now", "--quiet", name) for name in STOPPED]
    called.clear()
    assert tuning.reset(tmp_path, check=False) == (["units"], {})
    enabled = {argv[-1] for argv in called if argv[1] == "enable"}
    started = {argv[-1] for argv in called if argv[1] == "start"}
    assert enabled == {"fstrim.timer", "mdcheck_start.timer", "snapd.service", "snapd.socket"}
    assert started == {"fstrim.timer", "man-db.timer", "snapd.service", "snapd.socket"}


def test_a_socket_is_stopped_before_the_service_that_it_would_start_again():
    assert WANTED.index("snapd.socket") < WANTED.index("snapd.service")
    assert "snapd.seeded.service" in WANTED, "it requires the socket at each boot"


def test_each_timer_that_is_stopped_is_known_to_the_sampler_where_it_works_on_disks():
    names = load("roles/health/files/sampler.py").MAINTENANCE
    disks = {"fstrim", "e2scrub_all", "mdcheck_start", "mdcheck_continue", "xfs_scrub_all"}
    assert {f"{name}.service" for name in disks} <= names
    assert {f"{name}.timer" for name in disks} <= set(WANTED)
