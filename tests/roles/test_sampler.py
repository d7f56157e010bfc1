"""What the health service samples of a node and its services, from made-up /proc and cgroups."""

import json
from itertools import pairwise

import pytest
from loading import load

MOUNT = "30 20 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup2 rw\n"
SLICE = "sys/fs/cgroup/system.slice"
TOMCAT = f"{SLICE}/rackbench-tomcat.service"
DEVICES = """Inter-|   Receive                    |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets
    lo: 900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0
 host0: 700 7 0 0 0 0 0 0 300 3 0 0 0 0 0 0
"""
BRIDGE = "   br0: 700 7 0 0 0 0 0 0 300 3 0 0 0 0 0 0\n"
ALLOWED = "Name:\tjava\nCpus_allowed_list:\t0,2-3\n"
SNMP = "Tcp: RtoAlgorithm RetransSegs\nTcp: 1 42\n"
IO = "8:0 rbytes=100 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2 rios=1\n"


@pytest.fixture(scope="module")
def sampler():
    return load("roles/health/files/sampler.py")


class Node:
    """The files of a node with one service, Tomcat."""

    def __init__(self, root, sampler):
        self.root = root
        self.put("proc/self/mountinfo", MOUNT)
        self.put("proc/self/cgroup", "0::/system.slice/rackbench-health.service\n")
        self.put("proc/net/dev", DEVICES)
        self.put("proc/net/snmp", SNMP)
        self.put("proc/7/statm", "900 10 5 1 0 5 0\n")
        self.put("proc/8/statm", "900 30 5 1 0 5 0\n")
        self.put("sys/fs/cgroup/cpu.stat", "usage_usec 5000\nuser_usec 4000\n")
        self.put("sys/class/net/host0/speed", "10000\n")
        self.put("run/systemd/units/here", "")
        self.begin("tomcat", "first", 100)
        self.sampler = sampler.Sampler(str(root))
        self.page = sampler.PAGE_BYTES

    def put(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def begin(self, service, start, micros):
        unit = f"rackbench-{service}"
        self.put(f"{SLICE}/{unit}.service/cpu.stat", f"usage_usec {micros}\n")
        self.put(f"{SLICE}/{unit}.service/cgroup.procs", "8\n9\n")
        self.put(f"run/{unit}/gc.log", "[0.1s] Using Parallel\n")
        link = self.root / f"run/systemd/units/invocation:{unit}.service"
        link.unlink(missing_ok=True)
        link.symlink_to(start)

    def last(self, service=""):
        """The newest sample, taken now."""
        self.sampler.sample(0)
        return self.sampler.told(0, 9)["series"][service][-1]

    def log(self, text, file="gc.log"):
        with (self.root / "run/rackbench-tomcat" / file).open("a") as log:
            log.write(text)


@pytest.fixture
def node(tmp_path, sampler):
    return Node(tmp_path, sampler)


def test_totals_of_a_service_are_those_of_its_control_group(node):
    node.put(f"{SLICE}/rackbench-tomcat.service/io.stat", IO)
    found = node.last("tomcat")
    assert (found.start, found.cpu_us, found.rss_bytes) == ("first", 100, 30 * node.page)
    assert (found.disk_read_bytes, found.disk_write_bytes) == (101, 22)
    assert (found.rx_bytes, found.tx_bytes, found.retransmits) == (None, None, None)
    assert found.gc_us == 0


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, None),
        ({f"{TOMCAT}/cpu.max": "10000 100000\n"}, 0.1),
        ({f"{TOMCAT}/cpu.max": "max 100000\n"}, None),
        ({f"{SLICE}/cpu.max": "150000 100000\n", f"{TOMCAT}/cpu.max": "max 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "50000 100000\n", f"{TOMCAT}/cpu.max": "90000 100000\n"}, 0.5),
        ({"proc/8/status": ALLOWED}, 3),
        (
            {"proc/8/status": "Cpus_allowed_list:\t0-2\n", f"{TOMCAT}/cpu.max": "50000 100000\n"},
            0.5,
        ),
        ({"proc/8/status": "Cpus_allowed_list:\t0-63\n"}, None),  # also of those that are off
    ],
)
def test_a_service_is_held_by_its_groups_and_by_the_processors_it_may_run_on(
    node, sampler, monkeypatch, files, cores
):
    monkeypatch.setattr(sampler.os, "cpu_count", lambda: 4)
    for name, text in files.items():
        node.put(name, text)
    assert node.sampler.told(0, 9)["limits"].get("tomcat") == cores


