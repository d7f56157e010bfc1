"""Adds rackbench's variables to every inventory, and resolves the nodes' addresses once."""

DOCUMENTATION = r"""
name: kit
short_description: Adds rackbench's own variables to every inventory
description:
  - Gives the group C(all) the variables of C(playbooks/vars), so that an inventory need not repeat
    them, and the services that each role declares in its C(vars/serves.yml). Values of the
    inventory take precedence.
  - Gives each of the C(nodes) its C(ansible_host) and C(node_address) as plain text, and the group
    C(all) all of them as C(ssh_addresses) and C(node_addresses). The plug-in computes them once,
    when Ansible reads the inventory; a task that read them from every node's variables would take
    time for each pair of nodes.
  - Gives each of them C(ansible_ssh_private_key_file) and C(ansible_ssh_common_args) as plain text
    as well, if it has them; otherwise each task of each node would compute them.
  - Gives the group C(all) the values of C(servers) in all studies, as C(study_servers).
  - If the inventory is in a project directory of C(rackbench init), gives that directory as
    C(rackbench_project); the project's studies count as well.
  - Resolves an C(ansible_host) that is a name by the resolver of the control host.
options:
  stage:
    description: When this plug-in runs. The inventory's own files are read later and win.
    type: str
    default: inventory
    choices: [inventory]
"""

import os
import socket
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.errors import AnsibleError
from ansible.inventory.group import Group, InventoryObjectType
from ansible.inventory.helpers import get_group_vars, sort_groups
from ansible.inventory.host import Host
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import vars_loader
from ansible.plugins.vars import BaseVarsPlugin
from ansible.template import Templar, trust_as_template
from ansible.utils.vars import combine_vars, load_extra_vars

from collect.project import MARK
from collect.run.servers import numbers_of_servers

EXAMPLES = r"""
# ansible.cfg
# [defaults]
# vars_plugins = playbooks/vars_plugins
# vars_plugins_enabled = kit, host_group_vars
- name: Show the address of a node that the plug-in has looked up
  ansible.builtin.debug:
    msg: "{{ node_addresses['rack03'] }}"
"""

Values = dict[str, Any]

PLAYBOOKS = Path(__file__).resolve().parents[1]
LOOKUPS_AT_ONCE = 32
OWN = ("ansible_host", "node_address")
CONNECTION = ("ansible_ssh_private_key_file", "ansible_ssh_common_args")


def demand_settings() -> None:
    """End a playbook without ansible.cfg with a message, before Ansible misses a role."""
    root, here = PLAYBOOKS.parent, Path.cwd()
    if "kit" in C.VARIABLE_PLUGINS_ENABLED or Path(sys.argv[0]).name != "ansible-playbook":
        return
    why = f"everybody may write to {root}; chmod o-w {root}"
    if here != root:
        why = f"it runs in {here}; start it in {root}"
    if other := os.environ.get("ANSIBLE_CONFIG"):
        why = f"ANSIBLE_CONFIG names {other}; unset it"
    sys.exit(
        f"Ansible does not read {root}/ansible.cfg, as {why}, or first: "
        f"export ANSIBLE_CONFIG={root}/ansible.cfg"
    )


demand_settings()


def looked_up(name: str) -> str:
    """Return the IPv4 address of a name, or the name itself if it cannot be resolved."""
    try:
        return plain(socket.gethostbyname(name)) if name else name  # "" would be 0.0.0.0
    except (OSError, UnicodeError):  # the latter for 192.0.2..7, or a label of more than 63 letters
        return name


