"""The claims of a run as a picture of its own, for a page that is no report."""

import textwrap
from collections.abc import Sequence

from collect.replication.replicate import JudgedClaim
from collect.report.drawings.claims import rows_of
from collect.report.templates import page_templates


def claims_picture(title: str, claims: Sequence[JudgedClaim]) -> str:
    """Return bounds, printed and measured numbers and verdicts as an SVG file."""
    environment = page_templates(is_markup=True)
    environment.filters["wrapped"] = textwrap.wrap
    template = environment.get_template("claims.svg.j2")
    return template.render(title=title, rows=rows_of(claims))
