from pathlib import Path

import pytest
from stand_in import StandIn


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> StandIn:
    """A checkout with stand-ins, in which the commands run; logs and state lie there too."""
    (tmp_path / "kit").mkdir()
    monkeypatch.chdir(tmp_path / "kit")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "kit/state"))
    return StandIn(Path.cwd())
