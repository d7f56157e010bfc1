"""Clients that are programs: which files of them go to the node that drives."""

import re
import shutil
import subprocess
from hashlib import sha256

import pytest
import yaml
from ansible.errors import AnsibleLookupError
from ansible.plugins.loader import lookup_loader
from loading import ROOT, load
from rendering import Role

lookup = load("playbooks/lookup_plugins/client_programs.py")
lookup_loader.add_directory(str(ROOT / "playbooks/lookup_plugins"))
VARIABLES = {
    name: value
    for file in ("bench", "sweep")
    for name, value in yaml.safe_load((ROOT / f"playbooks/vars/{file}.yml").read_text()).items()
}


def client(place, name, **files):
    directory = place / "clients" / name
    directory.mkdir(parents=True)
    for path, text in {"client.yml": "{command: [sh], reads: csv}", **files}.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
    return directory


def listed(place):
    return lookup.LookupModule().run([str(place / "clients")])


def rendered(place, name, **known):
    """What a variable of the playbooks becomes on a node."""
    known |= {"bench_programs": listed(place), "inventory_hostname": "client1"}
    known |= {"node_files_archives": str(place / "archives"), "rackbench_manifest": {"a": "1"}}
    return Role("node_files", **known).render(VARIABLES[name])


def test_the_files_of_a_client_are_listed_with_their_permissions_and_contents(tmp_path):
    one = client(tmp_path, "one", **{"bin/run": "#!/bin/sh\n", "__pycache__/get.pyc": "x"})
    (one / "bin/run").chmod(0o755)
    (tmp_path / "clients/no-client").mkdir()
    (tmp_path / "clients/no-client/run.sh").write_text("")
    files = [(file["path"], file["mode"], file["binary"]) for file in listed(tmp_path)]
    assert files == [
        ("one/bin/run", "0755", f"{one}/bin/run"),
        ("one/client.yml", "0644", f"{one}/client.yml"),
    ]
    assert rendered(tmp_path, "sweep_programs") == ["one"]
    assert rendered(tmp_path, "bench_artefacts") == {
        "a": "1",
        "clients/one/bin/run": sha256(b"#!/bin/sh\n").hexdigest(),
        "clients/one/client.yml": sha256((one / "client.yml").read_bytes()).hexdigest(),
    }


def test_other_files_are_another_archive_and_the_same_ones_are_not(tmp_path):
    manifest = client(tmp_path, "one") / "client.yml"
    first = rendered(tmp_path, "runner_programs")
    manifest.touch()
    assert rendered(tmp_path, "runner_programs") == first
    manifest.chmod(0o755)
    other = rendered(tmp_path, "runner_programs")
    digests = {
        rendered(tmp_path, "runner_programs_sha256", runner_programs=archive)
        for archive in (first, other)
    }
    assert len(digests) == 2
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)


def test_clients_of_a_project_come_before_those_of_the_kit(tmp_path):
    kit, project = tmp_path / "kit/playbooks", tmp_path / "project"
    client(kit, "both", of_kit="")
    client(kit, "kits")
    client(project, "both", of_project="")
    client(project, "own")
    known = {"rackbench_root": str(tmp_path / "kit"), "rackbench_project": str(project)}

    def paths():
        found = Role("node_files", **known).render(VARIABLES["bench_programs"])
        return {file["path"] for file in found}

    of_kit = {"both/client.yml", "both/of_kit", "kits/client.yml"}
    of_project = {"both/client.yml", "both/of_project", "own/client.yml"}
    assert paths() == of_project | {"kits/client.yml"}
    shutil.rmtree(project)
    assert paths() == of_kit
    known.pop("rackbench_project")
    assert paths() == of_kit


def test_a_client_that_a_project_replaces_is_not_read(tmp_path):
    kit, project = tmp_path / "kit", tmp_path / "project"
    (client(kit, "one") / "data").symlink_to("/etc/hostname")
    manifest = client(project, "one") / "client.yml"
    (file,) = lookup.LookupModule().run([str(project / "clients"), str(kit / "clients")])
    assert file["binary"] == str(manifest)


@pytest.mark.skipif(not shutil.which("unzip"), reason="unzip is not installed")
@pytest.mark.parametrize("clients", [[], ["one"], ["one", "two"]])
def test_the_archive_can_be_unpacked_also_without_a_client(tmp_path, clients):
    for name in clients:
        (client(tmp_path, name, run="#!/bin/sh\n") / "run").chmod(0o755)
    archive = rendered(tmp_path, "runner_programs")
    place = tmp_path / "node"
    subprocess.run(["unzip", "-q", archive, "-d", place], check=True)
    files = [path for path in place.rglob("*") if path.is_file()]
    modes = {str(path.relative_to(place)): path.stat().st_mode & 0o777 for path in files}
    assert modes == {
        f"{name}/{file}": mode
        for name in clients
        for file, mode in (("client.yml", 0o644), ("run", 0o755))
    }


def test_a_link_out_of_the_directory_is_refused(tmp_path):
    (tmp_path / "secret").write_text("x")
    (client(tmp_path, "one") / "data").symlink_to(tmp_path / "secret")
    with pytest.raises(AnsibleLookupError, match="a link out of the client's directory"):
        listed(tmp_path)


def test_a_link_to_a_directory_is_refused_because_it_is_not_packed(tmp_path):
    directory = client(tmp_path, "one", **{"data-1.0/calls": "x"})
    (directory / "data").symlink_to("data-1.0")
    with pytest.raises(AnsibleLookupError, match="one/data is a link to a directory, which is not"):
        listed(tmp_path)


def test_a_name_that_no_study_could_write_is_refused(tmp_path):
    client(tmp_path, "One")
    with pytest.raises(AnsibleLookupError, match="not the name of a client"):
        listed(tmp_path)


def test_each_example_is_a_client_whose_files_are_sent():
    paths = {file["path"] for file in listed(ROOT / "playbooks")}
    for name in ("wrk", "vegeta", "jmeter-http"):
        manifest = yaml.safe_load((ROOT / f"playbooks/clients/{name}/client.yml").read_text())
        assert manifest.keys() == {"command", "reads"}
        assert f"{name}/client.yml" in paths
        scripts = [word for word in manifest["command"] if word.endswith(".sh")]
        assert all(f"{name}/{script}" in paths for script in scripts)
