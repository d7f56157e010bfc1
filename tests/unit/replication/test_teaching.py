import re

import pytest

from collect.cells.analysis import analyse
from collect.cli import main
from collect.replication.crossing import crossing, show_crossing
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


def answer_to(study, exhibit, part):
    (found,) = [one.answer for one in lessons_of(study)[exhibit].questions if part in one.text]
    return found


def test_the_lesson_on_the_threshold_has_the_method_of_its_interval():
    answer = answer_to("mtom", "mtom-threshold", "have an interval")
    assert "a t test over the blocks does not tell" in answer
    assert "replacement" not in answer


def test_the_lesson_on_crossings_leaves_open_what_the_interval_does():
    found = crossing([500, 5000], [[-1.0, 0.1], [-0.9, -0.3], [-1.1, -0.1]])
    text = show_crossing(found, [500, 5000])
    assert re.fullmatch(r"above 5\u202f000 \[[\d\u202f]+, above 5\u202f000\]", text)
    answer = answer_to("sort", "sort-crossings", "above 100 000")
    assert "The interval says whether one is possible there all the same." in answer


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
