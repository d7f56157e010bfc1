"""The load and the time limit of a trial: rates are rates, and warm-up and calls have room."""

from collect.run.cell import Cell, level_text
from collect.run.fields import is_positive
from collect.run.levels import levels_in
from collect.run.profile import Profile, Settings
from collect.run.resolving.stated import Stated
from collect.run.warmup import Warmup

_RESERVE_S = 5
"""This much of a trial's timeout_s at most is kept to write its log."""


def check_arrival(stated: Stated, profile: Profile) -> None:
    """Check that each rate is one, and that there are rates where a capacity is asked for."""
    rate = profile.arrival["rate"] if profile.arrival else None
    factors = profile.grids[0]
    if isinstance(rate, str) and rate not in factors:
        raise stated.fail(
            f"{stated.place('arrival')}.rate is {rate!r}, which is not a factor; write a number "
            f"of calls a second or one of {', '.join(factors)}"
        )
    if "capacity" in stated.content and profile.arrival and not isinstance(rate, str):
        raise stated.fail(
            f"capacity is read off the levels of a rate, but {stated.place('arrival')}.rate is "
            f"{rate}; make it a factor: rate: {{from: 10, to: 1000, steps: 7}}"
        )
    if "capacity" in stated.content and not profile.arrival:
        raise stated.fail(
            f"capacity needs an open loop, but the profile {stated.name} has no arrival; add "
            "one, or remove capacity"
        )
    for level in levels_in(profile.grids, str(rate)):
        if not is_positive(level):
            raise stated.fail(
                f"factors.{rate} has the level {level!r}, which is not a rate; write numbers "
                "of calls a second, above 0"
            )


def check_times(stated: Stated, profile: Profile) -> None:
    """Check that no warm-up alone lasts as long as its trial may, nor do calls at a rate."""
    for cell in profile.cells():
        settings = profile.settings(cell)
        _check_room(stated, settings, cell)
        least_s = settings.warmup.least_s if isinstance(settings.warmup, Warmup) else None
        if least_s is not None and least_s >= settings.timeout_s:
            raise stated.fail(
                f"{stated.place('warmup')}.least_s is {least_s:g} for {_shown(cell)}, but "
                f"timeout_s ends its trials at {settings.timeout_s} s; lower least_s or raise "
                "timeout_s"
            )


def _check_room(stated: Stated, settings: Settings, cell: Cell) -> None:
    """Check that the calls of an open loop end before the time that is reserved for the log."""
    arrival, calls = settings.arrival, settings.threads * settings.calls
    if arrival is None:
        return
    room_s = settings.timeout_s - min(_RESERVE_S, settings.timeout_s / 5)
    if arrival.seconds(calls) >= room_s:
        raise stated.fail(
            f"{calls} calls at {arrival.rate:g} a second take {arrival.seconds(calls):.0f} s for "
            f"{_shown(cell)}, but timeout_s = {settings.timeout_s} leaves {room_s:.0f} s for them "
            "and the warm-up; lower calls or raise timeout_s"
        )


def _shown(cell: Cell) -> str:
    return ", ".join(map(level_text, cell.levels))
