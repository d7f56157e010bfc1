"""The templates of the report, with the filters that all of them share."""

import json
import re
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from collect.cells.notation import (
    name_of,
    show,
    show_apart,
    show_estimate,
    show_level,
    show_tick,
    show_whole,
)
from collect.counts import show_count, show_percent
from collect.planning.capacity import ACHIEVED
from collect.replication import charts
from collect.replication.exhibits import Figure, headings
from collect.stats.course import SHIFT
from collect.stats.estimates import Estimate
from collect.templates import templates_in


def page_templates(*, is_markup: bool) -> Environment:
    """Return the templates; `is_markup` escapes values for HTML."""
    environment = templates_in("report", is_markup=is_markup)
    environment.globals.update(headings=headings, shift=SHIFT)
    environment.filters.update(
        slug=_slug,
        show=show,
        count=show_count,
        apart=show_apart,
        answered=lambda share: show_percent(share, 1, lambda of: of >= ACHIEVED),
        estimate=show_estimate,
        show_whole=show_whole,
        show_tick=show_tick,
        level=show_level,
        key=name_of,
        spec=charts.page_spec,
        svg=lambda spec: Markup(charts.page_svg(spec)),  # noqa: S704 - drawn by ourselves
        inline_json=_inline_json,
    )
    environment.tests.update(
        figure=lambda exhibit: isinstance(exhibit, Figure),
        estimate=lambda value: isinstance(value, Estimate),
    )
    return environment


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _inline_json(value: Mapping[str, Any]) -> Markup:
    return Markup(json.dumps(value).replace("<", "\\u003c"))  # noqa: S704 - no markup is left
