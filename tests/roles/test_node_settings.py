"""Settings of a node that cannot be meant are refused in words that say what to write."""

import re
import subprocess

import pytest
import yaml
from ansible.template import trust_as_template
from loading import ROOT
from rendering import Role

GOOD = {
    "baseline_time_servers": [],
    "baseline_time_wait_s": 120,
    "baseline_apt_wait_s": 600,
    "baseline_apt_proxy": "",
    "baseline_apt_sources": "",
    "baseline_irqbalance": False,
    "baseline_irq_cpus": "",
    "baseline_port_range": [10240, 65535],
    "baseline_service_ports": [22, 7676, 9102],
}
# A node with which nothing else is wrong.
NODE = {
    "ansible_facts": {
        "distribution": "Debian",
        "distribution_major_version": "13",
        "service_mgr": "systemd",
        "nodename": "rack01",
    },
    "inventory_hostname": "rack01",
    "baseline_names": ["rack01"],
    "baseline_ssh_passwords": True,
    "__baseline_there": {"stdout_lines": []},
}
PARAGRAPH = "Types: deb\nURIs: http://mirror.lab/debian\nSuites: trixie\nComponents: main\n"
LINES = "# ours\ndeb [signed-by=/etc/key] http://mirror.lab/debian trixie main\n"


