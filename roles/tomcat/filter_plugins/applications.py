"""Where the applications of Tomcat lie, as the role's tasks need it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

EXAMPLES = r"""
- name: Make the directories of the applications
  tree:
    directories: "{{ tomcat_applications | tomcat_directories }}"

- name: Show which files are there once the applications are unpacked
  ansible.builtin.debug:
    msg: "{{ tomcat_applications | tomcat_unpacked }}"
"""

Applications = Iterable[Mapping[str, Any]]


def directories(applications: Applications) -> list[dict[str, str]]:
    """Return the directory of each application as the module `tree` takes it."""
    return [{"path": application["directory"]} for application in applications]


def unpacked(applications: Applications) -> list[str]:
    """Return the path of the file by which each application is known to be unpacked."""
    return [f"{application['directory']}/{application['has']}" for application in applications]


class FilterModule:
    """The filters of the role."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {"tomcat_directories": directories, "tomcat_unpacked": unpacked}
