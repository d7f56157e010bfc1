"""The runs of a sweep for templates: what `collect` knows of their order, settings and end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from collect.run.setting import PROGRAMS, Setting, asked, worker_heaps
from collect.sweep.deadline import instant
from collect.sweep.in_force import in_force
from collect.sweep.interim import analyses_of, open_trials
from collect.sweep.order import netem_of, settings_of, steps_of, understood
from collect.sweep.state import put_off

EXAMPLES = r"""
- name: Show the number of node settings
  ansible.builtin.debug:
    msg: "{{ runs | sweep_settings('/home/me/rackbench') | length }}"
  vars:
    runs: [{study: sort, run: monday-sort}, {study: mtom, run: monday-mtom}]

- name: Refuse settings that no service has
  ansible.builtin.debug:
    msg: "{{ runs | sweep_settings('/home/me/rackbench') | sweep_understood(runner_lab) | length }}"

- name: Show the open trials of a run that may stop after 10 blocks
  ansible.builtin.debug:
    msg: "{{ 'results/monday' | sweep_open(10) }}"
  when: 10 in 'results/monday' | sweep_looks

- name: Show the settings that a group of trials needs, and those in force on the nodes
  ansible.builtin.debug:
    msg:
      - "{{ {'sysctl.vm.swappiness': 10} | sweep_asked('sysctl.') }}"
      - "{{ {'tomcat_heap_mb': 512, 'matrix_worker_heap_mb': 512} | sweep_worker_heaps }}"
      - "{{ {'rack03': fingerprint_taken} | sweep_in_force({'link_mbit': 100}) }}"

- name: Show the steps between the groups of a run
  ansible.builtin.debug:
    msg: "{{ sweep_settings | sweep_steps | map(attribute='tasks') }}"

- name: Show the delays and losses of packets that the runs need
  ansible.builtin.debug:
    msg: "{{ sweep_settings | sweep_netem }}"

- name: Stop if trials are deferred
  ansible.builtin.fail:
    msg: "{{ runs | sweep_put_off('/home/me/rackbench') }}"
  when: runs | sweep_put_off('/home/me/rackbench') | length > 0

- name: Show when six o'clock is next, in UTC
  ansible.builtin.debug:
    msg: "{{ '06:00' | sweep_instant }}"
"""


def looks(results: str) -> list[int]:
    """Return after how many blocks a run is analysed, or 0 alone when no rule stops it."""
    return analyses_of(Path(results))


def open_ones(results: str, look: int = 0, group: Sequence[str] = ()) -> list[str]:
    """Return the trials of a group, or all, to run now, up to an interim analysis.

    Decides an interim analysis that is due.
    """
    return open_trials(Path(results), int(look), frozenset(group))


def heaps(
    node: Mapping[str, Setting],
    servers: Mapping[str, Mapping[str, Collection[str]]] | None = None,
) -> dict[str, Setting]:
    """Return the heaps in MiB of worker programs, by program, that some node settings ask for.

    A heap of all programs is one of each, because the inventory may have others of single ones. It
    is also that of a service of `servers` that declares it: the settings by role and service.
    """
    of_single = worker_heaps(node)
    if (of_all := node.get("worker_heap_mb")) is None:
        return of_single
    programs = [*PROGRAMS]
    for services in (servers or {}).values():
        programs += [name for name, taken in services.items() if "worker_heap_mb" in taken]
    return {**dict.fromkeys(programs, of_all), **of_single}


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "sweep_asked": asked,
            "sweep_in_force": in_force,
            "sweep_instant": instant,
            "sweep_looks": looks,
            "sweep_netem": netem_of,
            "sweep_open": open_ones,
            "sweep_put_off": put_off,
            "sweep_settings": settings_of,
            "sweep_steps": steps_of,
            "sweep_understood": understood,
            "sweep_worker_heaps": heaps,
        }
