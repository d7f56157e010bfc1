"""Archives: packed alike each time, read in place of runs, refused when anything is changed."""

import hashlib
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from made_up_studies import study_of
from synthetic import make_run, sort_times

from collect.cli import main
from collect.exchange.archive.manifest import MANIFEST, SIGNATURE, Manifest, is_safe
from collect.exchange.archive.sources import only, open_sources
from collect.exchange.archive.unpack import DIGEST_BYTES

LOCAL_HEADER_BYTES = 30
TRIAL = "runs/night/trials/b01-t001-soap-3-5000"


@pytest.fixture(scope="module")
def night(tmp_path_factory) -> Path:
    """A whole run that no test changes."""
    directory = tmp_path_factory.mktemp("archives") / "results" / "night"
    make_run(directory, sort_times)
    return directory


@pytest.fixture(scope="module")
def key(tmp_path_factory) -> Path:
    return _key(tmp_path_factory.mktemp("keys") / "key")


@pytest.fixture(scope="module")
def signed(night, key) -> Path:
    """A signed archive of the run, beside its results; no test changes it."""
    path = night.parent.parent / "night.zip"
    assert main(["archive", str(night), "-o", str(path), "--sign", str(key)]) == 0
    return path


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch) -> Path:
    """The directory for temporary files, in which nothing may be left."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    assert list(directory.iterdir()) == []


def _key(path: Path) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tests", "-f", path]
    subprocess.run(command, check=True)
    return path


def _signers(path: Path, key: Path) -> Path:
    path.write_text(f"lab@example.org {key.with_suffix('.pub').read_text()}")
    return path


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _sealed(path: Path, members: list[tuple[zipfile.ZipInfo | str, bytes]]) -> Path:
    """Write an archive as somebody would who knows how it ends, with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = bytes(DIGEST_BYTES)
        for name, content in members:
            archive.writestr(name, content)
    content = path.read_bytes()[:-DIGEST_BYTES]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    return path


def _listed(members: dict[str, bytes], **changes) -> bytes:
    """A manifest that fits these members."""
    record = json.loads(members[MANIFEST])
    record["files"] = [
        {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
        if name not in {MANIFEST, SIGNATURE} and not name.endswith("/")
    ]
    return json.dumps({**record, **changes}).encode()


def test_the_same_run_gives_the_same_bytes_wherever_it_lies(signed, night, key, tmp_path):
    shutil.copytree(night, tmp_path / "elsewhere" / "night")
    (tmp_path / "elsewhere" / "night" / "report.html").write_text("of an earlier version")
    os.utime(tmp_path / "elsewhere" / "night" / "plan.jsonl", (0, 0))
    again = tmp_path / "again.zip"
    arguments = ["archive", str(tmp_path / "elsewhere/night"), "-o", str(again)]
    assert main([*arguments, "--sign", str(key)]) == 0
    assert again.read_bytes() == signed.read_bytes()
    assert main(arguments) == 2  # it is there already
    assert again.read_bytes() == signed.read_bytes()


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "desktop.ini"])
def test_what_file_managers_add_to_a_run_is_not_packed(signed, night, key, tmp_path, name):
    copy = shutil.copytree(night, tmp_path / "night")
    for directory in (copy, copy / "trials", *(copy / "trials").iterdir()):
        (directory / name).write_bytes(b"1")
    again = tmp_path / "again.zip"
    assert main(["archive", str(copy), "-o", str(again), "--sign", str(key)]) == 0
    assert again.read_bytes() == signed.read_bytes()


def test_an_archive_is_packed_where_temporary_files_lie_behind_a_link(
    signed, night, key, tmp_path, monkeypatch
):
    (tmp_path / "link").symlink_to(tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "link"))
    path = tmp_path / "again.zip"
    assert main(["archive", str(night), "-o", str(path), "--sign", str(key)]) == 0
    assert path.read_bytes() == signed.read_bytes()


def test_the_packed_report_links_to_nothing_that_is_not_packed(signed):
    members = _members(signed)
    linked = set(re.findall(r'href="([^"#:]+)"', members["report.html"].decode()))
    assert linked - members.keys() == set()


