"""Lessons: what an exhibit asks, what to look for, and three questions with their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import yaml


@dataclass(frozen=True)
class Question:
    """A question for the student and the answer for the teacher."""

    text: str
    answer: str


@dataclass(frozen=True)
class Lesson:
    """What goes with one exhibit."""

    asks: str
    look_for: str
    questions: Sequence[Question]


@cache
def lessons_of(study: str) -> Mapping[str, Lesson]:
    """Return the lessons of a study by the id of the exhibit, with those every study shares.

    They stand in studies/STUDY/lessons.yml; a study without that file has the shared ones alone.
    """
    room = resources.files("collect.replication")
    return {**_read(room / "lessons.yml"), **_read(room / "studies" / study / "lessons.yml")}


def _read(path: Traversable) -> Mapping[str, Lesson]:
    if not path.is_file():
        return {}
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        exhibit: Lesson(
            lesson["asks"],
            lesson["look_for"],
            tuple(Question(one["question"], one["answer"]) for one in lesson["questions"]),
        )
        for exhibit, lesson in content.items()
    }
