"""The demo runs what most sentences of the papers need, in few trials."""

from pathlib import Path

import pytest
import yaml

from collect.cells.analysis import analyse
from collect.replication.claims import Verdict
from collect.replication.replicate import replicate
from collect.replication.studies import find
from collect.run.plan import make_plan
from collect.run.study import load_study

ROOT = Path(__file__).parents[3]
UNTESTED = {
    "sort": [
        "SOAP speeds up from 1 to 5 servers at 100 000 integers.",
        "Both grow alike from 50 000 to 100 000 integers.",
        "Both scale alike from 1 to 5 servers at 100 000 integers.",
        "SOAP and JMS differ significantly.",
    ],
    "binding": ["With 100 at once, JMS is a little slower, but faster at 3.5 KB."],
    "mtom": [],
    "overhead": [
        "Size, protocol and their interaction are significant.",
        "The intervals of the two protocols never overlap.",
        "What SOAP/HTTP adds to a call lies between 13 and 20 ms, whatever the size.",
        "The number of elements is significant.",
        "The number of elements explains about 5 % of the variation.",
    ],
    "attachments": [
        "Standard SOAP runs out of memory at 500²; attachments do 1000².",
        "MIME is always about 310 bytes larger than DIME.",
        "At 10² there is not too much difference in time and in bytes.",
    ],
}
"""The claims that need cells of the paper which the demo has no time for.

Some of them could yet fail in the cells that it has.
"""


@pytest.mark.parametrize("study", UNTESTED)
def test_only_these_claims_of_a_demo_are_not_tested(shared_run, study):
    claims = replicate(analyse(shared_run(study, "demo"))).claims
    untested = [c.claim.sentence for c in claims if c.measured.verdict == Verdict.NOT_TESTED]
    assert untested == UNTESTED[study]


@pytest.mark.parametrize("study", UNTESTED)
def test_every_cell_of_a_demo_has_three_of_at_most_thirty_trials(shared_run, study):
    """A trial starts a JVM: about two seconds on two slow cores."""
    analysis = analyse(shared_run(study, "demo"))
    assert {len(cell.counted) for cell in analysis.cells} == {3}
    assert 3 * len(analysis.cells) <= 30


def planned(study):
    profile = load_study(ROOT / f"playbooks/studies/{study}.yml").profile("demo", 5)
    return make_plan(profile)


def text_of(page):
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_the_pages_count_the_trials_and_claims_of_the_demo():
    (play,) = yaml.safe_load((ROOT / "playbooks/demo.yml").read_text())
    trials = sum(len(planned(study)) for study in play["vars"]["study"].split(","))
    untested = sum(map(len, UNTESTED.values()))
    claims = sum(len(find(study).claims) for study in UNTESTED)
    readme, validation = text_of("README.md"), text_of("docs/project/validation.md")
    assert f"sweeps six studies ({trials} trials)" in readme
    assert f"lacks cells that {untested} of the papers' {claims} claims need" in readme
    assert f"lack cells that {untested} of the {claims} claims need" in validation


def test_the_pages_count_the_cells_of_the_demo_with_a_fixed_warm_up():
    warmups = {trial.factors: trial.warmup for study in UNTESTED for trial in planned(study)}
    fixed = [one for one in warmups.values() if isinstance(one, int)]
    validation = text_of("docs/project/validation.md")
    assert f"{len(fixed)} of the {len(warmups)} cells have a fixed number" in validation
    assert f"warm-up calls, at most {max(fixed)}." in validation