def refusals(**settings):
    """Return what the preflight says of a node with these settings."""
    role = Role("baseline", **NODE, **GOOD | settings)
    role.of_task("preflight", "nothing but a password")
    return role.render("{{ __baseline_refusals }}")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"baseline_time_servers": ["192.168.1.1", "fd00::1", "time.lab"]},
        {"baseline_apt_proxy": "http://10.0.0.1:3142"},
        {"baseline_apt_sources": LINES},
        {"baseline_apt_sources": PARAGRAPH},
        {"baseline_irq_cpus": "0-1"},
        {"baseline_port_range": []},
        {"baseline_port_range": [1024, 7675]},
        {"baseline_port_range": [9103, 9104]},
    ],
)
def test_what_is_meant_passes(settings):
    assert refusals(**settings) == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("baseline_time_servers", "192.168.1.1", "write a list of names or addresses"),
        ("baseline_time_servers", [""], "write a list of names or addresses"),
        ("baseline_time_servers", [7], "write a list of names or addresses"),
        ("baseline_time_servers", ["a b"], "write a list of names or addresses"),
        ("baseline_time_servers", None, "write a list of names or addresses"),
        ("baseline_time_wait_s", 0, "write a number of seconds"),
        ("baseline_apt_wait_s", True, "write a number of seconds"),
        ("baseline_apt_wait_s", "soon", "write a number of seconds"),
        ("baseline_apt_proxy", "10.0.0.1:3142", "write it as http://HOST:PORT"),
        ("baseline_apt_proxy", ["http://a:1"], "write it as http://HOST:PORT"),
        ("baseline_apt_proxy", 'http://a:1"; x', "write it as http://HOST:PORT"),
        ("baseline_apt_sources", "http://mirror.lab/debian", "write lines such as"),
        ("baseline_apt_sources", "Types: deb\nURIs: http://m/\n", "write lines such as"),
        ("baseline_apt_sources", [], "write lines such as"),
        ("baseline_apt_sources", "# nothing", "write lines such as"),
        ("baseline_port_range", "10240-65535", "write the first and the last port"),
        ("baseline_port_range", ["10240", "65535"], "write the first and the last port"),
        ("baseline_port_range", [10240], "write the first and the last port"),
        ("baseline_port_range", [1023, 65535], "write the first and the last port"),
        ("baseline_port_range", [10240, 65536], "write the first and the last port"),
        ("baseline_port_range", [20000, 20000], "write the first and the last port"),
        ("baseline_port_range", [9102, 65535], "holds 9102, where services listen"),
        ("baseline_port_range", [1024, 9102], "holds 7676, 9102, where services listen"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(name, value, words):
    (refusal,) = refusals(**{name: value})
    assert refusal.startswith(f"has an invalid setting: {name}")
    assert words in refusal


def test_interrupts_are_not_pinned_and_balanced_at_once():
    (refusal,) = refusals(baseline_irq_cpus="0", baseline_irqbalance=True)
    assert "set only one of them" in refusal


def test_balanced_interrupts_that_are_switched_off_in_words_may_be_pinned():
    assert refusals(baseline_irq_cpus="0", baseline_irqbalance="false") == []


# As `-e NAME=false` and an INI inventory have them.
@pytest.mark.parametrize(
    ("given", "answer"), [("false", "no"), ("no", "no"), (False, "no"), ("true", "yes")]
)
def test_passwords_are_closed_also_where_the_setting_is_a_text(given, answer):
    role = Role("baseline", baseline_ssh_passwords=given, baseline_ssh_root="no")
    told = role.render("{{ __baseline_sshd_settings }}").splitlines()
    assert f"PasswordAuthentication {answer}" in told
    assert f"KbdInteractiveAuthentication {answer}" in told


SPECIFIED = list((ROOT / "roles").glob("*/meta/argument_specs.yml"))


def switches(directory):
    """Return the yes-or-no variables of a role, as its argument specification has them."""
    specs = yaml.safe_load((directory / "meta/argument_specs.yml").read_text())["argument_specs"]
    options = [spec.get("options", {}) for spec in specs.values()]
    return {name for own in options for name, told in own.items() if told.get("type") == "bool"}


@pytest.mark.parametrize("role", sorted(path.parts[-3] for path in SPECIFIED))
def test_no_role_takes_the_text_false_for_a_yes(role):
    directory = ROOT / "roles" / role
    places = [directory / kind for kind in ("tasks", "vars", "templates")]
    files = [path for place in places for path in place.glob("*")]
    for name in switches(directory):
        bare = rf"(?:\b(?:if|elif|not|and|or|when:|that:)|-|\() {name}\b(?! \| bool| is )"
        assert [path.name for path in files if re.search(bare, path.read_text())] == [], name


@pytest.mark.parametrize(
    ("known", "login"),
    [
        # The account stands in ~/.ssh/config, or behind -u.
        ({"validate_answer": {"stdout": "begins\ncan-sudo\nhas-python\n"}}, "no"),
        ({"validate_answer": {"stdout": "begins\nis-root\ncan-sudo\n"}}, "prohibit-password"),
        (
            {"validate_answer": {"stdout": "begins\nis-root\n"}, "ansible_user": "ana"},
            "prohibit-password",
        ),
        ({"validate_answer": {"unreachable": True}, "ansible_user": "ana"}, "no"),
        ({"ansible_user": "root"}, "prohibit-password"),
        ({"ansible_user": "ana"}, "no"),
        ({}, "prohibit-password"),
    ],
)
def test_root_may_log_in_only_where_root_provisions(known, login):
    bench = yaml.safe_load((ROOT / "playbooks/vars/bench.yml").read_text())
    role = Role(
        "baseline", **known, baseline_ssh_root=trust_as_template(bench["baseline_ssh_root"])
    )
    assert f"PermitRootLogin {login}\n" in role.render("{{ __baseline_sshd_settings }}")


MIRROR = {"baseline_apt_sources": LINES}
PROXY = {"baseline_apt_proxy": "http://10.0.0.1:3142"}
LIST, PARAGRAPHS, PROXY_FILE, OWN = (
    "/etc/apt/sources.list.d/rackbench.list",
    "/etc/apt/sources.list.d/rackbench.sources",
    "/etc/apt/apt.conf.d/90rackbench",
    "/etc/rackbench/apt.conf",
)


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({}, [LIST, OWN, PROXY_FILE]),
        (MIRROR, [PROXY_FILE]),
        ({"baseline_apt_sources": PARAGRAPH}, [LIST, PROXY_FILE]),
        (PROXY, [LIST, OWN]),
        (MIRROR | PROXY, []),
    ],
)
def test_a_mirror_or_proxy_that_the_inventory_no_longer_names_is_removed(settings, gone):
    there = {"stdout_lines": ["root:/root", "/etc/rackbench", LIST, OWN, PROXY_FILE]}
    role = Role("baseline", **NODE | {"__baseline_there": there}, **GOOD | settings)
    removal = role.task("packages", "Remove the mirrors and the proxy of earlier settings")
    assert role.render(removal["loop"]) == gone
    asked = role.of_task("preflight", "Ask for accounts and directories by rackbench's names")
    argv = role.render(asked["ansible.builtin.command"]["argv"])
    assert {LIST, PARAGRAPHS, PROXY_FILE, OWN} <= set(argv)


@pytest.mark.parametrize(
    ("packages", "settings", "is_due"),
    [
        (["dpkg"], {}, False),
        (["dpkg", "no-such-package"], {}, True),
        (["dpkg"], PROXY, True),  # its file may be missing
    ],
)
def test_apt_is_called_only_if_something_is_due(packages, settings, is_due):
    known = {"baseline_packages": packages, "baseline_time_sync": False, **settings}
    role = Role("baseline", **NODE | GOOD | known)
    asked = role.of_task("preflight", "Ask for accounts and directories by rackbench's names")
    done = subprocess.run(
        role.render(asked["ansible.builtin.command"]["argv"]),
        capture_output=True,
        text=True,
        check=True,
    )
    there = {"stdout_lines": done.stdout.splitlines()}
    role = Role("baseline", **NODE | GOOD | known | {"__baseline_there": there})
    task = role.of_task("main", "Get the packages every node has")
    assert role.holds(task["when"]) == is_due


