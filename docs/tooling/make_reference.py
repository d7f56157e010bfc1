"""Writes docs/reference from its sources: schemas, argument specs, parsers.

`python docs/tooling/make_reference.py` writes the pages, with --check it only compares them. A unit
test does the same, so a page cannot lag behind its source.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/reference"
SWEEP_VARIABLES = ROOT / "playbooks/vars/sweep.yml"
GROUP_OF_SWEEP = ROOT / "playbooks/tasks/end_change.yml"
BENCH_VARIABLES = ROOT / "playbooks/vars/bench.yml"
_NOTE = "<!-- Written by docs/tooling/make_reference.py; change its source instead. -->"
_LONGEST_DEFAULT = 60
_KINDS = {"anyOf", "oneOf"}
_TABLES = (
    (
        "cells.csv",
        "cells.csv",
        "A row for each cell; the factors of the study are columns after `study`.",
    ),
    (
        "cells.csv of an open loop",
        "cells.csv of an open loop",
        "Studies with `arrival` have these columns too.",
    ),
    ("calls.csv", "trials/ID/calls.csv", "A row for each call. Columns are in this order."),
)
_NAMES_OF_RUNS = "STUDY-PROFILE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare the pages; the exit code is 1 where one differs and --check was given."""
    parser = argparse.ArgumentParser(description="Write docs/reference from its sources.")
    parser.add_argument("--check", action="store_true", help="write nothing; name what differs")
    only_check = parser.parse_args(arguments).check
    differ = [name for name, text in pages().items() if _stands(name) != text]
    for name in differ:
        print(f"docs/reference/{name}: {'differs from its source' if only_check else 'written'}")
        if not only_check:
            (PAGES / name).write_text(pages()[name], encoding="utf-8")
    return 1 if differ and only_check else 0


def pages() -> dict[str, str]:
    """Return the text of each generated page by its name."""
    return {
        "study-file.md": study_page(),
        "sweep-options.md": sweep_page(),
        "inventory.md": inventory_page(),
        "files.md": files_page(),
        "commands.md": commands_page(),
    }


def study_page() -> str:
    """The keys of a study file, from its schema."""
    schema = _json("collect/run/study.schema.json")
    kinds = schema["$defs"]
    in_profiles = schema["properties"]["profiles"]["additionalProperties"]["properties"]
    lines = [
        "A study is one YAML file: `playbooks/studies/NAME.yml`, or `studies/NAME.yml` in a",
        "project directory. A misspelt key is refused. *Profile* says whether a profile may",
        "override the key.",
        "[sort.yml](../../playbooks/studies/sort.yml) explains the keys where they are used.",
    ]
    for key, own in schema["properties"].items():
        whole = _resolved(own, kinds)
        needed = key in schema["required"]
        default = f"`{_yaml(whole['default'])}`" if "default" in whole else "no such key"
        lines += ["", f"## `{key}`", "", whole["description"], ""]
        lines += [f"- Value: {_value(whole, kinds)}"]
        lines += ["- Required" if needed else f"- Default: {default}"]
        lines += [f"- Profile: {'yes' if key in in_profiles else 'no'}"]
        example = next(iter(whole.get("examples", ())), whole.get("const"))
        lines += ["", *_fenced(yaml.safe_dump({key: example}, sort_keys=False, width=88), "yaml")]
    return _page("Study file", lines)


def sweep_page() -> str:
    """The options of playbooks/sweep.yml, from its variables and the role's argument specs."""
    known = _options_of("sweep")
    short = sweep_options(known)
    defaults = _role_defaults("sweep")
    lines = [
        "Options of `ansible-playbook playbooks/sweep.yml`, each after `-e`. `rackbench run` takes",
        "most of them as `--OPTION`. For example:",
        "",
        "    ansible-playbook playbooks/sweep.yml -e study=sort -e profile=paper -e deadline=06:30",
        "",
        *_table(("option", "default", "meaning"), short.values()),
        "",
        "## Variables",
        "",
        "These may stand in `lab.yml` or after `-e`.",
        "",
    ]
    named = {f"sweep_{name}" for name in short}
    by_plays = re.findall(r"^ +(sweep_\w+):", GROUP_OF_SWEEP.read_text(), re.M)
    own = {*yaml.safe_load(SWEEP_VARIABLES.read_text()), *by_plays}
    rows = [
        (f"`{name}`", _default(defaults[name]), _sentence(option))
        for name, option in sorted(known.items())
        if name in defaults and name not in named and name not in own
    ]
    return _page("Sweep options", [*lines, *_table(("variable", "default", "meaning"), rows)])


