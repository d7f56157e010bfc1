"""What the module virtual_lab refuses, and what it makes of the kernel's and the tools' answers."""

import importlib
import json
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from loading import load
from rendering import Role

module = load("roles/virtual_lab/library/virtual_lab.py")
bridge, node, tree = module.bridge, module.node, module.tree
host = bridge.host
check = importlib.import_module("ansible.module_utils.virtual_lab.check")


@pytest.fixture
def lab(tmp_path):
    return module.Lab(
        name="two",
        root=tmp_path / "lab",
        image=Path("/images/one"),
        bridge="two-0",
        prefix="10.99.0",
        user="rack",
        authorized_key="ssh-ed25519 AAAA me",
        link_mbit=100,
        link_burst_bytes=3200,
        memory_mb=2048,
        disk_mb=500,
        internet=False,
        boot_timeout_s=1,
    )


@pytest.fixture
def told(monkeypatch):
    """The commands that were called, and what those that are asked something answer.

    One whose answer is None fails, as that for the table of a lab that has none.
    """
    called, answers = [], {"nft list table": None}

    def run(*argv, stdin=""):
        called.append((*argv, stdin) if stdin else argv)
        said = next((told for asked, told in answers.items() if asked in " ".join(argv)), "[]")
        if said is None:
            raise host.HostError(argv[0])
        return said

    monkeypatch.setattr(host, "run", run)
    return called, answers


def with_(lab, **changes):
    return module.Lab(**{**vars(lab), **changes})


def nodes(lab, *addresses):
    return [module.Node(lab, f"n{k}", address) for k, address in enumerate(addresses, 1)]


@pytest.mark.parametrize(
    ("end", "name", "is_taken"),
    [
        ("a lab cannot have", "lab-2", True),
        ("a lab cannot have", "a" * 24, True),
        ("a lab cannot have", "a" * 25, False),
        ("a lab cannot have", "Two", False),
        ("a lab cannot have", "2-labs", False),
        ("a link cannot have", "a-bridge-long-0", True),
        ("a link cannot have", "a-bridge-of-long-0", False),
    ],
)
def test_names_that_a_lab_or_its_bridge_cannot_have_are_refused(end, name, is_taken):
    role = Role("virtual_lab", virtual_lab_name=name, virtual_lab_bridge=name)
    demand = role.task("up", end)["ansible.builtin.assert"]
    assert role.holds(demand["that"]) == is_taken
    assert name in role.render(demand["fail_msg"])


@pytest.mark.parametrize(
    ("addresses", "says"),
    [
        (["10.98.0.2"], "n1 has address 10.98.0.2, which is not a node's address in 10.99.0.0"),
        (["10.99.0.1"], "node n1 has address 10.99.0.1, which is not"),
        (["10.99.0.2", "10.99.0.3", "10.99.0.2"], "nodes n1 and n3 share the address 10.99.0.2"),
    ],
)
def test_wrong_addresses_are_refused(lab, addresses, says):
    check.check_nodes(lab, nodes(lab, "10.99.0.2", "10.99.0.3"))
    with pytest.raises(host.HostError, match=says):
        check.check_nodes(lab, nodes(lab, *addresses))


def test_nodes_of_another_image_are_refused(lab):
    (one,) = nodes(lab, "10.99.0.2")
    one.directory.mkdir(parents=True)
    (one.directory / "image").write_text("/images/other")
    with pytest.raises(host.HostError, match=r"n1 was made from /images/other.* make lab-down"):
        check.check_nodes(lab, [one])


def test_a_network_that_is_taken_is_refused(lab, told):
    routes = [{"dst": "default", "dev": "eth0"}, {"dst": "10.99.0.0/24", "dev": "two-0"}]
    told[1]["route show"] = json.dumps(routes)
    check.check_network(lab)
    told[1]["route show"] = json.dumps([*routes, {"dst": "10.99.0.128/25", "dev": "eth1"}])
    says = r"by 10\.99\.0\.128/25 on eth1; set virtual_lab_prefix"
    with pytest.raises(host.HostError, match=says):
        check.check_network(lab)


