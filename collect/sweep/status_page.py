"""status.html: how far a run is, in one small file that reloads itself and needs no other file."""

from functools import cache
from pathlib import Path

import jinja2

from collect.files import write_text
from collect.sweep.status import Status
from collect.sweep.status_lines import lines_of
from collect.templates import templates_in

PAGE = "status.html"
_EVERY_S = 10


def write_page(run: Path, status: Status) -> None:
    """Write the page into the directory of a run, whole or not at all."""
    write_text(run / PAGE, page_of(status))


def page_of(status: Status) -> str:
    """Return the page; that of a run that has ended does not reload itself."""
    return _template().render(status=status, lines=lines_of(status), every_s=_EVERY_S)


@cache
def _template() -> jinja2.Template:
    environment = templates_in("sweep")
    return environment.get_template("status.html.j2")
