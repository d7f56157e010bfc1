"""A sweep that cannot be planned ends at once, before any node is asked, and leaves nothing."""

from __future__ import annotations

import pytest
from labs import Lab

RUN = "never"


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        pytest.param(
            {"study": "nosuch"},
            ["there is no study 'nosuch'", "choose one of", "sort"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"study": "sort", "profile": "nosuch"},
            ["studies/sort.yml: there is no profile 'nosuch'", "choose one of demo, sample, paper"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"study": "sort", "profile": "wrong-type"},
            ["studies/sort.yml: profiles.wrong-type.factors.integers[0]", "'many'", "integer"],
            marks=pytest.mark.long,
        ),
        (
            {"study": "sort", "profile": "too-many-servers"},
            [
                "studies/sort.yml: profiles.too-many-servers.factors.servers[1] is 9",
                "the inventory has 3 workers",
                "add workers, lower the level, or skip it with --fit (playbooks: -e fit=true)",
            ],
        ),
        pytest.param(
            {"study": "sort,nosuch", "profile": "tiny"},
            ["there is no study 'nosuch'"],
            marks=pytest.mark.long,
        ),
        pytest.param({"study": " , "}, ["No study was named"], marks=pytest.mark.long),
        ({}, ["No study was named", "add -e study=NAME", "sort"]),
        (
            {"study": "sort", "profile": "tiny", "sweep_free_mb": 10**9},
            ["MiB free", "a sweep needs 1000000000", "make room or set sweep_free_mb"],
        ),
    ],
    ids=["study", "profile", "type", "servers", "second", "empty", "none", "disk"],
)
def test_a_sweep_that_cannot_be_planned_says_why(
    bare_lab: Lab, extra: dict[str, object], says: list[str]
) -> None:
    outcome = bare_lab.player.attempt("sweep.yml", {"run": RUN, **extra})
    assert outcome.code == 2
    for words in says:
        assert words in outcome.flat, outcome.excerpt
    assert "Traceback" not in outcome.text
    assert outcome.hosts == {"localhost"}
    assert not bare_lab.player.project.results(RUN).exists()
