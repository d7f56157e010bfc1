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


def without_profile(
    studies: Iterable[str], profile: str, root: str, home: str = ""
) -> list[str]:
    """Return the studies that have no file below `root`, or none with this profile.

    A file in `home`, a project directory, comes before the repository's.
    Raises AnsibleFilterError for a file that is no study.
    """
    return [study for study in studies if profile not in _profiles(study, root, home)]


def _profiles(study: str, root: str, home: str) -> dict[str, Any]:
    folders = (Path(home or root) / "studies", Path(root) / "playbooks/studies")
    files = [folder / f"{study}.yml" for folder in folders]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
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