class VarsModule(BaseVarsPlugin):
    """Answers for the group `all` and for the nodes; has nothing for others."""

    REQUIRES_ENABLED = True
    is_stateless = True  # otherwise each call would make an instance and resolve all again

    def __init__(self) -> None:
        """Begin with nothing read and nothing resolved."""
        super().__init__()
        self._kit: Values = {}
        self._project: Path | None = None
        self._resolved: dict[str, tuple[Group, dict[str, Values]]] = {}

    def get_vars(self, loader: DataLoader, path: str, entities: Any) -> Values:
        """Return the variables of groups or nodes, as far as the inventory at `path` has them."""
        found: Values = {}
        for entity in entities if isinstance(entities, list) else [entities]:
            if entity.base_type is InventoryObjectType.HOST:
                every = next(group for group in entity.groups if group.name == "all")
                found |= self._nodes(loader, path, every).get(entity.name, {})
            elif entity.name == "all":
                nodes = self._nodes(loader, path, entity)
                kit = {**self._of_the_kit(loader), **self._of_the_project(path)}
                if nodes:
                    bench, ssh = (
                        {name: values[key] for name, values in nodes.items()}
                        for key in ("node_address", "ansible_host")
                    )
                    kit = kit | {"node_addresses": bench, "ssh_addresses": ssh}
                found |= {name: value for name, value in kit.items() if name not in entity.vars}
        return found

    def _of_the_kit(self, loader: DataLoader) -> Values:
        if not self._kit:
            own = (PLAYBOOKS / "vars").glob("*.yml")
            served = (PLAYBOOKS.parent / "roles").glob("*/vars/serves.yml")
            for file in sorted([*own, *served]):
                self._kit |= loader.load_from_file(str(file), trusted_as_template=True)
            self._kit["rackbench_root"] = plain(PLAYBOOKS.parent)
            # Otherwise each task of each node would read all studies again.
            self._kit["study_servers"] = numbers_of_servers(PLAYBOOKS / "studies")
        return self._kit

    def _of_the_project(self, path: str) -> Values:
        """Return the variables that a project directory around an inventory adds to rackbench's."""
        if (Path(path).parent / MARK).is_file():
            self._project = Path(path).parent
        if self._project is None:
            return {}
        own = numbers_of_servers(self._project / "studies")
        servers = sorted({*self._kit["study_servers"], *own})
        return {"rackbench_project": plain(self._project), "study_servers": servers}

    def _nodes(self, loader: DataLoader, path: str, every: Group) -> dict[str, Values]:
        """Return the computed variables of each node; none if this path lacks what they need."""
        known, resolved = self._resolved.get(path, (None, {}))
        if known is not every:
            nodes = next((g for g in every.get_descendants() if g.name == "nodes"), None)
            hosts = nodes.get_hosts() if nodes else []
            resolved = self._resolve(loader, path, every, hosts)
            self._resolved[path] = (every, resolved)
        return resolved

    def _resolve(
        self, loader: DataLoader, path: str, every: Group, hosts: list[Host]
    ) -> dict[str, Values]:
        files_of = vars_loader.get("host_group_vars").get_vars  # next to the inventory
        names = {g.name: [h.name for h in g.get_hosts()] for g in every.get_descendants()}
        common = {"groups": {**names, "all": [h.name for h in every.get_hosts()]}}
        above: dict[tuple[str, ...], Values] = {}
        texts: dict[str, Values] = {}
        try:
            for host in hosts:
                groups = sort_groups(host.get_groups())
                key = tuple(group.name for group in groups)
                if key not in above:
                    kit = combine_vars(self._of_the_kit(loader), get_group_vars(groups))
                    above[key] = combine_vars(kit, files_of(loader, path, groups))
                values = combine_vars(above[key], host.get_vars())
                values = combine_vars(values, files_of(loader, path, [host]))
                values |= {**common, "inventory_hostname": host.name, **load_extra_vars(loader)}
                texts[host.name] = own_texts(loader, values, host.name)
        except AnsibleError:
            return {}  # another path of a chained inventory may have the rest; else tasks report it
        with ThreadPoolExecutor(LOOKUPS_AT_ONCE) as pool:
            addresses = pool.map(looked_up, [own["node_address"] for own in texts.values()])
            for own, address in zip(texts.values(), addresses, strict=True):
                own["node_address"] = address
        return texts


def own_texts(loader: DataLoader, values: Mapping[str, Any], name: str) -> Values:
    """Return a node's two addresses as text, and its SSH settings, as far as they are known.

    Raises AnsibleError if a variable of the addresses is not known yet.
    """
    values = {"ansible_host": name, **values}
    templar = Templar(loader, variables=values)
    texts = {key: plain(templar.template(values[key])) for key in OWN}
    for key in CONNECTION:
        with suppress(KeyError, AnsibleError):
            texts[key] = plain(templar.template(values[key]))
    return texts


def plain(value: object) -> str:
    """Return a value as text, marked as the inventory's own if no template is left in it.

    A key without a value, which is YAML's null, gives an empty text.
    """
    text = "" if value is None else str(value)
    trusted: str = trust_as_template(text)
    return text if "{" in text else trusted
