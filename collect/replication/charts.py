"""Charts: one style for the page, light or dark, and for SVG and PDF files."""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from collect.files import write_bytes, write_text

WIDTH, HEIGHT = 390, 270
LIGHT: Mapping[str, str] = {
    "paper": "#fdfcfa",
    "ink": "#23262b",
    "soft": "#5c6470",
    "line": "#d9d7d2",
    "series-1": "#1f6fb2",
    "series-2": "#b64f14",
    "series-3": "#2f7d4f",
    "series-4": "#7a4fa3",
    "series-5": "#8a6d00",
}
DARK: Mapping[str, str] = {
    "paper": "#16181c",
    "ink": "#e6e4df",
    "soft": "#a3a9b3",
    "line": "#3a3f47",
    "series-1": "#6cb4ee",
    "series-2": "#f0995c",
    "series-3": "#74c69d",
    "series-4": "#c3a1e6",
    "series-5": "#d9bd4a",
}
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4])
_KEPT = 256  # drawings
_FONT = "system-ui, sans-serif"
_LABEL = "replace(format(datum.value, ',~r'), /,/g, '\N{NARROW NO-BREAK SPACE}')"


@dataclass(frozen=True)
class Point:
    """A point of a series; `low` and `high` are its interval, None where there is none."""

    series: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Series:
    """A line: its name, which colour it has and which shape and dash."""

    name: str
    hue: int
    mark: int


@dataclass(frozen=True)
class Bar:
    """A bar of a series at a place; `low` and `high` are its interval, None where there is none."""

    series: str
    place: str
    y: float
    low: float | None = None
    high: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis over `domain` with ticks at `values` (the library's choice when empty)."""

    title: str
    domain: tuple[float, float]
    values: Sequence[float] = ()


def lines(
    points: Sequence[Point],
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    gaps: Sequence[tuple[str, float]] = (),
) -> alt.LayerChart:
    """Draw each series as a line with its points and intervals, both axes logarithmic.

    A line breaks at its `gaps`, given by series and x. `series` fixes styles and order, so that
    panels next to each other agree. Colours are CSS variables of the page; `save` puts those of the
    light theme in their place.
    """
    names = [one.name for one in series]

    def style(values: Sequence[Any]) -> dict[str, Any]:
        return {"title": None, "sort": names, "scale": alt.Scale(domain=names, range=list(values))}

    colour = alt.Color("series:N", **style([f"var(--series-{one.hue % 5 + 1})" for one in series]))
    shape = alt.Shape("series:N", **style([_SHAPES[one.mark % len(_SHAPES)] for one in series]))
    dash = alt.StrokeDash("series:N", **style([_DASHES[one.mark % len(_DASHES)] for one in series]))
    tip = [
        alt.Tooltip("series:N"),
        alt.Tooltip("x:Q", title=x.title, format=",~r"),
        alt.Tooltip("text:N", title=y.title),
    ]
    # A logarithmic axis has no zero: an interval that reaches it is drawn down to the edge.
    rows = [{**vars(p), "low": None if p.low is None else max(p.low, y.domain[0])} for p in points]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=_scale(alt.X("x:Q"), x), color=colour)
    if gaps:
        empty = {"y": None, "low": None, "high": None, "text": ""}
        base.data.values = [*rows, *({"series": of, "x": at, **empty} for of, at in gaps)]
    line = base.mark_line(strokeWidth=1.6).encode(y=_scale(alt.Y("y:Q"), y), strokeDash=dash)
    bar = base.transform_filter("datum.low !== null").mark_rule(strokeWidth=1.6)
    dots = base.mark_point(filled=True, size=58, opacity=1)
    layers = [
        line,
        bar.encode(y="low:Q", y2="high:Q"),
        dots.encode(y="y:Q", shape=shape, tooltip=tip),
    ]
    return alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)


