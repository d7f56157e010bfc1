"""The rooms of collect are as its README says: all are named, and imports lead one way."""

import ast
import re
from pathlib import Path

import collect

HOUSE = Path(collect.__file__).parent
MAP = (HOUSE / "README.md").read_text(encoding="utf-8")
ROOMS = re.findall(r"^\| \[(\w+)\]", MAP, re.M)


def imported_rooms(file):
    """Yield the rooms that a file imports from, also inside functions and for types alone."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            first, _, rest = name.partition(".")
            if first == "collect" and rest:
                yield rest.partition(".")[0]


def test_each_room_of_collect_is_on_the_map():
    assert sorted(ROOMS) == sorted(init.parent.name for init in HOUSE.glob("*/__init__.py"))


def test_no_room_imports_from_one_that_comes_after_it():
    back = [
        f"{file.relative_to(HOUSE)} imports from {other}"
        for place, room in enumerate(ROOMS)
        for file in (HOUSE / room).rglob("*.py")
        for other in imported_rooms(file)
        if other in ROOMS[place + 1 :] or other == "cli"
    ]
    assert back == []


def test_what_the_rooms_share_imports_from_none_of_them():
    shared = [file for file in HOUSE.glob("*.py") if file.stem not in {"cli", "__main__"}]
    assert {f.stem: found for f in shared if (found := set(imported_rooms(f)) & {*ROOMS})} == {}


def test_each_file_that_the_map_names_is_there():
    table = re.findall(r"^\| \[(\w+)\].*\| ([^|]+) \|$", MAP, re.M)
    named = [HOUSE / room / file for room, files in table for file in re.findall(r"`(.+?)`", files)]
    way = [f"collect/{name}" for name in re.findall(r"`((?:run|logs|cells|report)/\w+\.py)`", MAP)]
    absent = [str(p) for p in [*named, *(HOUSE.parent / name for name in way)] if not p.exists()]
    assert named
    assert way
    assert absent == []
