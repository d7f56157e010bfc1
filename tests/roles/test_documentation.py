"""What is said of roles and plug-ins: examples that could be run, options that exist."""

import ast
import re

import pytest
import yaml
from loading import ROOT, load

ROLES = sorted(path for path in ROOT.glob("roles/*") if path.is_dir())
PLUGINS = sorted(
    path
    for pattern in ("roles/*/library/*.py", "roles/*/*_plugins/*.py", "playbooks/*_plugins/*.py")
    for path in ROOT.glob(pattern)
)
FILTERS = [path for path in PLUGINS if path.parent.name == "filter_plugins"]
BY_THEMSELVES = {"vars_plugins", "callback_plugins"}  # Ansible calls these, no task does


def of(path):
    return "/".join(path.relative_to(ROOT).parts[-3:])


def plays_of(role):
    """Return the plays of a role's README: its indented blocks that begin with a name."""
    blocks = re.findall(
        r"(?m)^    - name: .*\n(?:(?:    .*)?\n)*", (role / "README.md").read_text()
    )
    return [play for block in blocks for play in yaml.safe_load(block)]


def uses_of(play, role):
    """Return how a play uses a role: the entry point, and the names of what it is given."""
    for entry in play.get("roles", []):
        if entry["role"] == role:
            yield "main", entry.keys() - {"role", "vars"} | entry.get("vars", {}).keys()
    for task in play.get("tasks", []):
        for kind in ("import_role", "include_role"):
            called = task.get(f"ansible.builtin.{kind}", {})
            if called.get("name") == role:
                yield called.get("tasks_from", "main"), task.get("vars", {}).keys()


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_the_readme_of_a_role_has_a_play_with_every_option_that_it_must_have(role):
    uses = [use for play in plays_of(role) if "hosts" in play for use in uses_of(play, role.name)]
    assert uses
    specs = role / "meta/argument_specs.yml"
    entries = yaml.safe_load(specs.read_text())["argument_specs"] if specs.is_file() else {}
    for entry, given in uses:
        options = entries.get(entry, {}).get("options", {})
        needed = {name for name, option in options.items() if option.get("required")}
        assert needed <= given <= options.keys()


def texts_of(path):
    """Return the texts that a file assigns at its top, by name, without running it."""
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


def module_of(plugin):
    """Return the module of an action plug-in's name, which has its documentation."""
    return plugin.parents[1] / "library" / plugin.name


@pytest.mark.parametrize("plugin", PLUGINS, ids=of)
def test_a_plugin_says_what_it_takes_and_shows_how_it_is_called(plugin):
    if plugin.parent.name == "action_plugins" and module_of(plugin).is_file():
        plugin = module_of(plugin)
    texts = texts_of(plugin)
    names = [plugin.stem]
    if plugin in FILTERS:
        names = load(plugin).FilterModule().filters()
    else:
        told = yaml.safe_load(texts["DOCUMENTATION"])
        assert plugin.stem in (told.get("module"), told.get("name"))
        assert told["short_description"]
        assert plugin.parent.name in {*BY_THEMSELVES, "strategy_plugins"} or "options" in told
    assert yaml.safe_load(texts["EXAMPLES"])
    assert plugin.parent.name in BY_THEMSELVES or all(name in texts["EXAMPLES"] for name in names)
