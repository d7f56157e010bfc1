import re

import pytest

from collect.cells.analysis import analyse
from collect.cli import main
from collect.replication.lessons import lessons_of
from collect.replication.replicate import replicate

STUDIES = ("sort", "binding", "mtom", "overhead", "attachments", "harness", "cold")


@pytest.mark.parametrize("study", STUDIES)
def test_every_exhibit_has_a_lesson_with_three_questions(shared_run, study):
    exhibits = replicate(analyse(shared_run(study, "demo"))).exhibits
    lessons = lessons_of(study)
    assert {exhibit.id for exhibit in exhibits} == set(lessons)
    for name, lesson in lessons.items():
        assert lesson.asks.endswith("?"), name
        assert len(lesson.questions) == 3, name
        for question in lesson.questions:
            assert re.search(r"[?.]$", question.text), question.text
            assert question.answer.endswith("."), question.answer


def test_a_study_of_ones_own_has_the_shared_lessons():
    assert lessons_of("mine") == lessons_of("no-study")


@pytest.fixture(scope="module")
def lesson(shared_run, tmp_path_factory):
    path = tmp_path_factory.mktemp("lesson") / "course.html"
    runs = [str(shared_run(study, "demo").directory) for study in ("sort", "overhead")]
    assert main(["report", *runs, "--audience", "student", "-o", str(path)]) == 0
    answers = path.with_name("course-answers.md").read_text(encoding="utf-8")
    return path.read_text(encoding="utf-8"), answers


def test_questions_stand_in_the_page_and_answers_only_beside_it(lesson):
    page, answers = lesson
    assert page.count('class="asks"') == page.count('class="questions"') > 15
    for study in ("sort", "overhead"):
        for one in lessons_of(study).values():
            for question in one.questions:
                assert question.text in answers
                assert question.answer in answers
                assert question.answer not in page


def test_answers_lead_to_the_exhibits_of_the_page(lesson):
    page, answers = lesson
    links = re.findall(r"\(course\.html#([^)]+)\)", answers)
    assert len(links) > 15
    for link in links:
        assert f'id="{link}"' in page, link


def test_a_researcher_gets_no_lesson(shared_run, tmp_path):
    path = tmp_path / "plain.html"
    assert main(["report", str(shared_run("sort", "demo").directory), "-o", str(path)]) == 0
    assert 'class="questions"' not in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]
