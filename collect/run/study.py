"""Study files: found, read, and checked against the schema."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.errors import InputError
from collect.printable import printable
from collect.project import find_project
from collect.run.cell import Level
from collect.run.fields import is_whole
from collect.run.levels import grids_of
from collect.run.profile import Profile
from collect.run.resolving.resolve import resolve
from collect.run.resolving.stated import Stated
from collect.strict_yaml import parse_yaml

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

STUDIES = Path("playbooks/studies")
KIT_STUDIES = Path(__file__).parents[1] / "studies"
"""The studies of rackbench: a link to playbooks/studies in a checkout, copies in a wheel."""
_ANY_NUMBER_OF_WORKERS = 10**6


@dataclass(frozen=True)
class Study:
    """A study file that satisfies the schema; `label` is how messages name it.

    One that a run recorded (`is_recorded`) passed the checks of the version that took it.
    """

    label: str
    content: Mapping[str, Any]
    is_recorded: bool = False

    @property
    def factors(self) -> Mapping[str, tuple[Level, ...]]:
        """Each factor with all its levels outside profiles, in the order of the file."""
        levels: dict[str, dict[Level, None]] = {}
        for grid in grids_of(self.content["factors"]):
            for factor, values in grid.items():
                levels.setdefault(factor, {}).update(dict.fromkeys(values))
        return {factor: tuple(values) for factor, values in levels.items()}

    def profile(
        self, name: str, workers: int = _ANY_NUMBER_OF_WORKERS, *, fit: bool = False
    ) -> Profile:
        """Resolve the profile `name` for a lab with `workers` workers, else for one with enough.

        With `fit`, levels that need more workers are left out. Raises InputError when the profile
        is unknown, a level lies outside its domain, a name refers to no factor, or nothing fits.
        """
        profiles = self.content["profiles"]
        if name not in profiles:
            raise InputError(
                f"{self.label}: there is no profile {name!r}; choose one of {', '.join(profiles)}"
            )
        stated = Stated(self.label, self.content, self.is_recorded, name, workers)
        return resolve(stated, fit=fit)


def find_study(name: str, folders: Sequence[Path] = ()) -> Path:
    """Return the path of a study: `name` is a file, or the name of one in `folders`.

    Without `folders` it is one in playbooks/studies; in a project directory, its own studies come
    first.
    """
    path = Path(name)
    if path.suffix in {".yml", ".yaml"}:
        return path
    # A sweep, which names its folders, takes no path.
    by_path = "" if folders else ", or give the path of a study file"
    folders = folders or study_folders()
    for folder in folders:
        if (folder / f"{name}.yml").is_file():
            return folder / f"{name}.yml"
    # In a checkout, two of them are the same directory.
    searched = {one.resolve(): one for one in reversed(folders) if one.is_dir()}
    known = {
        file.relative_to(folder).with_suffix("").as_posix()
        for folder in searched.values()
        for file in folder.rglob("*.yml")
    }
    shown = sorted(one for one in known if not one.startswith("archived/"))
    raise InputError(
        f"there is no study {name!r} in {' or '.join(map(str, reversed(searched.values())))}; "
        f"choose one of {', '.join(shown) or '(none)'}{by_path}"
    )


def study_folders() -> list[Path]:
    """Return where studies are found by their names, the first one first."""
    project = find_project()
    return [*([project.studies] if project else []), STUDIES, KIT_STUDIES]


def load_study(path: Path) -> Study:
    """Read and check a study file; raises InputError that names the file and the exact place."""
    label = f"{path.parent.name}/{path.name}" if path.parent.name == "studies" else str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{label}: cannot be read ({error}); check its path and its encoding (UTF-8)"
        ) from error
    return parse_study(text, label)


def parse_study(text: str, label: str, *, is_recorded: bool = False) -> Study:
    """Check the text of a study file; raises InputError that names `label` and the exact place.

    One that a run recorded (`is_recorded`) is read as the version did that took it.
    """
    try:
        content = parse_yaml(text, is_recorded=is_recorded)
        errors = sorted(_validator().iter_errors(content), key=lambda e: list(map(str, e.path)))
    except ValueError as error:
        raise InputError(f"{label}: {error}") from error
    if errors:
        raise InputError("\n".join(f"{label}: {_explain(error)}" for error in errors))
    return Study(label, content, is_recorded)


@cache
def _validator() -> "Draft202012Validator":
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - slow, plans need none

    schema = (
        resources.files("collect.run").joinpath("study.schema.json").read_text(encoding="utf-8")
    )
    # JSON has no whole numbers, so that 5.0 would pass for one; a plan would not.
    checker = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: is_whole(value)
    )
    extend: Callable[..., type[Draft202012Validator]] = validators.extend
    return extend(Draft202012Validator, type_checker=checker)(json.loads(schema))


def _explain(error: "ValidationError") -> str:
    where = _path(error.absolute_path)
    if error.validator in {"required", "additionalProperties"}:
        message = error.message.removesuffix(" is a required property")
        if error.validator == "required":
            return f"{message.strip(chr(39))} is missing{f' in {where}' if where else ''}; add it"
        said = printable(error.message)
        return f"{where + ': ' if where else ''}{said}; check the spelling or remove it"
    if error.validator == "anyOf" and error.context:
        reasons = " or ".join(dict.fromkeys(context.message for context in error.context))
        return f"{where}: {printable(reasons)}"
    return f"{where or 'the file'}: {printable(error.message)}"


def _path(parts: Sequence[str | int]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path
