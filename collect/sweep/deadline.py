"""Turns a deadline of the command line into an instant."""

import re
from datetime import UTC, datetime, timedelta

from collect.errors import InputError


def instant(text: str | int, now: datetime | None = None) -> str:
    """Return a deadline in UTC, as 2026-03-02T06:00:00Z.

    `text` is HH:MM by this machine's clock, the next time it shows that, or an ISO 8601 date and
    time, local when it names no zone. YAML 1.1 makes 1320 minutes of 22:00 without quotes; such
    a number has no leading zero. Raises InputError.
    """
    now = (now or datetime.now(UTC)).astimezone()
    if re.fullmatch(r"[1-9]\d{1,3}", text := str(text)):
        text = f"{int(text) // 60}:{int(text) % 60:02}"
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}", text):
            hour, minute = map(int, text.split(":"))
            # Without the zone, so that summer time may begin or end in between.
            local = now.replace(tzinfo=None)
            then = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
            when = then if then > local else then + timedelta(days=1)
        else:
            when = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"deadline is {text!r}, which is not a time ({error}); write HH:MM, or a date and time "
            "like 2026-03-02T06:00"
        ) from None
    # Not astimezone, which moves an hour that summer time skips earlier instead of later.
    return datetime.fromtimestamp(when.timestamp(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
