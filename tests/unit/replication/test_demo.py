"""The demo runs what most sentences of the documents need."""

import pytest

from collect.cells.analysis import analyse
from collect.replication.claims import Verdict
from collect.replication.replicate import replicate


@pytest.mark.parametrize("study", ["sort", "binding", "mtom", "overhead", "attachments"])
def test_at_most_two_claims_of_a_demo_are_not_tested(shared_run, study):
    claims = replicate(analyse(shared_run(study, "demo"))).claims
    untested = [c.claim.sentence for c in claims if c.measured.verdict == Verdict.NOT_TESTED]
    assert len(untested) <= 2, untested
