"""Studies that lack a profile."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleFilterError

EXAMPLES = r"""
- name: Show which studies cannot be swept at night
  ansible.builtin.debug:
    msg: "{{ ['sort', 'soort'] | overnight_without_profile('overnight', root) }}"  # ['soort']
"""


def without_profile(studies: Iterable[str], profile: str, root: str) -> list[str]:
    """Return the studies that have no file below `root`, or none with this profile.

    Raises AnsibleFilterError for a file that is no study.
    """
    return [study for study in studies if profile not in _profiles(study, root)]


def _profiles(study: str, root: str) -> dict[str, Any]:
    file = Path(root) / "playbooks/studies" / f"{study}.yml"
    if not file.is_file():
        return {}
    try:
        return dict(yaml.safe_load(file.read_text(encoding="utf-8"))["profiles"])
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError) as error:
        raise AnsibleFilterError(
            f"{file} cannot be read as a study ({error}); correct it, or take {study} out of "
            "overnight_studies"
        ) from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by the name that templates use."""
        return {"overnight_without_profile": without_profile}