def test_too_little_room_is_refused(lab):
    check.check_room(lab, [])
    says = r"MiB of memory \(half of 999999999 for each of 1 nodes"
    with pytest.raises(host.HostError, match=says):
        check.check_room(with_(lab, memory_mb=999999999), nodes(lab, "10.99.0.2"))
    with pytest.raises(host.HostError, match="MiB of disk below"):
        check.check_room(with_(lab, memory_mb=1, disk_mb=999999999), nodes(lab, "10.99.0.2"))


def test_a_link_of_another_kind_is_not_touched(lab, told):
    told[1]["address show"] = json.dumps([{"ifname": "two-0", "ifalias": "rackbench lab two"}])
    assert not bridge.make_bridge(lab)
    told[1]["address show"] = json.dumps([{"ifname": "two-0"}])
    with pytest.raises(host.HostError, match="is not a bridge of the lab two"):
        bridge.make_bridge(lab)


@pytest.fixture
def links(monkeypatch):
    """The links of a kernel, and how to have the command be killed after so many changes."""
    held, left = {}, [99]

    def run(*argv):
        _, *words = argv
        if "show" in words:
            return json.dumps(list(held.values()))
        given = dict(pairwise(words))
        if words[:2] == ["link", "add"]:
            held[given["name"]] = {"ifname": given["name"]}
        elif words[:2] == ["address", "add"]:
            held[given["dev"]]["address"] = words[2]
        elif words[1] == "delete":
            del held[given["dev"]]
        else:
            link = held.pop(given["dev"])
            link["ifname"] = given.get("name", link["ifname"])
            held[link["ifname"]] = link
            if "alias" in given:
                link["ifalias"] = given["alias"]
            if words[-1] == "up":
                link["up"] = True
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return ""

    def kill_after(changes):
        left[0] = changes

    monkeypatch.setattr(host, "run", run)
    return held, kill_after


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_a_bridge_that_a_kill_left_is_made_whole_and_removed(lab, links, changes):
    held, kill_after = links
    whole = {"address": "10.99.0.1/24", "ifalias": "rackbench lab two", "up": True}
    for finish in bridge.make_bridge, bridge.drop_bridge:
        kill_after(changes)
        with pytest.raises(KeyboardInterrupt):
            bridge.make_bridge(lab)
        finish(lab)
        made = {"two-0": {"ifname": "two-0", **whole}} if finish is bridge.make_bridge else {}
        assert held == made
        held.clear()


# As `tc -json qdisc show dev host0` prints them: the rate in bytes a second.
SHAPED = [{"kind": "tbf", "handle": "8001:", "root": True, "options": {"rate": 12_500_000}}]
LOOSE = [{"kind": "noqueue", "handle": "0:", "root": True, "options": {}}]


@pytest.mark.parametrize(
    ("listing", "mbit", "is_shaped"),
    [
        (SHAPED, 100, True),
        (SHAPED, 10, False),
        (LOOSE, 100, False),
        (LOOSE, 0, True),
        (SHAPED, 0, False),
        ([], 0, True),
    ],
)
def test_a_rate_is_in_bytes_a_second(lab, told, listing, mbit, is_shaped):
    called, answers = told
    answers["qdisc show"] = json.dumps(listing) if listing else ""
    (one,) = nodes(with_(lab, link_mbit=mbit), "10.99.0.2")
    assert bridge.shape(one) != is_shaped
    set_to = [argv for argv in called if "show" not in argv]
    assert len(set_to) == (0 if is_shaped else 2)
    assert all(("del" in argv) != bool(mbit) for argv in set_to)


# As `tc -json qdisc show dev host0` of iproute2 6.15 prints them: seconds and a part of one.
def netem(delay=None, loss=None, parent="1:1"):
    options = {"limit": 1000, "ecn": False, "gap": 0}
    if delay:
        options["delay"] = {"delay": delay, "jitter": 0, "correlation": 0}
    if loss:
        options["loss-random"] = {"loss": loss, "correlation": 0}
    return {"kind": "netem", "handle": "8002:", "parent": parent, "options": options}


IMPAIRED = [*SHAPED, netem(0.01, 0.01)]


