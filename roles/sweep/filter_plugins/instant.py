"""The instant that a deadline on the command line means."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from ansible.errors import AnsibleFilterError

EXAMPLES = r"""
- name: Show when six o'clock is next, in UTC
  ansible.builtin.debug:
    msg: "{{ '06:00' | sweep_instant }}"
"""


def instant(text: str | int, now: datetime | None = None) -> str:
    """Return a deadline in UTC, as 2026-03-02T06:00:00Z.

    `text` is HH:MM by this machine's clock, the next time it shows that, or an ISO 8601 date and
    time, local when it names no zone. YAML 1.1 makes 1320 minutes of 22:00 without quotes. Raises
    AnsibleFilterError.
    """
    now = (now or datetime.now(UTC)).astimezone()
    if re.fullmatch(r"\d{2,4}", text := str(text)):
        text = f"{int(text) // 60}:{int(text) % 60:02}"
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}", text):
            hour, minute = map(int, text.split(":"))
            # Without the zone, so that the clock may be set for summer in between.
            local = now.replace(tzinfo=None)
            then = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
            when = then if then > local else then + timedelta(days=1)
        else:
            when = datetime.fromisoformat(text)
    except ValueError as error:
        raise AnsibleFilterError(
            f"deadline is {text!r}, which is not a time ({error}); write HH:MM, or a date and time "
            "like 2026-03-02T06:00"
        ) from None
    # Not astimezone, which makes an hour that summer time skips earlier instead of later.
    return datetime.fromtimestamp(when.timestamp(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FilterModule:
    """Makes `sweep_instant` known to templates."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by the name that templates use."""
        return {"sweep_instant": instant}
