"""Small files of a role as one archive: what lies on a node afterwards, and what is compared."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from loading import ROOT, load
from rendering import Role

pytestmark = pytest.mark.skipif(not shutil.which("zipinfo"), reason="unzip is not installed")

packed = load("roles/node_files/filter_plugins/packed.py")
FILES = [
    {"path": "/etc/parrot/", "mode": "0755", "text": ""},
    {"path": "/etc/parrot/words", "mode": "0640", "text": "héllo\n"},
]


def pack(directory, files=FILES):
    return Path(packed.node_files_packed(json.dumps(files), str(directory)))


def test_the_same_files_give_the_same_archive(tmp_path):
    ours, theirs = pack(tmp_path / "ours"), pack(tmp_path / "theirs")
    assert (ours.name, ours.read_bytes()) == (theirs.name, theirs.read_bytes())
    for files in (FILES[:1], [{**FILES[0], "mode": "0700"}, FILES[1]]):
        assert pack(tmp_path / "theirs", files).name != ours.name


def test_only_the_last_archive_is_kept_and_not_written_again(tmp_path):
    tmp_path.joinpath("killed.part").touch()
    pack(tmp_path, FILES[:1])
    last = pack(tmp_path)
    written = last.stat()
    assert (list(tmp_path.iterdir()), pack(tmp_path).stat()) == ([last], written)


# Laid down

WINGS = bytes(range(256))


@pytest.fixture
def parrot(tmp_path):
    """A role with files from a template, a file and a text, for a node that is a directory."""
    role, node = tmp_path / "roles/parrot", tmp_path / "node"
    listed = [
        {"path": f"{node}/etc/"},
        {"path": f"{node}/etc/words", "template": "words.j2", "word": "{{ parrot_word }}"},
        {"path": f"{node}/etc/feathers", "src": "feathers"},
        {"path": f"{node}/etc/wings.so", "binary": str(tmp_path / "wings.so")},
        {"path": f"{node}/etc/closed", "content": '{"a": 1}\n', "mode": "0600"},
    ]
    given = {"node_files_name": "parrot", "node_files_list": "{{ parrot_files }}"}
    tasks = [
        {
            "name": "Lay them down",
            "ansible.builtin.import_role": {"name": "node_files"},
            "vars": {**given, "node_files_notify": ["Restart the parrot"]},
        }
    ]
    handlers = [{"name": "Restart the parrot", "ansible.builtin.debug": {"msg": "restarted"}}]
    texts = {
        "tasks/main.yml": yaml.safe_dump(tasks),
        "handlers/main.yml": yaml.safe_dump(handlers),
        "vars/main.yml": yaml.safe_dump({"parrot_files": listed}),
        "defaults/main.yml": yaml.safe_dump({"parrot_word": "hello"}),
        "templates/words.j2": "# {{ ansible_managed }}\n{% if true %}\n{{ word }}\n{% endif %}\n",
        "files/feathers": "green\n\n",
    }
    for name, text in texts.items():
        (role / name).parent.mkdir(parents=True)
        (role / name).write_text(text)
    (tmp_path / "play.yml").write_text("- {hosts: localhost, gather_facts: false, roles: [parrot]}")
    (tmp_path / "wings.so").write_bytes(WINGS)
    node.mkdir()
    return node


@pytest.fixture
def play(tmp_path, parrot):
    """Play the role on this machine; how many tasks changed something, and what was said."""

    def played(*options, **extra):
        extra |= {
            "ansible_python_interpreter": sys.executable,
            "node_files_archives": str(tmp_path / "archives"),
        }
        done = subprocess.run(
            [
                *(ROOT / ".venv/bin/ansible-playbook", tmp_path / "play.yml", *options),
                *("-i", "localhost,", "-c", "local", "-e", json.dumps(extra)),
            ],
            cwd=ROOT,
            env=os.environ | {"ANSIBLE_ROLES_PATH": f"{tmp_path}/roles:{ROOT}/roles"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return int(re.search(r"changed=(\d+)", done.stdout)[1]), done.stdout

    return played


def test_files_are_laid_down_and_then_left_alone(play, parrot):
    changed, said = play()
    assert (changed, "RUNNING HANDLER" in said) == (1, True), said
    contents = {path.name: path.read_bytes() for path in (parrot / "etc").iterdir()}
    assert contents == {
        "words": b"# Ansible managed\nhello\n",
        "feathers": b"green\n\n",
        "wings.so": WINGS,
        "closed": b'{"a": 1}\n',
    }
    modes = {path.name: path.stat().st_mode & 0o777 for path in parrot.rglob("*")}
    files = {"words": 0o644, "feathers": 0o644, "wings.so": 0o644, "closed": 0o600}
    assert modes == {"etc": 0o755, **files}
    changed, said = play()
    assert (changed, "RUNNING HANDLER" in said) == (0, False), said
    assert play("--check")[0] == 0


ALTERATIONS = {
    "text": lambda file: file.write_text("bye\n"),
    "mode": lambda file: file.chmod(0o666),
    "gone": lambda file: file.unlink(),
    "date": os.utime,
}


def test_what_was_altered_is_put_right_and_told_beforehand(play, parrot):
    play()
    for name, alter in ALTERATIONS.items():
        alter(parrot / "etc/words")
        assert play("--check")[0] == 1, name
        assert play()[0] == 1, name
        assert (parrot / "etc/words").read_text() == "# Ansible managed\nhello\n", name
        assert (parrot / "etc/words").stat().st_mode & 0o777 == 0o644, name
    assert play()[0] == 0


def test_a_file_has_the_time_when_it_was_laid_down_as_its_change_time(play, parrot):
    """By which the role service_up finds a unit that was not restarted since."""
    play()
    before = (parrot / "etc/feathers").stat()
    assert play(parrot_word="bye")[0] == 1
    after = (parrot / "etc/feathers").stat()
    assert before.st_ctime_ns < after.st_ctime_ns
    assert before.st_mtime == after.st_mtime


def test_other_bytes_of_the_same_name_are_another_archive(play, parrot):
    play()
    (parrot.parent / "wings.so").write_bytes(WINGS[::-1])
    assert play()[0] == 1
    assert (parrot / "etc/wings.so").read_bytes() == WINGS[::-1]


def test_check_mode_passes_where_unzip_is_to_be_installed_first(
    play, parrot, tmp_path, monkeypatch
):
    bare = tmp_path / "bin"
    bare.mkdir()
    for name in ("sh", "mkdir", "chmod", "rm", "sleep", "tar", "sha256sum"):
        (bare / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(bare))
    changed, said = play("--check")
    assert (changed, "RUNNING HANDLER" in said) == (0, False), said
    assert not (parrot / "etc").exists()
    with pytest.raises(AssertionError, match=r"(?s)parrot cannot be installed: .*'unzip'"):
        play()
    monkeypatch.undo()


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", pytest.param("Australia/Sydney", marks=pytest.mark.long)]
)
def test_no_time_zone_makes_files_seem_changed(play, parrot, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    play()
    assert play()[0] == 0


# What the roles list


def test_health_lists_each_of_its_programs_and_units_and_their_directories():
    files = ROOT / "roles/health/files"
    known = {"ansible_facts": {"architecture": "x86_64"}, "health_profiler": "dist"}
    listed = Role("health", **known).render("{{ __health_files }}")
    sources = {file["src"]: file["path"] for file in listed if "src" in file}
    there = (path for path in files.rglob("*") if path.is_file())
    assert sources.keys() == {
        str(path.relative_to(files)) for path in there if "__pycache__" not in path.parts
    }
    for source, path in sources.items():
        assert path.endswith(source.removeprefix("units"))
    made = {file["path"] for file in listed if file["path"].endswith("/")}
    baseline = yaml.safe_load((ROOT / "roles/baseline/tasks/main.yml").read_text())
    (directories,) = [task["loop"] for task in baseline if "ansible.builtin.file" in task]
    others = {"/etc/systemd/system/", *(f"{one}/" for one in directories)}
    needed = {path.rpartition("/")[0] + "/" for path in {one["path"] for one in listed} - made}
    assert made <= needed <= made | others


def test_each_worker_program_has_a_unit_of_its_own():
    programs = [{"name": name, "heap_mb": heap} for name, heap in (("one", 16), ("two", 32))]
    role = Role("worker_programs", worker_programs_list=programs)
    units = role.render("{{ __worker_programs_files }}")[1:]
    assert [(unit["path"], unit["program"]["heap_mb"], unit["template"]) for unit in units] == [
        ("/etc/systemd/system/rackbench-one.service", 16, "worker.service.j2"),
        ("/etc/systemd/system/rackbench-two.service", 32, "worker.service.j2"),
    ]