@pytest.mark.parametrize(
    ("listing", "changes", "is_as_asked"),
    [
        (IMPAIRED, {"link_delay_ms": 10, "link_loss": 1}, True),
        (IMPAIRED, {"link_delay_ms": 10}, False),
        (IMPAIRED, {"link_delay_ms": 10, "link_loss": 1.5}, False),
        (IMPAIRED, {}, False),
        (SHAPED, {"link_loss": 1}, False),
        ([netem(0.0025)], {"link_mbit": 0, "link_delay_ms": 2.5}, True),
        ([netem(loss=1.00001e-05)], {"link_mbit": 0, "link_loss": 0.001}, True),
    ],
)
def test_what_netem_does_is_read_as_it_was_asked(lab, told, listing, changes, is_as_asked):
    called, answers = told
    answers["netns"] = json.dumps(listing)  # the node's own end; the other one has no netem
    answers["qdisc show"] = json.dumps([row for row in listing if row["kind"] == "tbf"])
    (one,) = nodes(with_(lab, **changes), "10.99.0.2")
    assert bridge.shape(one) != is_as_asked
    own = [argv for argv in called if "-netns" in argv and "show" not in argv]
    assert all("netem" not in argv for argv in called if "-netns" not in argv)
    assert bool(own) != is_as_asked


def test_netem_takes_the_place_of_the_shapers_own_queue_and_is_as_deep(lab, told):
    called, answers = told
    answers["qdisc show"] = json.dumps(IMPAIRED)
    (one,) = nodes(with_(lab, link_delay_ms=20, link_loss=0.5), "10.99.0.2")
    assert bridge.shape(one)
    own = [" ".join(argv[3:]) for argv in called if "-netns" in argv and "show" not in argv]
    # 120 ms of 100 Mbit/s are 1.5 MB in packets of 1514 bytes.
    assert own == [
        "qdisc del dev host0 root",
        "qdisc replace dev host0 root handle 1: tbf rate 100mbit burst 3200 latency 100ms",
        "qdisc replace dev host0 parent 1:1 netem limit 991 delay 20ms loss 0.5%",
    ]
    host_end = [argv for argv in called if "-netns" not in argv and "show" not in argv]
    assert [argv[2] for argv in host_end] == ["del", "replace"]  # it had a netem of somebody's
    called.clear()
    (one,) = nodes(with_(lab, link_mbit=0, link_delay_ms=20), "10.99.0.2")
    assert bridge.shape(one)
    assert any("root netem limit 100000 delay 20ms" in " ".join(argv) for argv in called)


def test_the_way_out_is_opened_and_closed_with_forwarding(lab, told, monkeypatch, tmp_path):
    called, answers = told
    forward = tmp_path / "ip_forward"
    forward.write_text("0\n")
    monkeypatch.setattr(bridge.kernel, "IP_FORWARD", forward)
    opened = with_(lab, internet=True)
    assert bridge.set_internet(opened)
    assert forward.read_text() == "1\n"
    assert 'oifname != "two-0" masquerade' in called[-1][-1]
    answers["nft list table"] = "table ip rackbench_two {}"
    assert not bridge.set_internet(opened)
    forward.write_text("0\n")  # by somebody else
    assert bridge.set_internet(opened)
    assert forward.read_text() == "1\n"
    assert bridge.set_internet(lab)
    assert forward.read_text() == "0\n"
    assert called[-1] == ("nft", "delete", "table", "ip", "rackbench_two")


@pytest.mark.parametrize(("before", "during"), [("128\n", "4096\n"), ("65536\n", "65536\n")])
def test_instances_of_inotify_are_enough_for_the_lab_and_as_they_were_after_it(
    lab, monkeypatch, tmp_path, before, during
):
    kernel = bridge.kernel
    monkeypatch.setattr(kernel, "WATCHES", tmp_path / "max_user_instances")
    kernel.WATCHES.write_text(before)
    for _ in range(2):
        kernel.widen_watches(lab)
        assert kernel.WATCHES.read_text() == during
    assert kernel.restore(lab, kernel.WATCHES) == (before != during)
    assert kernel.WATCHES.read_text() == before