def test_apt_is_called_where_preflight_did_not_ask():
    role = Role("baseline", **GOOD, baseline_time_sync=False)
    assert role.holds(role.of_task("main", "Get the packages every node has")["when"])


OURS = (
    'Acquire::http::Proxy "http://10.0.0.1:3142";\nAcquire::https::Proxy "http://10.0.0.1:3142";\n'
)
THEIRS = 'Acquire { http { Proxy "http://192.0.2.9:8080"; } }\n'


@pytest.mark.parametrize(
    ("files", "taken", "named"),
    [
        ({}, "", []),
        ({"apt.conf.d/20proxy": THEIRS}, "", []),  # read before rackbench's
        ({"apt.conf": THEIRS}, "http://192.0.2.9:8080", ["apt.conf"]),
        ({"apt.conf.d/95site": THEIRS}, "http://192.0.2.9:8080", ["apt.conf.d/95site"]),
        ({"apt.conf": 'Acquire::https::Proxy "DIRECT";\n'}, "DIRECT", ["apt.conf"]),
    ],
)
def test_another_proxy_that_apt_takes_is_named_with_its_file(tmp_path, files, taken, named):
    (tmp_path / "apt.conf.d").mkdir()
    for name, text in {"apt.conf.d/90rackbench": OURS, "apt.conf.d/50none": "", **files}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "only").write_text(f'Dir::Etc "{tmp_path}";\n')
    role = Role("baseline", **GOOD | PROXY)
    asked = role.task("packages", "Ask for the proxy that apt takes")
    done = subprocess.run(
        role.render(asked["ansible.builtin.command"]["argv"]),
        env={"PATH": "/usr/bin:/bin", "APT_CONFIG": str(tmp_path / "only")},
        capture_output=True,
        text=True,
        check=True,
    )
    answer = {"stdout_lines": done.stdout.splitlines()}
    role = Role("baseline", **GOOD | PROXY, __baseline_proxy=answer)
    refusal = role.of_task("packages", "Refuse a proxy other than the site's")
    assert role.holds(refusal["when"]) == bool(taken)
    if taken:
        words = role.render(refusal["ansible.builtin.fail"]["msg"])
        assert words.startswith(f"apt uses the proxy {taken} and not http://10.0.0.1:3142")
        places = " and ".join(f"{tmp_path}/{name}" for name in named)
        assert f"from {places} there" in words


# lslocks --noheadings --notruncate --output COMMAND,PID,PATH
LOCKS = """\
unattended-upgr   640 /var/lib/dpkg/lock-frontend
unattended-upgr   640 /var/lib/dpkg/lock
apt get           812 /var/lib/apt/lists/lock
cron              301 /run/crond.pid
"""


@pytest.mark.parametrize(
    ("locks", "said"),
    [
        (LOCKS, "It is in use by unattended-upgr (640), apt get (812): wait for its end or"),
        (LOCKS.splitlines()[-1], "Repair apt there, or name sources that the node reaches in"),
        ("", "Repair apt there, or name sources that the node reaches in baseline_apt_sources"),
    ],
)
def test_who_uses_apt_is_named_and_otherwise_how_to_repair_it(locks, said):
    known = {
        "__baseline_locks": {"stdout_lines": locks.splitlines()},
        "__baseline_apt": {"msg": "No package matching 'curl' is available"},
        "ansible_failed_result": {"msg": "Failed to update apt cache: no route to host"},
        "baseline_wanted": ["curl"],
    }
    role = Role("baseline", **known)
    task = role.of_task("packages", "Say why, and what to do")
    told = " ".join(role.render(task["ansible.builtin.fail"]["msg"]).split())
    assert told.startswith("apt cannot install curl: No package matching 'curl' is available; with")
    assert "no route to host. " + said in told


@pytest.mark.parametrize("is_check", [True, False])
def test_check_mode_goes_on_where_apt_has_no_lists_yet(is_check):
    """On a fresh cloud image apt finds no package, and check mode does not refresh the lists."""
    role = Role("baseline", ansible_check_mode=is_check)
    held = {
        kind: role.holds(role.task("packages", name)["when"])
        for kind, name in (
            ("told", "Name what check mode does not install"),
            ("refused", "Say why, and what to do"),
        )
    }
    assert held == {"told": is_check, "refused": not is_check}
