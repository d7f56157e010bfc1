"""What the tests of the lab's security share."""

from __future__ import annotations

import pytest
from attacker import Attacker, deploy_attackers
from labs import Lab, Say


@pytest.fixture(scope="session")
def attacker(lab: Lab) -> Attacker:
    """Attacks that start on the client node."""
    return deploy_attackers(lab)


@pytest.fixture
def tell(say: Say, capsys: pytest.CaptureFixture[str]) -> Say:
    """Writes to the terminal out of a running test, whose output is captured."""

    def line(text: str) -> None:
        with capsys.disabled():
            say(text)

    return line
