"""The lab's names in /etc/hosts, against made-up trees of files."""

import os

import pytest
from loading import load

MODULE = "roles/baseline/library/lab_names.py"
HOSTS = {"rack03": "10.0.0.13", "rack04": "fd00::14"}
DEBIAN = "127.0.0.1\tlocalhost\n127.0.1.1\track03.lab rack03\n# mine\n10.9.9.9 printer p1 p2\n\n"


@pytest.fixture(scope="module")
def names():
    return load(MODULE)


def put(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(text.encode(errors="surrogateescape"))


def apply(names, root, block):
    """Write what the module would; the names of what changed."""
    files, useless = names.wanted_files(root, block)
    changed = [path.name for path, text in files.items() if names.read(path) != text]
    for path, text in files.items():
        put(root, path.relative_to(root), text)
    for path in useless:
        path.unlink()
    return changed


@pytest.mark.parametrize("own", [DEBIAN, "127.0.0.1 localhost", "", "\r\n\udcff odd\n\n\n"])
def test_the_rest_is_left_byte_for_byte_and_restored(names, tmp_path, own):
    put(tmp_path, "etc/hosts", own)
    block = names.block_of(HOSTS, "rack03", "")
    assert apply(names, tmp_path, block) == ["hosts"]
    text = names.read(tmp_path / "etc/hosts")
    assert text == block + own
    assert "10.0.0.13 rack03\nfd00::14 rack04\n" in text
    assert apply(names, tmp_path, block) == []
    assert apply(names, tmp_path, names.block_of({"rack09": "10.0.0.19"}, "rack09", "")) == [
        "hosts"
    ]
    assert apply(names, tmp_path, "") == ["hosts"]
    assert names.read(tmp_path / "etc/hosts") == own
    assert apply(names, tmp_path, "") == []


def test_a_file_that_an_old_version_replaced_is_put_back_first(names, tmp_path):
    old = f"# Ansible managed\n{names.PLAIN}10.0.0.13 rack03\n"
    put(tmp_path, "etc/hosts", old)
    put(tmp_path, "etc/hosts.77.2026-01-02@10:00:00~", DEBIAN)
    put(tmp_path, "etc/hosts.78.2026-01-03@10:00:00~", old)
    put(tmp_path, "etc/hosts.mine~", "not the kit's")
    for place, name in enumerate(
        ["hosts.77.2026-01-02@10:00:00~", "hosts.78.2026-01-03@10:00:00~"]
    ):
        os.utime(tmp_path / "etc" / name, (place, place))
    block = names.block_of(HOSTS, "rack03", "")
    assert apply(names, tmp_path, block) == ["hosts"]
    assert names.read(tmp_path / "etc/hosts") == block + DEBIAN
    assert [path.name for path in (tmp_path / "etc").glob("hosts*~")] == ["hosts.mine~"]
    assert apply(names, tmp_path, block) == []


def test_without_its_backup_the_replaced_file_keeps_what_every_system_has(names, tmp_path):
    put(tmp_path, "etc/hosts", f"# Ansible managed\n{names.PLAIN}10.0.0.13 rack03\n")
    assert apply(names, tmp_path, "") == ["hosts"]
    assert names.read(tmp_path / "etc/hosts") == names.PLAIN


def test_where_cloud_init_writes_the_file_its_template_has_the_block(names, tmp_path):
    template = "## template:jinja\n{# kept #}\n127.0.1.1 {{fqdn}} {{hostname}}\n"
    put(tmp_path, "etc/hosts", DEBIAN)
    put(tmp_path, "etc/cloud/cloud.cfg", "preserve_hostname: false\nmanage_etc_hosts: false\n")
    put(tmp_path, "etc/cloud/cloud.cfg.d/50-curtin.cfg", "manage_etc_hosts: true\n")
    block = names.block_of(HOSTS, "rack03", "")
    with pytest.raises(OSError, match="write `manage_etc_hosts: localhost` into"):
        names.wanted_files(tmp_path, block)
    put(tmp_path, names.TEMPLATE, template)
    assert apply(names, tmp_path, block) == ["hosts", "hosts.debian.tmpl"]
    head, rest = template.split("\n", 1)
    assert names.read(tmp_path / names.TEMPLATE) == f"{head}\n{block}{rest}"
    assert apply(names, tmp_path, block) == []
    assert apply(names, tmp_path, "") == ["hosts", "hosts.debian.tmpl"]
    assert names.read(tmp_path / names.TEMPLATE) == template
    assert names.read(tmp_path / "etc/hosts") == DEBIAN


@pytest.mark.parametrize("said", ["localhost", "false", "'localhost'"])
def test_cloud_init_that_leaves_the_file_alone_changes_nothing(names, tmp_path, said):
    put(tmp_path, "etc/hosts", DEBIAN)
    put(tmp_path, "etc/cloud/cloud.cfg", "manage_etc_hosts: true\n")
    put(tmp_path, "etc/cloud/cloud.cfg.d/99-rackbench.cfg", f"manage_etc_hosts: {said}\n")
    assert apply(names, tmp_path, names.block_of(HOSTS, "rack03", "")) == ["hosts"]


@pytest.mark.parametrize(
    ("node_name", "also"),
    [("debian", "debian"), ("r3.lab", "r3.lab"), ("rack03", ""), ("rack04", ""), ("localhost", "")],
)
def test_what_a_node_calls_itself_resolves_to_its_address(names, node_name, also):
    called = names.also_called(HOSTS, "rack03", node_name)
    assert called == also
    lines = names.block_of(HOSTS, "rack03", called).splitlines()
    assert lines[1] == f"10.0.0.13 rack03 {also}".strip()
    assert lines[2] == "fd00::14 rack04"


def test_another_address_of_a_name_is_told_and_loopback_is_not(names):
    text = f"{DEBIAN}10.1.1.14 rack04 # management\n"
    assert names.foreign(text, HOSTS) == ["rack04 is 10.1.1.14 as well"]
