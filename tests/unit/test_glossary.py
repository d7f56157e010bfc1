"""The glossary names the keys and columns of our files as they are spelt there."""

import json
import re
from dataclasses import fields
from pathlib import Path

from collect.run.cell import CELL_COLUMNS, OPEN_COLUMNS
from collect.run.plan import PlannedTrial
from collect.run.study import load_study
from collect.run.trials import CALLS_HEADER, Trial

GLOSSARY = Path("docs/reference/glossary.md")
STUDY_KEYS = json.loads(Path("collect/run/study.schema.json").read_text())["properties"]
TRIAL_KEYS = re.findall(r'"(\w+)": \{', Path("collect/run/trial.schema.json").read_text())
STUDIES = [load_study(path) for path in Path("playbooks/studies").glob("*.yml")]
IN_FILES = {
    *(field.name for kind in (PlannedTrial, Trial) for field in fields(kind)),
    *CALLS_HEADER.split(","),
    *CELL_COLUMNS,
    *OPEN_COLUMNS,
    *TRIAL_KEYS,
    *STUDY_KEYS,
    *(name for study in STUDIES for name in study.content.get("constants", ())),
}


def test_what_the_glossary_calls_a_name_in_files_is_one():
    rows = [line.split("|") for line in GLOSSARY.read_text(encoding="utf-8").splitlines()]
    named = {name for row in rows if len(row) > 3 for name in re.findall(r"`(\w+)`", row[2])}
    assert len(named) > 25
    assert named <= IN_FILES, named - IN_FILES


def test_every_column_of_a_cell_and_a_call_is_in_the_glossary():
    text = GLOSSARY.read_text(encoding="utf-8")
    columns = {*CELL_COLUMNS, *CALLS_HEADER.split(",")} - {"seq", "phase", "start_ns", "trials"}
    assert {name for name in columns if not re.search(rf"`?\b{name}\b", text)} == set()