def test_the_node_is_the_whole_of_what_it_sees(node):
    found = node.last()
    assert (found.cpu_us, found.rss_bytes) == (5000, 40 * node.page)
    # Without hardware every device but loopback is the node's.
    assert (found.rx_bytes, found.tx_bytes, found.retransmits) == (700, 300, 42)
    assert (found.disk_read_bytes, found.gc_us) == (None, None)
    assert node.sampler.told(0, 9)["link_mbit"] is None


def test_hardware_counts_once_below_its_bridge_and_says_its_rate(node, sampler):
    node.put("proc/net/dev", DEVICES + BRIDGE)
    node.put("sys/class/net/br0/speed", "20000\n")
    node.put("sys/class/net/host0/device/vendor", "")
    node.put("sys/fs/cgroup/memory.stat", "anon 4000\nfile 900\nfile_mapped 96\n")
    node.sampler = sampler.Sampler(str(node.root))
    found = node.last()
    assert (found.rx_bytes, found.rss_bytes) == (700, 4096)
    assert node.sampler.told(0, 9)["link_mbit"] == 10000
    node.put("sys/class/net/host0/speed", "-1\n")  # it does not know
    assert node.sampler.told(0, 9)["link_mbit"] is None


def test_without_control_groups_the_node_counts_by_ticks_and_services_are_a_gap(tmp_path, sampler):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  10 20 30 1000 50 1 2 99 0 0\n")
    bare = sampler.Sampler(str(tmp_path))
    bare.sample()
    told = bare.told(0, 9)
    assert list(told["series"]) == [""]
    assert told["series"][""][0].cpu_us == 63 * 1_000_000 // sampler.TICKS_PER_S
    assert told["series"][""][0].rss_bytes is None


def test_a_service_that_ends_leaves_a_gap_and_one_that_begins_anew_another_start(node):
    before = node.last("tomcat")
    group = node.root / SLICE / "rackbench-tomcat.service"
    group.rename(node.root / "gone")
    node.sampler.sample(0)
    (node.root / "gone").rename(group)
    node.begin("tomcat", "second", 3)
    after = node.last("tomcat")
    found = node.sampler.told(0, 9)["series"]
    assert [len(found[name]) for name in ("", "tomcat")] == [3, 2]
    assert (before.start, after.start, after.cpu_us) == ("first", "second", 3)


def test_pauses_are_read_on_from_the_last_look_and_across_the_rotation(node):
    node.log("[1s] GC(0) Pause Young (Allocation Failure) 9M->1M(9M) 99.000ms\n")
    assert node.last("tomcat").gc_us == 0  # from before the first look
    node.log("[2s] GC(1) Pause Young (Allocation Failure) 9M->1M(9M) 1.250ms\n[2s] GC(2) Pau")
    assert node.last("tomcat").gc_us == 1250
    node.log("se Full (System.gc()) 9M->1M(9M) 10.000ms\n[3s] GC(3) Concurrent Mark Cycle 50ms\n")
    assert node.last("tomcat").gc_us == 11250
    node.log("[4s] GC(4) Pause Young (x) 9M->1M(9M) 2.000ms\n")
    log = node.root / "run/rackbench-tomcat/gc.log"
    log.rename(log.with_name("gc.log.0"))
    node.log("[5s] GC(5) Pause Young (x) 9M->1M(9M) 3.000ms\n")
    assert node.last("tomcat").gc_us == 16250


def test_a_log_of_which_some_is_lost_is_unknown_and_then_goes_on(node):
    node.last("tomcat")
    log = node.root / "run/rackbench-tomcat/gc.log"
    log.rename(log.with_name("older"))
    node.log("[5s] GC(5) Pause Young (x) 9M->1M(9M) 3.000ms\n")
    assert node.last("tomcat").gc_us is None
    assert node.last("tomcat").gc_us == 3000
    log.unlink()
    assert node.last("tomcat").gc_us is None


