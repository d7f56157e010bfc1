"""Clients that are programs: which files of them go to the node that drives."""

import tarfile

import pytest
import yaml
from ansible.errors import AnsibleLookupError
from loading import ROOT, load

lookup = load("playbooks/lookup_plugins/client_programs.py")


def client(place, name, **files):
    directory = place / name
    directory.mkdir(parents=True)
    for path, text in {"client.yml": "{command: [sh], reads: csv}", **files}.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
    return directory


def names_in(found):
    with tarfile.open(found["archive"]) as tar:
        return {member.name: member for member in tar}


def test_the_files_of_a_client_are_packed_with_their_permissions(tmp_path):
    script = client(tmp_path / "clients", "one", **{"bin/run": "#!/bin/sh\n"}) / "bin/run"
    script.chmod(0o755)
    (tmp_path / "clients/no-client").mkdir()
    (tmp_path / "clients/no-client/run.sh").write_text("")
    found = lookup.pack(tmp_path / "clients", tmp_path / "state")
    members = names_in(found)
    assert {name: member.mode for name, member in members.items()} == {
        "one/bin/run": 0o755,
        "one/client.yml": 0o644,
    }
    assert found["files"].keys() == {"clients/one/bin/run", "clients/one/client.yml"}


def test_the_same_files_give_the_same_bytes_and_are_not_written_again(tmp_path):
    client(tmp_path / "clients", "one", **{"__pycache__/get.pyc": "x"})
    first = lookup.pack(tmp_path / "clients", tmp_path / "state")
    written = (tmp_path / "state" / lookup.ARCHIVE).stat().st_mtime_ns
    (tmp_path / "clients/one/client.yml").touch()
    (tmp_path / "clients/one/__pycache__/get.pyc").write_text("y")
    assert lookup.pack(tmp_path / "clients", tmp_path / "state") == first
    assert (tmp_path / "state" / lookup.ARCHIVE).stat().st_mtime_ns == written
    (tmp_path / "clients/one/client.yml").chmod(0o755)
    assert lookup.pack(tmp_path / "clients", tmp_path / "state")["sha256"] != first["sha256"]
    assert [path.name for path in (tmp_path / "state").iterdir()] == [lookup.ARCHIVE]


def test_without_a_client_the_archive_is_empty(tmp_path):
    assert names_in(lookup.pack(tmp_path / "clients", tmp_path)) == {}


def test_a_link_out_of_the_directory_is_refused(tmp_path):
    (tmp_path / "secret").write_text("x")
    (client(tmp_path / "clients", "one") / "data").symlink_to(tmp_path / "secret")
    with pytest.raises(AnsibleLookupError, match="a link out of the client's directory"):
        lookup.pack(tmp_path / "clients", tmp_path)


def test_a_link_to_a_directory_is_refused_because_it_is_not_packed(tmp_path):
    directory = client(tmp_path / "clients", "one", **{"data-1.0/calls": "x"})
    (directory / "data").symlink_to("data-1.0")
    with pytest.raises(AnsibleLookupError, match="one/data is a link to a directory, which is not"):
        lookup.pack(tmp_path / "clients", tmp_path)


def test_a_name_that_no_study_could_write_is_refused(tmp_path):
    client(tmp_path / "clients", "One")
    with pytest.raises(AnsibleLookupError, match="not the name of a client"):
        lookup.pack(tmp_path / "clients", tmp_path)


def test_each_example_is_a_client_whose_files_are_sent(tmp_path):
    paths = lookup.LookupModule().run([str(tmp_path)])[0]["files"]
    for name in ("wrk", "vegeta", "jmeter-http"):
        manifest = yaml.safe_load((ROOT / f"playbooks/clients/{name}/client.yml").read_text())
        assert manifest.keys() == {"command", "reads"}
        assert f"clients/{name}/client.yml" in paths
        scripts = [word for word in manifest["command"] if word.endswith(".sh")]
        assert all(f"clients/{name}/{script}" in paths for script in scripts)
