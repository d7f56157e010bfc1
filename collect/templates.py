"""Templates of the pages, alike in how they treat white space and names that are missing."""

import jinja2


def templates_in(folder: str, *, is_markup: bool = True) -> jinja2.Environment:
    """Give the templates of a folder of this package, "" for its own; markup escapes its values."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("collect", folder),
        autoescape=is_markup,  # noqa: S701 - what is no markup is read by people
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
