"""No text has a banned phrase, and the search finds one where it is."""

import re

import pytest
import words
import yaml


def test_no_text_has_a_banned_phrase(capsys):
    assert words.main([]) == 0, capsys.readouterr().out


def test_tests_tables_and_templates_are_read_too():
    read = {str(path.relative_to(words.ROOT)) for path in words._tracked()}
    assert "docs/project/benchmarks.csv" in read
    assert "tests/bench/benchmarks.md.tmpl" in read
    assert "tests/unit/docs/test_doc_links.py" in read
    assert "tests/unit/docs/test_doc_words.py" not in read


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The trial is put off.", 1),
        ("one\ntwo trials are put\noff until", 2),
        ("# a comment that pays\n# for the looks of", 1),
        ("    // the trial was put\n    // off today", 1),
        ("It Begins Anew", 1),
        ("Calls\nthat failed are in no time.", 2),
        ("a file of the\n# kit's names", 1),
        ("W does not hang on its group", 1),
        ("engines are told\napart by name", 1),
        ("why it puts them off", 1),
    ],
)
def test_a_phrase_is_found_also_across_lines(text, line, tmp_path, capsys):
    path = tmp_path / "page.md"
    path.write_text(text)
    assert words.main([str(path)]) == 1
    found = capsys.readouterr().out
    assert found.startswith(f"{path}:{line}: '")
    assert "write instead:" in found


@pytest.mark.parametrize("text", ["output offset", "sweep_put_off", "put-off", "start a new run"])
def test_names_and_other_words_are_left_alone(text):
    assert not list(words.findings(text, "page.md"))


def example_of(phrase):
    """Return a text that a phrase of the list finds."""
    return re.sub(r"\((\w+)[^)]*\)\??", r"\1", phrase).replace("?", "")


def test_every_phrase_of_the_list_can_be_found():
    for entry in yaml.safe_load(words.LIST.read_text()):
        assert entry.keys() == {"phrase", "write"}
        plain = example_of(entry["phrase"])
        assert list(words.findings(f"It {plain} here", "page.md")), entry