def test_a_node_has_its_name_address_and_keys_before_it_boots(lab, told, monkeypatch):
    monkeypatch.setattr(host.os, "fchown", lambda *_: None)
    monkeypatch.setattr(tree.os, "chown", lambda *_: None)
    (one,) = nodes(lab, "10.99.0.2")
    (one.tree / "etc").mkdir(parents=True)
    (one.tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nrack:x:1000:1000::/:/bin/sh\n")
    for name in ("ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"):
        (one.directory / name).write_text(name)
    tree.configure(one)
    etc = one.tree / "etc"
    network = (etc / "systemd/network/10-host0.network").read_text()
    assert "\nAddress=10.99.0.2/24\nLinkLocalAddressing=no\n" in network
    assert (etc / "hostname").read_text() == "n1\n"
    assert (etc / "ssh/ssh_host_ed25519_key").stat().st_mode & 0o777 == 0o600
    keys = one.tree / "home/rack/.ssh"
    assert (keys / "authorized_keys").read_text() == "ssh-ed25519 AAAA me\n"
    assert (keys.stat().st_mode & 0o777, (one.directory / "booted").exists()) == (0o700, True)
    (etc / "hosts").write_text("of the node itself")
    tree.configure(one)
    assert (etc / "hosts").read_text() == "of the node itself"


def test_a_node_that_does_not_come_up_shows_its_console(lab, monkeypatch):
    monkeypatch.setattr(node, "answers", lambda _: False)
    monkeypatch.setattr(node, "supervisors_of", lambda _: [os.getpid()])
    (one,) = nodes(lab, "10.99.0.2")
    with pytest.raises(host.HostError, match=r"within 1 s; its console says:\n\(no console"):
        node.await_boot(one)
    one.directory.mkdir(parents=True)
    (one.directory / "console.log").write_text("\n" * 20 + "\x1b[31mFailed to mount\x1b[0m\n")
    with pytest.raises(host.HostError, match=r"\nFailed to mount$"):
        node.await_boot(one)


@pytest.fixture
def proc(monkeypatch, tmp_path):
    """A /proc of ours for each part of the module; returns how to write a file of it."""

    def path(name):
        return tmp_path / name.lstrip("/") if str(name).startswith("/proc") else Path(name)

    for part in (node, tree, check):
        monkeypatch.setattr(part, "Path", path)

    def have(name, text):
        path(name).parent.mkdir(parents=True, exist_ok=True)
        path(name).write_text(text)

    return have


@pytest.mark.parametrize(("available_mb", "is_refused"), [(2047, True), (2048, False)])
def test_nodes_need_half_of_what_they_may_take(lab, proc, available_mb, is_refused):
    proc("/proc/meminfo", f"MemTotal: 9999999 kB\nMemAvailable: {available_mb * 1024} kB\n")
    missing = nodes(with_(lab, disk_mb=0), "10.99.0.11", "10.99.0.12")
    if is_refused:
        with pytest.raises(OSError, match=r"needs 2048 MiB of memory .*, 2047 MiB are available"):
            check.check_room(lab, missing)
    else:
        check.check_room(with_(lab, disk_mb=0), missing)


def test_disk_is_needed_for_nodes_that_have_no_directory_yet(lab, proc, tmp_path):
    proc("/proc/meminfo", "MemAvailable: 99999999 kB\n")
    lab = with_(lab, disk_mb=10**9)
    one, other = nodes(lab, "10.99.0.11", "10.99.0.12")
    one.directory.mkdir(parents=True)
    check.check_room(lab, [one])
    with pytest.raises(OSError, match=f"needs {10**9} MiB of disk"):
        check.check_room(lab, [one, other])


def test_a_link_on_another_bridge_is_recreated(lab, told, monkeypatch, tmp_path):
    called, answers = told
    (one,) = nodes(lab, "10.99.0.11")
    monkeypatch.setattr(bridge, "NAMESPACES", tmp_path)
    (tmp_path / one.key).touch()
    for master, is_made in ((lab.bridge, False), ("other-0", True)):
        answers["address show"] = json.dumps([{"ifname": one.link, "master": master}])
        called.clear()
        assert bridge.make_link(one) == is_made
        assert (("ip", "link", "delete", "dev", one.link) in called) == is_made


def test_the_first_process_of_a_node_is_found_and_none_of_its_children(lab, proc):
    (one,) = nodes(lab, "10.99.0.11")
    for pid, inner in ((70, 1), (71, 21), (69, 11)):
        proc(f"/proc/{pid}/environ", f"A=b\0container_uuid={one.uuid}\0")
        proc(f"/proc/{pid}/status", f"Name: x\nNSpid:\t{pid}\t{inner}\nThreads: 1\n")
    assert node.init_of([one]) == {"n1": 70}


def test_each_hierarchy_that_systemd_manages_has_a_group_of_the_node(lab, proc):
    mounts = (
        "cgroup2 /cg/unified cgroup2 rw 0 0\n"
        "cgroup /cg/systemd cgroup rw,name=systemd 0 0\n"
        "cgroup /cg/memory cgroup rw,memory 0 0\n"
        "cgroup /cg/cpu cgroup rw,cpu,cpuacct 0 0\n"
    )
    proc("/proc/self/mounts", mounts)
    (one,) = nodes(lab, "10.99.0.11")
    assert node.cgroups_of(one) == {
        kind: Path("/cg", kind, one.key) for kind in ("unified", "systemd", "memory")
    }


def test_mounts_are_those_below_a_path_innermost_first(proc):
    points = ("/lab/n1", "/lab/n1/tree/a\\040b", "/lab/n1/tree", "/lab/n10/tree", "/")
    proc("/proc/self/mounts", "".join(f"overlay {point} overlay rw 0 0\n" for point in points))
    assert tree.mounts_under(Path("/lab/n1")) == ["/lab/n1/tree/a b", "/lab/n1/tree", "/lab/n1"]


@pytest.mark.parametrize(
    ("group", "unit", "found"),
    [
        ("/rackbench-two-n1/payload", "runner", ["n1"]),
        ("/system.slice/rackbench-two-n2.service/payload", "runner", ["n2"]),
        ("/rackbench-two-n1/payload", "tomcat", []),
        ("/rackbench-other-n1/payload", "runner", []),
        ("", "runner", []),
    ],
)
def test_a_lab_with_a_runner_at_work_is_not_removed(lab, tmp_path, group, unit, found):
    (tmp_path / "proc/77").mkdir(parents=True)
    line = f"1:name=systemd:{group}/system.slice/rackbench-{unit}.service\n0::/\n"
    (tmp_path / "proc/77/cgroup").write_text(line)
    (tmp_path / "proc/78").mkdir()  # it has just ended
    busy = node.sweeping(nodes(lab, "10.99.0.11", "10.99.0.12"), tmp_path / "proc")
    assert busy == found


@pytest.mark.parametrize(("mbit", "named"), [(100, ""), (10, "the links of n1 would change")])
def test_links_are_not_changed_under_the_trials_of_a_sweep(lab, told, mbit, named):
    _, answers = told
    rate = {"kind": "tbf", "options": {"rate": mbit * 125_000}}
    answers["qdisc show"] = json.dumps([rate])
    (one,) = nodes(lab, "10.99.0.11")
    if named:
        with pytest.raises(host.HostError, match=named):
            module.refuse_other_links([one])
    else:
        module.refuse_other_links([one])


def test_a_directory_with_other_things_is_refused_and_stays(lab, told, monkeypatch):
    monkeypatch.setattr(bridge, "drop_namespaces", lambda: None)
    check.check_root(lab)
    photo = lab.root / "photo.jpg"
    photo.parent.mkdir()
    photo.touch()
    with pytest.raises(host.HostError, match=r"contains photo\.jpg, .*for this lab alone"):
        check.check_root(lab)
    module.down(lab)
    assert photo.exists()
    photo.unlink()
    module.down(lab)
    assert not lab.root.exists()


@pytest.mark.parametrize("name", ["nodes/holiday/one.jpg", "kernel/linux.c", "nodes/notes"])
def test_directories_of_others_with_names_of_a_lab_are_refused_and_stay(
    lab, told, monkeypatch, name
):
    monkeypatch.setattr(bridge, "drop_namespaces", lambda: None)
    others = lab.root / name
    others.parent.mkdir(parents=True)
    others.touch()
    with pytest.raises(host.HostError, match=f"contains {'/'.join(name.split('/')[:2])}, which"):
        check.check_root(lab)
    assert lab.known_nodes() == []
    module.down(lab)
    assert others.exists()


def test_a_lab_among_files_of_others_can_be_checked_and_removed(lab, told, monkeypatch, tmp_path):
    monkeypatch.setattr(bridge, "drop_namespaces", lambda: None)
    monkeypatch.setattr(module.kernel, "WATCHES", tmp_path / "max_user_instances")
    module.kernel.WATCHES.write_text("128\n")
    module.kernel.widen_watches(lab)
    (lab.root / "kernel/.ip_forward.new").touch()
    check.check_root(lab)
    one, begun = nodes(lab, "10.99.0.11", "10.99.0.12")
    (one.tree / "etc").mkdir(parents=True)
    begun.directory.mkdir()
    photo = lab.root / "photo.jpg"
    photo.touch()
    check.check_root(lab)
    assert module.down(lab)
    assert list(lab.root.iterdir()) == [photo]
    assert module.kernel.WATCHES.read_text() == "128\n"


def test_a_node_has_the_name_of_its_image_before_its_mount(lab, monkeypatch):
    (one,) = nodes(lab, "10.99.0.2")
    seen = []
    monkeypatch.setattr(host, "run", lambda *_: seen.append((one.directory / "image").read_text()))
    tree.mount(one)
    assert seen == ["/images/one"]


def test_everybody_may_enter_a_node_made_by_a_login_with_a_strict_umask(lab, told):
    (one,) = nodes(lab, "10.99.0.2")
    before = os.umask(0o077)
    try:
        tree.mount(one)
    finally:
        os.umask(before)
    assert (one.directory / "upper").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("first", [0, 1])
def test_the_last_of_two_labs_restores_what_the_first_one_found(lab, monkeypatch, tmp_path, first):
    kernel = module.kernel
    monkeypatch.setattr(kernel, "IP_FORWARD", tmp_path / "ip_forward")
    kernel.IP_FORWARD.write_text("0\n")
    labs = [with_(lab, name=name, root=tmp_path / "labs" / name) for name in "ab"]
    for one in labs:
        (one.root / "nodes/n1/tree").mkdir(parents=True)
        kernel.change(one, kernel.IP_FORWARD, "1\n")
    kernel.restore(labs[first], kernel.IP_FORWARD)
    assert kernel.IP_FORWARD.read_text() == "1\n"
    shutil.rmtree(labs[first].root)
    kernel.restore(labs[1 - first], kernel.IP_FORWARD)
    assert kernel.IP_FORWARD.read_text() == "0\n"


@pytest.mark.parametrize(("setting", "during"), [("WATCHES", "4096\n"), ("IP_FORWARD", "0\n")])
def test_a_lab_that_found_enough_instances_of_inotify_needs_them_but_no_forwarding(
    lab, monkeypatch, tmp_path, setting, during
):
    kernel = module.kernel
    monkeypatch.setattr(kernel, setting, tmp_path / setting)
    file = getattr(kernel, setting)
    file.write_text("0\n")
    first, other = (with_(lab, root=tmp_path / "labs" / name) for name in "ab")
    for one in (first, other):
        (one.root / "nodes/n1/tree").mkdir(parents=True)
    (tmp_path / "labs/c/nodes/photos/2026").mkdir(parents=True)  # no lab
    kernel.change(first, file, "4096\n")
    if setting == "WATCHES":
        kernel.widen_watches(other)
    kernel.restore(first, file)
    assert file.read_text() == during
    shutil.rmtree(first.root)
    kernel.restore(other, file)
    assert file.read_text() == "0\n"
    assert not (tmp_path / "labs/c/kernel").exists()


def test_a_kernel_that_refuses_is_named_and_the_lab_can_be_removed(lab):
    refuses = Path("/proc/sys/kernel/osrelease")
    with pytest.raises(host.HostError, match=r"osrelease cannot be set .*privileged"):
        module.kernel.change(lab, refuses, "1\n")
    assert module.kernel.restore(lab, refuses)


def test_a_lab_of_another_account_is_refused(lab):
    (one,) = nodes(lab, "10.99.0.2")
    keys = one.tree / "home/rack/.ssh/authorized_keys"
    keys.parent.mkdir(parents=True)
    keys.write_text("ssh-ed25519 BBBB root\n")
    says = "lab two on this machine belongs to another account: n1"
    with pytest.raises(host.HostError, match=says):
        check.check_key([one])
    keys.write_text(f"{lab.authorized_key}\n")
    check.check_key([one])
