"""Templates, with the same rules for white space and missing names everywhere."""

import jinja2


def templates_in(folder: str, *, is_markup: bool = True) -> jinja2.Environment:
    """Return the templates of a folder of this package; `is_markup` escapes values for HTML."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("collect", folder),
        autoescape=is_markup,  # noqa: S701 - templates that are not markup are read by people
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