def test_packing_leaves_the_run_as_it_was_and_every_sealed_file_in_the_archive(signed, night):
    assert {path.name for path in night.iterdir()} == {"plan.jsonl", "run.json", "trials"}
    members = _members(signed)
    for file in night.rglob("*"):
        if file.is_file():
            assert members[f"runs/night/{file.relative_to(night)}"] == file.read_bytes()
    assert Manifest.parse(members[MANIFEST]).runs == ("night",)
    assert b"36 of 36 sealed and verified" in members["CHECKLIST.md"]
    assert b"Apache License" in members["LICENSE"]
    assert (
        members["runs/night/study.yml"].decode()
        in json.loads(members["runs/night/run.json"]).values()
    )


def test_the_crate_describes_files_that_are_there_and_the_action_that_made_them(signed):
    members = _members(signed)
    graph = json.loads(members["ro-crate-metadata.json"])["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    for part in entities["./"]["hasPart"]:
        path = part["@id"]
        assert path in members or any(name.startswith(path) for name in members)
    action = entities["#run-night"]
    assert (action["startTime"], action["endTime"]) == (
        "2026-03-01T22:00:02+00:00",
        "2026-03-01T22:01:13+00:00",
    )
    assert {part["@id"] for part in action["object"]} <= members.keys()
    assert entities[action["instrument"]["@id"]]["@type"] == "SoftwareApplication"


def test_a_foreign_rocrate_reader_reads_it(signed, tmp_path):
    from rocrate.rocrate import ROCrate  # noqa: PLC0415 - slow to import

    with zipfile.ZipFile(signed) as archive:
        archive.extractall(tmp_path / "crate")
    crate = ROCrate(str(tmp_path / "crate"))
    assert crate.get("runs/night/plan.jsonl")["contentSize"].isdigit()


def test_commands_read_an_archive_in_place_of_a_run(signed, night, tmp_path, capsys):
    copy = Path(shutil.copy(signed, tmp_path / "copy.zip"))
    assert main(["check", str(copy)]) == 0
    printed = capsys.readouterr()
    assert "36 of 36 trials sealed and verified; no findings" in printed.out
    assert "signed; add --signers to verify the signer" in printed.err
    assert main(["report", str(copy), "--audience", "student"]) == 0
    page = (tmp_path / "copy.html").read_text()
    assert (tmp_path / "copy-answers.md").exists()
    assert "calls.csv" not in page.partition('<script type="application/json"')[0]
    assert 'href="../' not in page
    assert main(["status", f"{copy}/night", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["sealed"] == 36
    assert main(["export", str(copy), "--format", "trials"]) == 0
    capsys.readouterr()
    assert main(["compare", str(night), str(copy), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert "study file" not in json.dumps(compared["differences"])
    assert copy.read_bytes() == signed.read_bytes()


def test_an_archive_of_several_runs_is_one_report_and_names_its_runs(
    night, shared_run, tmp_path, capsys
):
    both = tmp_path / "both.zip"
    mtom = shared_run("mtom", "demo").directory
    assert main(["archive", str(night), str(mtom), "-o", str(both)]) == 0
    assert main(["check", str(both)]) == 0
    assert capsys.readouterr().out.count("no findings") == 2
    assert main(["power", str(both)]) == 2
    assert f"{both}/night" in capsys.readouterr().err
    assert main(["check", f"{both}/day"]) == 2
    assert "its runs are demo-mtom, night" in capsys.readouterr().err


def test_a_run_that_is_not_proven_is_not_packed(night, tmp_path, capsys):
    run, output = tmp_path / "night", tmp_path / "night.zip"
    shutil.copytree(night, run)
    log = run / TRIAL.removeprefix("runs/night/") / "calls.csv"
    log.write_bytes(log.read_bytes().replace(b"ok", b"no", 1))
    assert main(["archive", str(run), "-o", str(output)]) == 1
    said = capsys.readouterr().err
    assert "refused: b01-t001-soap-3-5000" in said
    assert f"resolve them first: collect check {run}\n" in said
    assert not output.exists()


def test_commands_take_a_run_of_an_archive_as_it_is_typed(signed):
    with open_sources([str(signed)]) as sources:
        assert only(sources).run.typed == f"{signed}/night"


def test_an_open_run_is_packed_and_the_archive_says_what_is_missing(tmp_path):
    study = study_of(
        {"size": [1, 2]}, profiles={"demo": {"replicates": 3, "calls": 2, "warmup": 1}}
    )
    make_run(tmp_path / "open", lambda planned, rng: [1.0, 2.0], study=study, until=4)
    output = tmp_path / "open.zip"
    assert main(["archive", str(tmp_path / "open"), "-o", str(output)]) == 0
    members = _members(output)
    assert b"4 of 6 sealed and verified, 2 missing" in members["CHECKLIST.md"]
    assert b"2 of 6 planned trials are not sealed" in members["ro-crate-metadata.json"]
    assert main(["check", str(output)]) == 1


def test_trials_that_keep_their_packets_are_counted_where_the_archive_is_described(tmp_path):
    study = study_of(
        {"size": [1, 2]}, profiles={"demo": {"replicates": 1, "calls": 2, "warmup": 1}}
    )
    times = [1.0, 2.0]
    make_run(tmp_path / "kept", lambda one, _: times[: one.calls], study=study, capture=True)
    output = tmp_path / "kept.zip"
    assert main(["archive", str(tmp_path / "kept"), "-o", str(output)]) == 0
    members = _members(output)
    assert b"4 of 4 sealed and verified |" in members["CHECKLIST.md"]
    assert b"| 4 ok |" in members["CHECKLIST.md"]
    assert b"4 directories: trial.json is the seal" in members["ro-crate-metadata.json"]


def test_every_changed_byte_is_found(signed, tmp_path, capsys):
    content = signed.read_bytes()
    changed = tmp_path / "changed.zip"
    # Everywhere: headers, content, directory, end and digest of the zip.
    for place in [*range(0, len(content), len(content) // 60), *range(-100, 0, 9)]:
        torn = bytearray(content)
        torn[place] ^= 0x15
        changed.write_bytes(torn)
        assert main(["status", str(changed)]) == 2, place
        assert "changed.zip" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (f"{TRIAL}/calls.csv", zipfile.ZIP_BZIP2),
        (f"{TRIAL}/trial.json", zipfile.ZIP_DEFLATED),
        ("report.html", zipfile.ZIP_DEFLATED),
    ],
)
def test_a_damaged_stream_of_either_method_is_refused(signed, tmp_path, capsys, name, method):
    with zipfile.ZipFile(signed) as archive:
        info = archive.getinfo(name)
    assert info.compress_type == method
    torn = bytearray(signed.read_bytes())
    torn[info.header_offset + LOCAL_HEADER_BYTES + len(name) + 4] ^= 0x15
    (changed := tmp_path / "changed.zip").write_bytes(torn)
    assert main(["check", str(changed)]) == 2
    assert "changed.zip: is not an archive, or is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("cut", [0, 10, 1000, -1, -70])
def test_a_file_that_was_cut_is_refused(signed, tmp_path, cut):
    (tmp_path / "cut.zip").write_bytes(signed.read_bytes()[:cut])
    assert main(["check", str(tmp_path / "cut.zip")]) == 2


def _without(members, name):
    return {path: content for path, content in members.items() if path != name}


def _with_entries(members, change):
    """The manifest with other entries of files."""
    record = json.loads(members[MANIFEST])
    return json.dumps({**record, "files": change(record["files"])}).encode()


BAD = {
    "changed": (
        lambda m: {**m, f"{TRIAL}/calls.csv": m[f"{TRIAL}/calls.csv"][::-1]},
        "content that differs from what was packed",
    ),
    "longer": (
        lambda m: {**m, f"{TRIAL}/calls.csv": m[f"{TRIAL}/calls.csv"] + b"\n"},
        "were packed",
    ),
    "missing": (lambda m: _without(m, f"{TRIAL}/calls.csv"), "lacks"),
    "no manifest": (lambda m: _without(m, MANIFEST), "holds no manifest.json"),
    "too many": (lambda m: {**m, f"{TRIAL}/more.csv": b"1"}, "something that was not packed: "),
    "above": (lambda m: {**m, "../above": b"1"}, "leads out of it"),
    "absolute": (lambda m: {**m, "/absolute": b"1"}, "leads out of it"),
    "windows": (lambda m: {**m, "..\\above": b"1"}, "leads out of it"),
    "directory": (lambda m: {**m, "runs/night/": b""}, "something that was not packed: "),
    "newer": (
        lambda m: {**m, MANIFEST: _listed(m, schema=3, rackbench="9.9")},
        "newer version of rackbench (9.9",
    ),
    "listed above": (
        lambda m: {**m, MANIFEST: _listed({**m, "../above": b"1"})},
        "not a path inside an archive",
    ),
    "listed twice": (
        lambda m: {**m, MANIFEST: _with_entries(m, lambda files: [*files, files[0]])},
        "lists a file twice",
    ),
    "below a file": (
        lambda m: {**m, MANIFEST: _listed({**m, "LICENSE/more": b"1"})},
        "lists LICENSE/more below a file",
    ),
    "far below a file": (
        lambda m: {**m, MANIFEST: _listed({**m, "LICENSE/more/of/it": b"1"})},
        "lists LICENSE/more/of/it below a file",
    ),
    "no digest": (
        lambda m: {
            **m,
            MANIFEST: _with_entries(m, lambda f: [{**f[0], "sha256": "x" * 64}, *f[1:]]),
        },
        "has no SHA-256 of",
    ),
    "no run": (lambda m: {**m, MANIFEST: _listed(m, runs=["day"])}, "lists no plan of it"),
    "a run twice": (
        lambda m: {**m, MANIFEST: _listed(m, runs=["night", "night"])},
        "names no run, or one twice",
    ),
    "a run below another": (
        lambda m: {
            **(more := {**m, "runs/night/day/plan.jsonl": b"1"}),
            MANIFEST: _listed(more, runs=["night/day"]),
        },
        "lists no plan of it",
    ),
    "no JSON": (lambda m: {**m, MANIFEST: b"{"}, "damaged manifest.json"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_does_not_fit_the_manifest_is_refused(signed, tmp_path, kind, capsys):
    change, message = BAD[kind]
    path = _sealed(tmp_path / "bad.zip", list(change(_members(signed)).items()))
    assert main(["check", str(path)]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


def test_a_link_a_twin_and_a_bomb_are_refused(signed, tmp_path, capsys):
    members = _members(signed)
    link = zipfile.ZipInfo(f"{TRIAL}/link")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    _sealed(tmp_path / "link.zip", [*members.items(), (link, b"/etc/passwd")])
    assert main(["check", str(tmp_path / "link.zip")]) == 2
    assert "not a regular file" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="Duplicate name"):
        _sealed(tmp_path / "twin.zip", [*members.items(), ("LICENSE", b"none")])
    assert main(["check", str(tmp_path / "twin.zip")]) == 2
    assert "holds LICENSE twice" in capsys.readouterr().err
    bomb = {**members, f"{TRIAL}/bomb": bytes(100 << 20)}
    bomb[MANIFEST] = _listed(bomb)
    _sealed(tmp_path / "bomb.zip", list(bomb.items()))
    assert main(["check", str(tmp_path / "bomb.zip")]) == 2
    assert "would grow" in capsys.readouterr().err


def test_what_this_version_cannot_unpack_is_refused(signed, tmp_path, capsys):
    members = _members(signed)
    info = zipfile.ZipInfo("LICENSE")
    info.compress_type = zipfile.ZIP_LZMA
    other = {info: members["LICENSE"], **_without(members, "LICENSE")}
    path = _sealed(tmp_path / "lzma.zip", list(other.items()))
    assert main(["check", str(path)]) == 2
    assert "LICENSE, whose encryption or compression is not" in capsys.readouterr().err
    path = _sealed(tmp_path / "locked.zip", list(members.items()))
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        place = content.index(b"LICENSE", archive.start_dir) - 46
    content[place + 8] |= 1
    path.write_bytes(content)
    assert main(["check", str(path)]) == 2
    assert "LICENSE, whose encryption or compression is not" in capsys.readouterr().err


def test_a_name_with_an_end_that_python_does_not_show_is_refused(signed, tmp_path, capsys):
    """Other programs may unpack it by its whole name."""
    members = _members(signed)
    members["LICENSE?"] = members.pop("LICENSE")
    path = _sealed(tmp_path / "odd.zip", list(members.items()))
    content = path.read_bytes()[:-DIGEST_BYTES].replace(b"LICENSE?", b"LICENSE\0")
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    assert main(["check", str(path)]) == 2
    assert r"holds 'LICENSE\x00', a path that leads out" in capsys.readouterr().err


def test_a_run_whose_name_no_other_system_takes_is_not_packed(night, tmp_path, capsys):
    shutil.copytree(night, tmp_path / "a:b")
    assert main(["archive", str(tmp_path / "a:b"), "-o", str(tmp_path / "x.zip")]) == 2
    assert "a:b: its name is not valid on every system; rename it" in capsys.readouterr().err


def test_a_member_that_is_longer_than_it_says_is_refused(signed, tmp_path):
    """The size in the zip fits the manifest, the packed bytes go on."""
    members = _members(signed)
    name = f"{TRIAL}/calls.csv"
    path = _sealed(tmp_path / "lies.zip", [*members.items(), ("x", members[name] + b"more")])
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info, start = archive.getinfo(name), archive.start_dir
    place = content.index(name.encode(), start) - 46
    struct.pack_into("<L", content, place + 24, info.file_size - 4)
    path.write_bytes(content)
    assert main(["check", str(path)]) == 2


def test_a_signature_is_verified_against_the_signers(signed, key, tmp_path, capsys):
    ours = _signers(tmp_path / "ours", key)
    theirs = _signers(tmp_path / "theirs", _key(tmp_path / "other"))
    assert main(["check", str(signed), "--signers", str(ours)]) == 0
    assert "signed by lab@example.org" in capsys.readouterr().err
    assert main(["check", str(signed), "--signers", str(theirs)]) == 2
    assert "signed by nobody in" in capsys.readouterr().err
    assert main(["check", str(signed), "--signers", str(tmp_path / "nobody")]) == 2
    members = _members(signed)
    forged = {**members, "LICENSE": b"anything"}
    forged[MANIFEST] = _listed(forged)
    _sealed(tmp_path / "long.zip", list({**members, SIGNATURE: bytes(2 << 20)}.items()))
    assert main(["check", str(tmp_path / "long.zip"), "--signers", str(ours)]) == 2
    assert "of 2097152 bytes, but the limit is 1048576" in capsys.readouterr().err
    _sealed(tmp_path / "forged.zip", list(forged.items()))
    assert main(["check", str(tmp_path / "forged.zip"), "--signers", str(ours)]) == 2
    bare = _sealed(tmp_path / "bare.zip", list(_without(members, SIGNATURE).items()))
    assert main(["check", str(bare)]) == 0
    capsys.readouterr()
    assert main(["check", str(bare), "--signers", str(ours)]) == 2
    assert "is not signed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["archive", "{night}", "-o", "{tmp}/night.tar"],
        ["archive", "{night}", "{night}", "-o", "{tmp}/night.zip"],
        ["archive", "{night}", "-o", "{tmp}/night.zip", "--licence", "{tmp}/nowhere"],
        ["archive", "{night}", "-o", "{tmp}/night.zip", "--sign", "{night}/plan.jsonl"],
        ["archive", "{signed}", "-o", "{tmp}/night.zip"],
        ["check", "{signed}", "--set-aside"],
        ["check", "{night}/plan.jsonl"],
        ["check", "{night}", "--signers", "{night}/plan.jsonl"],
        ["report", "{signed}", "--each"],
    ],
)
def test_bad_usage_is_one_message_and_leaves_nothing(arguments, night, signed, tmp_path, capsys):
    filled = [one.format(night=night, signed=signed, tmp=tmp_path) for one in arguments]
    assert main(filled) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("collect: ")
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def test_what_is_unpacked_is_removed_when_the_command_is_told_to_end(signed):
    program = (
        "import os, signal, sys, tempfile\n"
        "from pathlib import Path\n"
        "from collect.exchange.archive.unpack import unpacked\n"
        "with unpacked(Path(sys.argv[1])) as archive:\n"
        "    print(archive.directory, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    signal.pause()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, signed], capture_output=True, text=True, check=False
    )
    assert done.returncode == 143
    assert not Path(done.stdout.strip()).exists()


@pytest.mark.parametrize("path", ["a", "runs/a b/c.csv", "a/..b", "a/b..", "ä/ö"])
def test_plain_paths_are_safe(path):
    assert is_safe(path)


@pytest.mark.parametrize(
    "path", ["", "/a", "a//b", "a/", ".", "..", "a/../b", "a/.", "a\\b", "c:a", "a\nb", "x" * 256]
)
def test_other_paths_are_not(path):
    assert not is_safe(path)


def _zipped_again(path: Path, members: dict[str, bytes], folder: str = "") -> Path:
    """Write these members as any other program would."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{folder}{name}", content)
    return path


def _files(members):
    return {name: content for name, content in members.items() if not name.endswith("/")}


AGAIN = {
    "zip -r": lambda m: {"runs/": b"", "runs/night/": b"", **m},
    "zip -D": _files,
    "a folder around it": lambda m: {f"my night/{name}": m[name] for name in m},
    "two folders around it": lambda m: {f"a/b/{name}": m[name] for name in m},
    "Finder": lambda m: {
        **{f"night/{name}": m[name] for name in m},
        "night/.DS_Store": b"1",
        "night/runs/.DS_Store": b"1",
        "night/runs/._night": b"1",
        "__MACOSX/night/._manifest.json": b"1",
        "__MACOSX/._night": b"1",
    },
    "Windows": lambda m: {
        **{name.replace("/", "\\"): content for name, content in _files(m).items()},
        "runs\\night\\desktop.ini": b"1",
        "Thumbs.db": b"1",
    },
    "Dolphin": lambda m: {**m, ".directory": b"1", "runs/night/.directory": b"1"},
}


@pytest.mark.parametrize("kind", AGAIN)
def test_an_archive_zipped_again_is_read_and_says_so(signed, key, tmp_path, kind, capsys):
    members = AGAIN[kind](_members(signed))
    path = _zipped_again(tmp_path / "again.zip", members)
    signers = _signers(tmp_path / "signers", key)
    assert main(["check", str(path), "--signers", str(signers)]) == 0
    printed = capsys.readouterr()
    assert "as they were packed, zipped again by another program" in printed.err
    assert "signed by lab@example.org" in printed.err
    assert "36 of 36 trials sealed and verified; no findings" in printed.out


@pytest.mark.parametrize("comment", [b"a" * 40, b"PK", b"c" * 0xFFFF])
def test_an_archive_zipped_again_with_a_comment_is_read(signed, tmp_path, comment, capsys):
    """As `git archive` does it, with a folder around all files."""
    path = _zipped_again(tmp_path / "again.zip", _files(_members(signed)), "night-1.0/")
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment
    assert main(["check", str(path)]) == 0
    assert "zipped again by another program" in capsys.readouterr().err
    path.write_bytes(path.read_bytes() + b"\n")
    assert main(["check", str(path)]) == 2
    assert "zipped again" not in capsys.readouterr().err


def test_an_archive_unpacked_and_zipped_by_a_program_is_read(signed, tmp_path, capsys):
    with zipfile.ZipFile(signed) as archive:
        archive.extractall(tmp_path / "out" / "night")
    again = shutil.make_archive(str(tmp_path / "again"), "zip", tmp_path / "out")
    assert main(["check", again]) == 0
    assert "zipped again by another program" in capsys.readouterr().err
    (tmp_path / "out/night/runs/night/trials/.DS_Store").write_bytes(b"1")
    assert main(["check", str(tmp_path / "out/night/runs/night")]) == 0
    assert main(["check", str(tmp_path / "out/night")]) == 2
    assert f"name a run in it, such as {tmp_path}/out/night/runs/night" in capsys.readouterr().err


BAD_AGAIN = {
    "changed": (BAD["changed"][0], "holds runs/night/trials/b01-t001-soap-3-5000/calls.csv with"),
    "missing": (BAD["missing"][0], "lacks"),
    "too many": (BAD["too many"][0], "holds something that was not packed: "),
    "beside the folder": (
        lambda m: {**{f"night/{name}": m[name] for name in m}, "notes.txt": b"1"},
        "holds something that was not packed: notes.txt",
    ),
    "line ends": (
        lambda m: {**m, "LICENSE": m["LICENSE"].replace(b"\n", b"\r\n")},
        "holds LICENSE with",
    ),
    "above": (BAD["above"][0], "leads out of it"),
    "windows": (BAD["windows"][0], "leads out of it"),
}


@pytest.mark.parametrize("kind", BAD_AGAIN)
def test_an_archive_zipped_again_with_other_files_is_refused(signed, tmp_path, kind, capsys):
    change, message = BAD_AGAIN[kind]
    path = _zipped_again(tmp_path / "again.zip", change(_members(signed)))
    assert main(["check", str(path)]) == 2
    printed = capsys.readouterr().err
    assert "again.zip: was unpacked and zipped again by another program, and" in printed
    assert message in printed
    assert "keep that file" in printed


def test_a_zip_file_without_a_manifest_is_no_archive_at_all(signed, tmp_path, capsys):
    path = _zipped_again(tmp_path / "any.zip", BAD["no manifest"][0](_members(signed)))
    assert main(["check", str(path)]) == 2
    assert "any.zip: holds no manifest.json, so it is not an archive" in capsys.readouterr().err


def test_an_archive_inside_a_zip_file_is_named(signed, tmp_path, capsys):
    """As a repository of data gives all files of a record at once."""
    members = {"record/night.zip": signed.read_bytes(), "record/notes.md": b"1"}
    path = _zipped_again(tmp_path / "all.zip", members)
    assert main(["check", str(path)]) == 2
    assert "all.zip: holds record/night.zip, which may be the archive; unpack it and name that" in (
        capsys.readouterr().err
    )