def bars(
    drawn: Sequence[Bar],
    series: Sequence[Series],
    places: Sequence[str],
    titles: tuple[str, str],
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw groups of bars from zero at each of `places`, a bar for each series, with intervals.

    `titles` are those of the axes; a `|` in the name of a place begins a new line.
    """
    names = [one.name for one in series]
    colours = [f"var(--series-{one.hue % 5 + 1})" for one in series]
    colour = alt.Color(
        "series:N", title=None, sort=names, scale=alt.Scale(domain=names, range=colours)
    )
    tip = [
        alt.Tooltip("series:N"),
        alt.Tooltip("place:N", title=titles[0]),
        alt.Tooltip("text:N", title=titles[1]),
    ]
    rows = [{**vars(b), "low": None if b.low is None else max(b.low, 0)} for b in drawn]
    highest = max((b.high or b.y for b in drawn), default=1.0)
    labels = alt.Axis(labelExpr="split(datum.label, '|')", labelAngle=0, labelOverlap=False)
    lengths = alt.Axis(labelExpr=_LABEL, tickCount=5)
    # One long interval must not flatten every bar: it is cut at the edge.
    top = min(highest, 2 * max((b.y for b in drawn), default=1.0))
    heights = alt.Scale(domain=[0, top * 1.03], nice=False)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("place:N", title=titles[0], sort=list(places), axis=labels),
        xOffset=alt.XOffset("series:N", sort=names),
    )
    columns = base.mark_bar(clip=True).encode(
        y=alt.Y("y:Q", title=titles[1], scale=heights, axis=lengths), color=colour, tooltip=tip
    )
    ends = base.transform_filter("datum.low !== null").mark_rule(
        color="var(--ink)", strokeWidth=1.2, clip=True
    )
    return alt.LayerChart(
        layer=[columns, ends.encode(y="low:Q", y2="high:Q")], width=width, height=HEIGHT
    )


def domain_of(values: Sequence[float]) -> tuple[float, float]:
    """Return a logarithmic domain that holds all positive values with a little room."""
    return min(values) / 1.35, max(values) * 1.35


def domain_of_points(points: Sequence[Point]) -> tuple[float, float]:
    """Return a domain that holds all points and their intervals; a low end far below is cut off."""
    lowest = min(point.y for point in points)
    ends = [end for point in points for end in (point.low, point.high) if end is not None]
    return domain_of([lowest, *(point.y for point in points), *(e for e in ends if e > lowest / 3)])


def page_spec(chart: alt.LayerChart) -> dict[str, Any]:
    """Return the Vega-Lite specification of a panel; a click in its legend picks a line."""
    spec: dict[str, Any] = _configured(chart)
    fade = {"condition": {"param": "picked", "value": 1}, "value": 0.15}
    for layer in spec["layer"]:
        layer["encoding"]["opacity"] = fade
    select = {"type": "point", "fields": ["series"]}
    spec["layer"][0]["params"] = [{"name": "picked", "select": select, "bind": "legend"}]
    return spec


def page_svg(spec: Mapping[str, Any]) -> str:
    """Return a panel as SVG; the page shows it until the script makes it interactive."""
    return _svg(json.dumps(spec))


def save(charts: Sequence[tuple[str, alt.LayerChart]], stem: Path) -> list[Path]:
    """Write titled charts side by side to STEM.svg and STEM.pdf in the light colours."""
    panels = [chart.properties(title=title) for title, chart in charts]
    text = json.dumps(_configured(alt.hconcat(*panels)))
    for name, colour in LIGHT.items():
        text = text.replace(f"var(--{name})", colour)
    files = [stem.with_suffix(".svg"), stem.with_suffix(".pdf")]
    write_text(files[0], _svg(text))
    write_bytes(files[1], _pdf(text))
    return files


@lru_cache(_KEPT)
def _svg(text: str) -> str:
    """Draw a chart; each is drawn once, also when it stands in several pages."""
    return vl_convert.vegalite_to_svg(text)


@lru_cache(_KEPT)
def _pdf(text: str) -> bytes:
    return vl_convert.vegalite_to_pdf(text)


@cache
def script() -> str:
    """Return the JavaScript that draws the charts, for a page that loads nothing from the network.

    The library needs a second to make it. So it is kept in the user's cache, in a file whose name
    depends on everything it is made of.
    """
    begin = "window.vegaEmbed = vegaEmbed;"
    made_of = f"{version('vl-convert-python')} {begin}"
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = caches / "rackbench" / f"charts-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}.js"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    bundle = vl_convert.javascript_bundle(begin)
    with suppress(OSError):
        write_text(kept, bundle)
    return bundle


def _scale(channel: Any, axis: Axis) -> Any:
    low, high = axis.domain
    decades = [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    # With fewer than two decades there would be one tick at most: let the library choose.
    chosen = list(axis.values) or decades
    ticks = {"values": chosen} if len(chosen) > 1 else {"tickCount": 5}
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return channel.title(axis.title).scale(scale).axis(alt.Axis(labelExpr=_LABEL, **ticks))


def _configured(chart: Any) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart in the page's style.

    Altair's own methods copy the chart and all its values once for each part of the style.
    """
    axis = {
        "labelColor": "var(--soft)",
        "titleColor": "var(--ink)",
        "gridColor": "var(--line)",
        "domainColor": "var(--soft)",
        "tickColor": "var(--soft)",
        "labelFontSize": 11,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelOverlap": "greedy",
        "labelSeparation": 4,
    }
    legend = {
        "labelColor": "var(--ink)",
        "titleColor": "var(--soft)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "orient": "bottom",
        "columns": 3,
        "columnPadding": 16,
        "rowPadding": 4,
        "symbolStrokeWidth": 0,
    }
    title = {"color": "var(--ink)", "fontSize": 13, "fontWeight": 600, "anchor": "start"}
    style = {
        "background": "transparent",
        "font": _FONT,
        "view": {"continuousWidth": WIDTH, "continuousHeight": HEIGHT, "stroke": None},
        "axis": axis,
        "legend": legend,
        "title": title,
    }
    return {**chart.to_dict(validate=False), "config": style}
