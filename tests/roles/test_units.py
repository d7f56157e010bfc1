"""The units of the services: what every JVM of rackbench is started with."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment

ROLES = Path(__file__).parents[2] / "roles"
JAVA = re.compile(r"^ExecStart=\{\{ (\w+)_jdk \}\}/bin/java ", re.M)
JVMS = [unit for unit in ROLES.glob("*/templates/*.service.j2") if JAVA.search(unit.read_text())]


def test_the_units_of_jvms_are_found():
    assert {unit.parents[1].name for unit in JVMS} == {"openmq", "tomcat", "worker_programs"}


@pytest.mark.parametrize("unit", JVMS, ids=lambda unit: unit.parents[1].name)
def test_a_service_ends_without_memory_and_shares_no_performance_data(unit):
    """Else a write of that data to the disk can hold a safepoint."""
    role = unit.parents[1].name
    values = {
        f"{role}_jdk": "/opt/rackbench/jdk-25",
        f"{role}_jvm_options": ["-XX:+UseSerialGC"],
        "program": {"heap_mb": 64},
    }
    environment = Environment(autoescape=True)
    environment.filters["bool"] = bool
    text = environment.from_string(unit.read_text()).render(values)
    command = text[text.index("ExecStart=") :].partition("SuccessExitStatus")[0].split()
    assert command[0] == "ExecStart=/opt/rackbench/jdk-25/bin/java"
    for option in ("UseSerialGC", "ExitOnOutOfMemoryError", "PerfDisableSharedMem"):
        assert command.count(f"-XX:+{option}") == 1


@pytest.mark.parametrize(
    "variable",
    ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "HTTP_PROXY", "http_proxy", "GOGC"],
)
def test_no_trial_takes_options_from_the_environment_of_the_system(variable):
    """The drop-in holds for each unit of rackbench, also for the runner, whose forks are timed."""
    text = (ROLES / "health/templates/sandbox.conf.j2").read_text()
    assert variable in " ".join(re.findall(r"^UnsetEnvironment=(.*)$", text, re.M)).split()
