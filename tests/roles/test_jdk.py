"""The Java runtimes of a node: which package has which release, and what their links are called."""

import os
import subprocess

import pytest
from rendering import Role

OTHERS = [{"package": "openjdk-25-jre-headless", "release": 25}]
QUERY = """#!/bin/sh
case $2 in
openjdk-25*) echo /usr/share/doc; echo {root}/java-25/bin/java; echo {root}/java-25/release ;;
openjdk-21*) echo {root}/java-21/bin/java; echo {root}/other/bin/java ;;
*) echo "dpkg-query: package '$2' is not installed" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def told(tmp_path):
    """What a node with these packages answers the role."""
    for name, version in (("java-21", "21.0.9"), ("java-25", "25")):
        (tmp_path / name).mkdir()
        text = f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{version}"\nJAVA_VERSION_DATE="2025-10-21"\n'
        (tmp_path / name / "release").write_text(text)
    stub = tmp_path / "dpkg-query"
    stub.write_text(QUERY.format(root=tmp_path))
    stub.chmod(0o755)

    def ask(*packages):
        ask = Role("jdk").render("{{ __jdk_ask }}")
        return subprocess.run(
            ["sh", "-c", ask, "sh", *packages],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.rstrip("\n")

    return ask


def role_for(told, one, **variables):
    """The role with what a node answered, at one of its packages."""
    lines = {"stdout": told, "stdout_lines": told.splitlines()}
    return Role("jdk", __jdk_told=lines, jdk_one=one, **variables)


def test_each_package_is_asked_for_its_java_and_its_release(told, tmp_path):
    said = told("openjdk-21-jre-headless", "openjdk-25-jre-headless", "openjdk-99-jre-headless")
    assert said.splitlines() == [
        f"openjdk-21-jre-headless {tmp_path}/java-21 21",
        f"openjdk-25-jre-headless {tmp_path}/java-25 25",
        "openjdk-99-jre-headless /usr/lib/jvm/none ",
    ]


@pytest.mark.parametrize(
    ("package", "release", "is_taken"),
    [
        ("openjdk-21-jre-headless", 21, True),
        ("openjdk-25-jre-headless", 25, True),
        ("openjdk-25-jre-headless", "25", True),
        ("openjdk-25-jre-headless", 2, False),
        ("openjdk-25-jre-headless", 21, False),
        ("openjdk-99-jre-headless", 99, False),
    ],
)
def test_a_package_with_another_release_than_was_declared_is_refused(
    told, package, release, is_taken
):
    role = role_for(told(package), {"package": package, "release": release})
    task = role.task("main", "Refuse a release other than the declared one")
    assert role.holds(task["ansible.builtin.assert"]["that"]) is is_taken


def test_the_default_jdk_has_the_plain_link_and_others_have_their_release(told, tmp_path):
    said = told("openjdk-21-jre-headless", "openjdk-25-jre-headless")
    default = {"package": "openjdk-21-jre-headless", "release": 21}
    links = {}
    for one in (default, *OTHERS):
        role = role_for(said, one, jdk_others=OTHERS)
        links[role.render("{{ __jdk_link }}")] = role.render("{{ __jdk_home }}")
    assert links == {
        "/opt/rackbench/jdk": f"{tmp_path}/java-21",
        "/opt/rackbench/jdk-25": f"{tmp_path}/java-25",
    }


@pytest.mark.parametrize(
    ("others", "is_taken"),
    [(OTHERS, True), ([*OTHERS, *OTHERS], False), ([{"package": "x", "release": 21}], False)],
)
def test_two_runtimes_of_one_release_are_refused(others, is_taken):
    role = Role("jdk", jdk_others=others)
    task = role.task("main", "Refuse two runtimes of one release")
    assert role.holds(task["ansible.builtin.assert"]["that"]) is is_taken
