"""Plug-ins of the Java build run only with the bytes that are pinned."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
JAVA_APPS = ROOT / "java-apps"
PLUGIN = "com/diffplug/spotless/spotless-maven-plugin"

pytestmark = pytest.mark.skipif(not shutil.which("mvn"), reason="Maven is not installed")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """This account's local Maven repository once more, as links, so that files may be replaced."""
    place = tmp_path_factory.mktemp("maven") / "repository"
    place.mkdir()
    own = Path.home() / ".m2/repository"
    if own.is_dir():
        subprocess.run(["cp", "-rs", f"{own}/.", place], check=True)
    return place


def maven(program, repository, *options, phase="validate"):
    """A phase of the parent alone; the first one runs one plug-in."""
    command = [program, "--batch-mode", "--no-transfer-progress", "--non-recursive", *options]
    return subprocess.run(
        [*command, f"-Dmaven.repo.local={repository}", phase],
        cwd=JAVA_APPS,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def done(repository):
    """A run with what is pinned, which has fetched all of it."""
    return maven("./pinned_maven", repository)


def test_what_is_pinned_runs(done):
    assert done.returncode == 0, done.stdout + done.stderr
    assert "spotless-maven-plugin" in done.stdout


def test_a_plug_in_with_a_byte_more_is_refused_before_it_runs(repository, done):
    jar = next((repository / PLUGIN).rglob("*.jar"))
    pinned = jar.read_bytes()
    jar.unlink()
    jar.write_bytes(pinned + b"\0")
    plain, checked = maven("mvn", repository), maven("./pinned_maven", repository)
    jar.write_bytes(pinned)
    assert plain.returncode == 0, "Maven itself must not mind, or this tests nothing"
    assert checked.returncode == 1
    assert f"{jar.name}: wanted SHA-256" in checked.stderr
    assert "spotless-maven-plugin" not in checked.stdout


def test_a_plug_in_that_is_not_pinned_is_refused(repository, tmp_path):
    pins = tmp_path / "build.sha256"
    text = (JAVA_APPS / "build.sha256").read_text()
    pins.write_text(re.sub(r".*spotless-maven-plugin:jar.*\n", "", text))
    done = maven("./pinned_maven", repository, f"-Drackbench.pins={pins}")
    assert done.returncode == 1
    assert "wanted SHA-256 (none) of com.diffplug.spotless:spotless-maven-plugin" in done.stderr


def test_a_build_leaves_tests_and_format_to_make_test_java(repository, tmp_path):
    shutil.copy(JAVA_APPS / "pom.xml", tmp_path)
    module = tmp_path / "harness-api"
    shutil.copytree(JAVA_APPS / "harness-api", module, ignore=shutil.ignore_patterns("target"))
    (module / "src/test/java/Broken.java").write_text("class  Broken extends Absent {}\n")
    defaults = (ROOT / "roles/java_apps/defaults/main.yml").read_text()
    goal, *options = yaml.safe_load(defaults)["java_apps_goal"].split()
    assert goal == "package"
    here = f"--file={module}/pom.xml"
    built = maven("./pinned_maven", repository, here, *options, phase="test-compile")
    assert built.returncode == 0, built.stdout + built.stderr
    checked = maven("./pinned_maven", repository, here)
    assert checked.returncode == 1
    assert "Broken.java" in checked.stdout


def test_a_list_that_cannot_be_read_ends_the_build(repository, tmp_path):
    (tmp_path / "build.sha256").write_text("one-word\n")
    done = maven("./pinned_maven", repository, f"-Drackbench.pins={tmp_path / 'build.sha256'}")
    assert done.returncode == 1
    assert "correct the line" in done.stderr
