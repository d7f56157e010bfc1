"""The names and addresses by which the parts of a bench reach each other."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

EXAMPLES = r"""
- name: Show a worker's queue, and the nodes as clients see them
  ansible.builtin.debug:
    msg:
      - "{{ 'rack-03' | queue_of('matrix') }}"  # matrix.rack_2d03
      - "{{ hostvars | served_by({'workers': ['rack-03']}, {'workers': ['tomcat']}) }}"
      - "{{ hostvars['rack-03'] | archives_of({'workers': ['tomcat']}) }}"
      - "{{ hostvars['rack-03'] | settings_taken({'workers': ['tomcat']}) }}"
"""


def queue_of(worker: str, kind: str) -> str:
    """Return the name of a worker's own queue of a kind, which is unique among workers.

    OpenMQ accepts letters, digits, dots and underscores in a name. All other bytes than letters and
    digits in a node's name become an underscore and two hexadecimal digits each.
    """
    word = re.sub(rb"[^A-Za-z0-9]", lambda odd: b"_%02x" % odd[0][0], worker.encode())
    return f"{kind}.{word.decode()}"


def served_by(
    hostvars: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    servers: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the `groups` and `endpoints` of lab.json, as the roles of `servers` declare them.

    `groups` and `servers` name the nodes of each group and the roles that serve on them. If
    several services of a node have the same key, the node itself has that of the first one.
    """
    endpoints: dict[str, dict[str, Any]] = {}
    for group, name in [(one, name) for one in servers for name in groups.get(one, ())]:
        known = hostvars[name]
        own = {"name": name, "address": known["node_address"], "services": {}}
        node = endpoints.setdefault(name, own)
        for service in [one for role in servers[group] for one in known[f"{role}_serves"]]:
            told = dict(service.get("endpoint", {}))
            about = {"group": group, "settings": service.get("settings", [])}
            node["services"][service["name"]] = about | told
            endpoints[name] = node = told | node
    return {
        "groups": {group: list(groups.get(group, ())) for group in servers},
        "endpoints": endpoints,
    }


def archives_of(
    known: Mapping[str, Any], servers: Mapping[str, Sequence[str]]
) -> dict[str, list[dict[str, Any]]]:
    """Return the archives that roles declare among `directories`, by group, for the fingerprint.

    `known` are the variables of any node, and `servers` names the roles of each group.
    """
    return {
        group: [
            {key: place[key] for key in ("directory", "archive", "strip") if key in place}
            for role in roles
            for service in known[f"{role}_serves"]
            for place in service.get("directories", ())
            if not isinstance(place, str)
        ]
        for group, roles in servers.items()
    }


def settings_taken(
    known: Mapping[str, Any], servers: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, list[str]]]:
    """Return the node settings that the services of roles declare, by role and service.

    `known` are the variables of any node, and `servers` names the roles of each group. A role
    without such settings is left out.
    """
    found = {
        role: {
            service["name"]: list(service["settings"])
            for service in known[f"{role}_serves"]
            if service.get("settings")
        }
        for roles in servers.values()
        for role in roles
    }
    return {role: served for role, served in found.items() if served}


class FilterModule:
    """The filters of playbooks/vars."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "archives_of": archives_of,
            "queue_of": queue_of,
            "served_by": served_by,
            "settings_taken": settings_taken,
        }
