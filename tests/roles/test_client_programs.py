"""Clients that are programs: which files of them go to the node, and where they lie there."""

import hashlib

import pytest
import yaml
from ansible.errors import AnsibleLookupError
from loading import ROOT, load

lookup = load("playbooks/lookup_plugins/client_programs.py")
tree = load("roles/runner/filter_plugins/program_tree.py")


def client(place, name, **files):
    directory = place / name
    directory.mkdir(parents=True)
    for path, text in {"client.yml": "{command: [sh], reads: csv}", **files}.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
    return directory


def test_the_files_of_a_client_are_found_with_their_permissions(tmp_path):
    script = client(tmp_path, "one", **{"bin/run": "#!/bin/sh\n"}) / "bin/run"
    script.chmod(0o755)
    (tmp_path / "no-client").mkdir()
    (tmp_path / "no-client/run.sh").write_text("")
    found = list(lookup.files_of_programs(tmp_path))
    assert [(file["path"], file["mode"]) for file in found] == [
        ("one/bin/run", "0755"),
        ("one/client.yml", "0644"),
    ]
    assert found[0]["source"] == str(script)
    assert found[0]["sha256"] == hashlib.sha256(b"#!/bin/sh\n").hexdigest()


def test_what_python_left_behind_stays_here(tmp_path):
    client(tmp_path, "one", **{"__pycache__/get.pyc": "x"})
    assert [file["path"] for file in lookup.files_of_programs(tmp_path)] == ["one/client.yml"]


def test_a_link_out_of_the_directory_is_refused(tmp_path):
    (tmp_path / "secret").write_text("x")
    (client(tmp_path / "clients", "one") / "data").symlink_to(tmp_path / "secret")
    with pytest.raises(AnsibleLookupError, match="a link out of the client's directory"):
        list(lookup.files_of_programs(tmp_path / "clients"))


def test_a_name_that_no_study_could_write_is_refused(tmp_path):
    client(tmp_path, "One")
    with pytest.raises(AnsibleLookupError, match="not the name of a client"):
        list(lookup.files_of_programs(tmp_path))


def test_the_files_lie_below_the_clients_with_their_directories():
    files = [
        {"path": "one/bin/run", "source": "/kit/run", "sha256": "0", "mode": "0755"},
        {"path": "two/client.yml", "source": "/kit/client.yml", "sha256": "0", "mode": "0644"},
    ]
    laid = tree.program_tree(files, "/opt/clients")
    assert [one["path"] for one in laid["directories"]] == [
        *("/opt/clients/one", "/opt/clients/one/bin", "/opt/clients/two")
    ]
    assert laid["files"][0] == {
        **{"path": "/opt/clients/one/bin/run", "source": "/kit/run", "mode": "0755"}
    }


def test_each_example_is_a_client_whose_files_are_sent():
    paths = {file["path"] for file in lookup.files_of_programs(ROOT / "playbooks/clients")}
    for name in ("wrk", "vegeta", "jmeter-http"):
        manifest = yaml.safe_load((ROOT / f"playbooks/clients/{name}/client.yml").read_text())
        assert manifest.keys() == {"command", "reads"}
        assert f"{name}/client.yml" in paths
        scripts = [word for word in manifest["command"] if word.endswith(".sh")]
        assert all(f"{name}/{script}" in paths for script in scripts)
