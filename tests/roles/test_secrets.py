"""What is secret is told to nobody: not in a terminal, not in a log."""

import re
from pathlib import Path

import pytest
import yaml

ROLES = Path(__file__).parents[2] / "roles"


def options_of(spec):
    """Every option of an argument specification by its name, those inside others as well."""
    for name, option in spec.get("options", {}).items():
        yield name, option
        yield from options_of(option)


@pytest.mark.parametrize(
    "path", sorted(ROLES.glob("*/meta/argument_specs.yml")), ids=lambda path: path.parts[-3]
)
def test_an_option_that_holds_a_secret_says_so(path):
    entries = yaml.safe_load(path.read_text())["argument_specs"].values()
    secret = {
        name: option.get("no_log", False)
        for entry in entries
        for name, option in options_of(entry)
        if re.search(r"(password|secret|token|hook_environment|overnight_variables)$", name)
    }
    assert all(secret.values()), secret
