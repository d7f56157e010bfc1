"""The build says which JDKs it found where it cannot use them."""

import subprocess
from pathlib import Path

import pytest

PINNED_MAVEN = Path(__file__).parents[2] / "java-apps/pinned_maven"
MVN = "Apache Maven 3.8.7\nJava version: {java}, vendor: Any, runtime: {home}\nDefault locale: en\n"


def built(tmp_path, scripts, **environment):
    """What the build says with these programs in front of all others."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    return subprocess.run(
        [PINNED_MAVEN, "package"],
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def jdks(java, javac, home="/opt/jdk"):
    said = MVN.format(java=java, home=home)
    return {"mvn": f"cat <<'END'\n{said}END", "javac": f"echo javac {javac}"}


@pytest.mark.parametrize(("java", "javac"), [("11.0.2", "21.0.4"), ("11.0.2", "11.0.2")])
def test_jdks_that_cannot_build_are_both_named(tmp_path, java, javac):
    done = built(tmp_path, jdks(java, javac, "/opt/jdk-11"), JAVA_HOME="/opt/jdk-11")
    assert done.returncode == 1
    assert f"mvn uses Java {java} (/opt/jdk-11), javac is {javac} ({tmp_path}/" in done.stderr
    assert "JAVA_HOME is /opt/jdk-11" in done.stderr
    assert "one JDK of release 17 or newer: unset JAVA_HOME" in done.stderr


def test_a_maven_that_does_not_start_is_told_with_java_home(tmp_path):
    programs = jdks("21", "21") | {"mvn": "echo JAVA_HOME is not defined correctly >&2; exit 1"}
    done = built(tmp_path, programs, JAVA_HOME="/nowhere")
    assert done.returncode == 1
    assert "mvn does not start: JAVA_HOME is not defined correctly" in done.stderr
    assert "(JAVA_HOME is /nowhere)" in done.stderr


def test_a_build_that_fails_where_a_proxy_is_needed_says_where_maven_reads_it(tmp_path):
    ask = 'case "$1" in --version) ;; *) exit 1 ;; esac'
    both = jdks("21.0.4", "21.0.4")
    programs = both | {"mvn": f"{ask}\n{both['mvn']}", "jar": "exit 0"}
    programs["javac"] = f'case "$1" in -version) {both["javac"]} ;; esac'
    done = built(tmp_path, programs, https_proxy="http://192.0.2.1:3128")
    assert done.returncode == 1
    assert "mvn does not use the proxy http://192.0.2.1:3128" in done.stderr
    assert f"{tmp_path}/.m2/settings.xml" in done.stderr
