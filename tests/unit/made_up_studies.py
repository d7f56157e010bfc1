"""Texts of study files for tests: the sort study with other keys or levels, or factors alone."""

from pathlib import Path

import yaml

SORT = Path(__file__).parents[2] / "playbooks/studies/sort.yml"


def changed(**changes):
    """The text of the sort study without exceptions, for the profile `paper` neither, changed."""
    content = yaml.safe_load(SORT.read_text())
    plain = {"where": [], "profiles": {**content["profiles"], "paper": {}}}
    content = {**content, **plain, **changes}
    return yaml.safe_dump(content, sort_keys=False)


def with_demo(**profile):
    """The text of the sort study with another profile `demo`."""
    content = yaml.safe_load(SORT.read_text())
    content["profiles"]["demo"] = profile
    return yaml.safe_dump(content, sort_keys=False)


def study_of(factors, **changes):
    """The text of a study of these factors alone: one client, no services, any levels."""
    plain = {"domains": {}, "clients": "any", "needs": [], "servers": 1}
    return changed(factors=factors, **{**plain, **changes})