def test_it_samples_at_once_when_looked_at_and_while_the_lease_lasts(node):
    assert node.sampler.until == 0
    node.sampler.look()
    node.sampler.look()  # there is one already that is not older than a fifth of a second
    assert len(node.sampler.told(0, 9)["series"]["tomcat"]) == 1
    assert node.sampler.until > 0
    first = node.sampler.sampled_ns
    node.last()
    assert [s.t_ns >= first for s in node.sampler.told(first, 9)["series"][""]] == [True, True]
    assert node.sampler.told(node.sampler.sampled_ns + 10**9, 9)["series"] == {}


def test_a_sample_at_once_is_one_more_and_replaces_the_next_of_every_second(node):
    node.sampler.look()
    node.sampler.sample(0)  # as the runner asks right before the measured calls
    assert len(node.sampler.told(0, 9)["series"]["tomcat"]) == 2
    node.sampler.sample()  # the one that is due within half a second
    assert len(node.sampler.told(0, 9)["series"]["tomcat"]) == 2


def test_long_series_are_bounded_and_keep_their_first_and_last_sample(sampler):
    series = sampler.Series()
    empty = [None] * (len(sampler.Sample._fields) - 1)
    for t_ns in range(100_000):
        series.add(sampler.Sample(t_ns, *empty))
    found = [one.t_ns for one in series.since(0, 10**6)]
    assert found == sorted(found)
    assert len(found) <= sampler.TIERS * sampler.TIER_ROWS
    steps = [after - before for before, after in pairwise(found)]
    assert steps[-sampler.TIER_ROWS + 1 :] == [1] * (sampler.TIER_ROWS - 1)
    assert max(steps) == 2 ** (sampler.TIERS - 1)
    few = [one.t_ns for one in series.since(found[5], 20)]
    assert (few[0], few[-1]) == (found[5], 99_999)
    assert 10 <= len(few) <= 20


def test_containers_that_share_a_kernel_say_the_same_boot(node, sampler):
    place = "/proc/sys/kernel/random/boot_id"
    node.put(place[1:], "one\n")
    own = node.sampler.boot()
    node.put(place[1:], "other\n")
    assert node.sampler.boot() != own
    node.put("proc/self/mountinfo", f"{MOUNT}31 20 0:9 /x {place} ro - tmpfs tmpfs rw\n")
    node.put("proc/stat", "btime 1700000000\n")
    shared = node.sampler.boot()
    node.put(place[1:], "third\n")
    assert node.sampler.boot() == shared
    node.put("proc/stat", "btime 1700000001\n")
    assert node.sampler.boot() != shared


def test_what_was_used_is_told_by_query_and_nonsense_refused(node):
    health = load("roles/health/files/health.py")
    node.last()
    told = json.loads(json.dumps(health.resources("since=0&most=5", node.sampler)))
    assert told["columns"][:3] == ["t_ns", "start", "cpu_us"]
    assert told["series"]["tomcat"][0][1:3] == ["first", 100]
    assert told["now_ns"] + told["took_ns"] >= told["series"][""][-1][0]
    with pytest.raises(ValueError, match="soon"):
        health.resources("since=soon", node.sampler)


def test_a_check_of_an_array_and_a_trim_are_maintenance(node):
    assert node.sampler.maintenance() == []
    node.put("sys/block/md0/md/sync_action", "check\n")
    node.put("sys/block/md1/md/sync_action", "idle\n")
    node.put("sys/block/sda/stat", "1 2 3\n")
    node.put(f"{SLICE}/fstrim.service/cgroup.procs", "77\n")
    assert node.sampler.maintenance() == ["fstrim.service", "check of md0"]
    node.put("sys/block/md0/md/sync_action", "frozen\n")
    assert node.sampler.maintenance() == ["fstrim.service"]


def test_what_disks_discard_is_counted_once(node):
    """A device of the mapper or an array passes on what it discards to the disks below it."""
    assert node.sampler.discarded_bytes() is None
    stat = "9 0 80 4 9 0 80 4 0 8 8 3 0 {} 5 0 0\n"
    for name, sectors in (("sda", 1000), ("sdb", 24), ("md0", 1000)):
        node.put(f"sys/block/{name}/stat", stat.format(sectors))
    for name in ("sda", "sdb"):
        node.put(f"sys/block/{name}/device/model", "a disk\n")
    node.put("sys/block/sdc/device/model", "an old kernel's\n")
    node.put("sys/block/sdc/stat", "9 0 80 4 9 0 80 4 0 8 8\n")
    assert node.sampler.discarded_bytes() == 1024 * 512
