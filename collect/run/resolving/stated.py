"""What a study file states for one profile, each value with its place in the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collect.counts import show_count
from collect.errors import InputError


@dataclass(frozen=True)
class Stated:
    """A study in the profile `name`, whose own values precede those of the study.

    `label` is how messages name the file. One that a run recorded (`is_recorded`) passed the checks
    of the version that took it. `workers` is how many the inventory has.
    """

    label: str
    content: Mapping[str, Any]
    is_recorded: bool
    name: str
    workers: int

    def own(self, key: str, default: Any = None) -> Any:
        """Return what the profile itself states."""
        return self.content["profiles"][self.name].get(key, default)

    def value(self, key: str, default: Any = None) -> Any:
        """Return what the profile states, or else the study."""
        return self.own(key, self.content.get(key, default))

    def place(self, key: str) -> str:
        """Return where in the file the value of a key is."""
        return f"profiles.{self.name}.{key}" if self.own(key) is not None else key

    def domain(self, factor: str) -> Mapping[str, Any]:
        """Return the domain of a factor, empty if it has none."""
        domain: Mapping[str, Any] = self.content.get("domains", {}).get(factor, {})
        return domain

    @property
    def arrival(self) -> Mapping[str, Any] | None:
        """How calls arrive, None in a closed loop."""
        value = self.value("arrival", "none")
        return None if value == "none" else value

    @property
    def exceptions(self) -> Sequence[Mapping[str, Any]]:
        """The entries under `where`."""
        entries: Sequence[Mapping[str, Any]] = self.value("where", [])
        return entries

    @property
    def constants_of_exceptions(self) -> Mapping[str, Mapping[str, Any]]:
        """The constants of each exception, by their place in the file."""
        return {
            f"{self.place('where')}[{index}].constants": entry.get("constants", {})
            for index, entry in enumerate(self.exceptions)
        }

    @property
    def shown_workers(self) -> str:
        """The number of workers as messages have it."""
        return show_count(self.workers, "worker")

    def fail(self, message: str) -> InputError:
        """Return the error that names the file."""
        return InputError(f"{self.label}: {message}")