def sweep_options(known: Mapping[str, Any]) -> dict[str, tuple[str, str, str]]:
    """Return each short option of a sweep with its row, found in what the playbook reads."""
    text = SWEEP_VARIABLES.read_text() + (ROOT / "playbooks/sweep.yml").read_text()
    found = dict(re.findall(r"\b([a-z]+) \| default\(([^)]*?)(?:, true)?\)", text))
    comments = dict(re.findall(r"^# (.+)\nsweep_([a-z]+):", SWEEP_VARIABLES.read_text(), re.M))
    said = {name: {"description": comment} for comment, name in comments.items()}
    runs = known["sweep_runs"]["options"]
    meanings = {
        **{name: runs[name] for name in ("study", "run")},
        "without": known["sweep_without"],
    }
    rows = {}
    first = ("study", "profile", "run")
    for name in (*first, *sorted(found.keys() - first)):
        option = meanings.get(name) or known.get(f"sweep_{name}") or said.get(name)
        if option:
            default = _NAMES_OF_RUNS if name == "run" else found[name].strip("'")
            rows[name] = (f"`{name}`", f"`{default}`" if default else "", _sentence(option))
    return rows


def inventory_page() -> str:
    """The variables that an inventory may set, from argument specs and defaults."""
    bench = yaml.safe_load(BENCH_VARIABLES.read_text())
    lines = [
        "An inventory is two files: `hosts.yml` names the machines, `lab.yml` describes the lab.",
        "Everything below has a default; write only what you change into `lab.yml`. A default that",
        "is computed from other variables is shown as *computed*.",
        "",
        "## hosts.yml",
        "",
        *_fenced((ROOT / "inventory/example/hosts.yml").read_text(), "yaml"),
        "",
        "## lab.yml",
        "",
        *_fenced((ROOT / "inventory/example/group_vars/all/lab.yml").read_text(), "yaml"),
    ]
    for role in sorted(
        path.parents[1].name for path in ROOT.glob("roles/*/meta/argument_specs.yml")
    ):
        if role == "sweep":
            continue
        defaults = _role_defaults(role)
        rows = [
            (
                f"`{name}`",
                option.get("type", "str"),
                _default(bench.get(name, defaults[name])),
                _sentence(option),
            )
            for name, option in sorted(_options_of(role).items())
            if name in defaults
        ]
        if rows:
            table = _table(("variable", "type", "default", "meaning"), rows)
            lines += ["", f"## {role}", "", *table]
    return _page("Inventory variables", lines)


def files_page() -> str:
    """The files of a run, from their schemas."""
    trial, run = _json("collect/run/trial.schema.json"), _json("collect/run/run.schema.json")
    columns = _json("collect/run/columns.json")
    lines = ["What a run leaves in `results/RUN`. Sealed files never change."]
    for name, schema in (("trials/ID/trial.json", trial), ("run.json", run)):
        lines += ["", f"## {name}", "", schema["description"], ""]
        lines += _table(("key", "kind", "meaning"), _keys(schema["properties"]))
    for name, title, says in _TABLES:
        lines += ["", f"## {title}", "", says, ""]
        rows = ((f"`{column}`", meaning) for column, meaning in columns[name].items())
        lines += _table(("column", "meaning"), rows)
    return _page("Files of a run", lines)


def commands_page() -> str:
    """What --help says of each command."""
    sys.path.insert(0, str(ROOT))
    from collect.cli import make_parser as of_collect  # noqa: PLC0415 - loads the analysis
    from collect.commands.exits import EXIT_CODES  # noqa: PLC0415
    from collect.front.cli import make_parser as of_rackbench  # noqa: PLC0415

    lines = [f"{EXIT_CODES.capitalize()}."]
    for parser in (of_rackbench(), of_collect()):
        lines += _program(parser)
    return _page("Commands", lines)


def _program(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from ("", f"## {parser.prog}", "", parser.description or "")
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from ("", f"### {parser.prog} {name}", "", _prose(command.description))
                yield from _arguments(command)
                yield from ("", *_fenced(_epilog(command), "text")) if _epilog(command) else ()


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    rows = [
        (f"`{_call(action)}`", _prose(_help(action)))
        for action in parser._actions
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)
    ]
    if rows:
        yield from ("", *_table(("argument", "meaning"), rows))


def _call(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    value = str(
        action.metavar or choices or (action.dest.upper() if action.option_strings else action.dest)
    )
    if action.nargs in ("*", "+"):
        value += " …"
    if not action.option_strings:
        return value
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def _help(action: argparse.Action) -> str:
    says = action.help or ""
    return says % {**vars(action), "prog": ""} if "%(" in says else says.replace("%%", "%")


def _epilog(parser: argparse.ArgumentParser) -> str:
    return (parser.epilog or "").strip()


def _prose(text: str | None) -> str:
    return " ".join((text or "").split())


def _keys(properties: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str, str]]:
    for name, schema in properties.items():
        yield f"`{above}{name}`", _kind(schema), schema.get("description", "")
        yield from _keys(schema.get("properties", {}), f"{above}{name}.")
        inner = schema.get("items", {})
        if isinstance(inner, dict):
            yield from _keys(inner.get("properties", {}), f"{above}{name}[].")


def _kind(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(one)}`" for one in schema["enum"])
    kinds = schema.get("type", "")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def _value(schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> str:
    """Describe what a key of a study may hold in a few words."""
    schema = _resolved(schema, kinds)
    for joined in _KINDS & schema.keys():
        return " or ".join(dict.fromkeys(_value(one, kinds) for one in schema[joined]))
    if "if" in schema:
        first = _value({**schema["if"], **schema["then"]}, kinds)
        return f"{first} or {_value(schema['else'], kinds)}"
    if "allOf" in schema:
        return _value(schema["allOf"][0], kinds)
    if "const" in schema or "enum" in schema:
        return _kind(schema)
    bounds = [
        f"{word} {schema[key]}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "less than"),
        )
        if key in schema
    ]
    inside = f" of `{'`, `'.join(schema['properties'])}`" if schema.get("properties") else ""
    if inside and schema.get("additionalProperties"):
        inside += " and others"
    named = {"object": "mapping", "array": "list", "string": "text"}
    kind = schema.get("type", "object")
    kind = [kind] if isinstance(kind, str) else kind
    kinds_named = " or ".join(named.get(one, one) for one in kind)
    return f"{kinds_named}{inside} {' and '.join(bounds)}".rstrip()


def _resolved(schema: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with what its reference says, its own words first."""
    if "$ref" not in schema:
        return dict(schema)
    found = _resolved(kinds[schema["$ref"].rpartition("/")[2]], kinds)
    return {**found, **{key: value for key, value in schema.items() if key != "$ref"}}


def _options_of(role: str) -> dict[str, Any]:
    specs = yaml.safe_load((ROOT / f"roles/{role}/meta/argument_specs.yml").read_text())
    found: dict[str, Any] = {}
    for entry in specs["argument_specs"].values():
        found = {**(entry.get("options") or {}), **found}
    return found


def _role_defaults(role: str) -> dict[str, Any]:
    path = ROOT / f"roles/{role}/defaults/main.yml"
    return (yaml.safe_load(path.read_text()) or {}) if path.is_file() else {}


def _default(value: Any) -> str:
    text = _yaml(value)
    if "{{" in text:
        return "*computed*"
    if len(text) > _LONGEST_DEFAULT:
        return f"`{text[:_LONGEST_DEFAULT]}…`"
    return f"`{text}`" if text else ""


def _yaml(value: Any) -> str:
    if isinstance(value, str):
        return value
    return (
        yaml.safe_dump(value, default_flow_style=True, width=10**6)
        .strip()
        .removesuffix("...")
        .strip()
    )


def _sentence(option: Mapping[str, Any]) -> str:
    says = option.get("description", "")
    text = " ".join(says) if isinstance(says, list) else says
    chosen = option.get("choices")
    return _prose(text) + (f" One of `{'`, `'.join(map(str, chosen))}`." if chosen else "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *cells]
    return [f"| {' | '.join(line)} |" for line in lines]


def _fenced(text: str, language: str) -> list[str]:
    return [f"```{language}", *text.rstrip("\n").splitlines(), "```"]


def _page(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"# {title}", "", _NOTE, "", *lines]) + "\n"


def _json(path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / path).read_text(encoding="utf-8"))
    return content


def _stands(name: str) -> str:
    path = PAGES / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
