"""Curves in SVG: what is drawn is what the record says, and names do not overlap."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.errors import UsageError
from palmette.reports import COLOURS, DARK, LIGHT, spread
from studies.charts import Chart, Line, Note, Panel, Sheet, chart_svg, text_width, ticks

SVG = "{http://www.w3.org/2000/svg}"
PLACES = st.lists(st.floats(0, 300), min_size=1, max_size=12)


def chart(*lines: Line, **more: object) -> Chart:
    return Chart("title", [Panel(list(lines), "x", "y", **more)])  # type: ignore[arg-type]


def paths(made: str, kind: str) -> list[list[tuple[float, float]]]:
    root = ElementTree.fromstring(made)
    found = [path.get("d", "") for path in root.iter(f"{SVG}path") if path.get("class") == kind]
    return [[tuple(map(float, point.split())) for point in path[1:].split("L")] for path in found]  # type: ignore[misc]


def texts(made: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(made).iter(f"{SVG}text")]


@given(PLACES)
def test_spread_keeps_the_order_and_the_gap(wanted: list[float]) -> None:
    places = spread(wanted, 15, 0, 300)
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    for a, b in pairwise(order):
        assert places[b] - places[a] >= 15 - 1e-6
    assert min(places) >= -1e-6
    assert max(places) <= 300 + 1e-6


@given(PLACES)
def test_what_is_apart_already_is_not_moved(wanted: list[float]) -> None:
    apart = sorted(wanted)
    if all(b - a >= 15 for a, b in pairwise(apart)):
        assert spread(wanted, 15, 0, 300) == pytest.approx(wanted)


def test_two_names_that_collide_move_by_the_same_amount() -> None:
    assert spread([100, 105], 15, 0, 300) == pytest.approx([95, 110])


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_evenly_spaced_between_the_ends(low: float, wide: float) -> None:
    found = ticks(low, low + wide)
    assert 1 <= len(found) <= 7
    assert found[0] >= low - 1e-6 * wide
    assert found[-1] <= low + wide + 1e-6 * wide
    steps = [b - a for a, b in pairwise(found)]
    assert max(steps, default=0) - min(steps, default=0) <= 1e-6 * max(wide, 1e-3)


def test_larger_numbers_are_higher_and_further_right() -> None:
    (line,) = paths(chart_svg(chart(Line("up", [1, 2, 4], [10, 20, 40]))), "blue-line")
    (x1, y1), (x2, y2), (x3, y3) = line
    assert (x3 - x2) == pytest.approx(2 * (x2 - x1), abs=0.3)
    assert (y2 - y3) == pytest.approx(2 * (y1 - y2), abs=0.3)
    assert y3 < y2 < y1


def test_logarithmic_axes_have_equal_steps_for_equal_ratios() -> None:
    made = chart_svg(chart(Line("up", [1, 10, 100], [1, 10, 100]), log_x=True, log_y=True))
    ((x1, y1), (x2, y2), (x3, y3)) = paths(made, "blue-line")[0]
    assert x3 - x2 == pytest.approx(x2 - x1, abs=0.3)
    assert y2 - y3 == pytest.approx(y1 - y2, abs=0.3)
    falling = paths(chart_svg(chart(Line("up", [1, 10], [1, 2]), log_x=True, falling_x=True)), "blue-line")[0]
    assert falling[0][0] > falling[1][0]


def test_names_stand_at_lines_and_there_is_no_legend() -> None:
    made = chart_svg(chart(Line("a < b", [1, 2], [1, 2], "teal"), Line("c", [1, 2], [1, 2.01], "pink", "dashed")))
    assert texts(made).count("a < b") == 1
    assert texts(made).count("c") == 1
    root = ElementTree.fromstring(made)
    places = {element.text: float(element.get("y", "0")) for element in root.iter(f"{SVG}text")}
    assert abs(places["a < b"] - places["c"]) >= 14
    assert "stroke-dasharray" in made


def test_a_band_and_a_note_are_drawn() -> None:
    line = Line("mean", [1, 2], [5, 6], low=[4, 5], high=[6, 7])
    made = chart_svg(chart(line, notes=[Note(2, 6, "here", "orange", "se")]))
    assert len(paths(made, "blue-area")[0]) == 4
    assert "here" in texts(made)


def test_five_panels_are_refused() -> None:
    panel = Panel([Line("a", [1, 2], [1, 2])], "x", "y")
    with pytest.raises(UsageError, match="5 panels"):
        chart_svg(Chart("too many", [panel] * 5))


def test_a_sheet_is_as_wide_as_its_texts() -> None:
    sheet = Sheet()
    long = "a title that is much longer than the sheet is wide"
    sheet.text((10, 20), long, "title")
    width = float(ElementTree.fromstring(sheet.svg(50, 40, "about")).get("width", "0"))
    assert width >= 10 + text_width(long, "title")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", [*COLOURS, "quiet"])
def test_text_in_every_colour_can_be_read(scheme: dict[str, str], name: str) -> None:
    """Contrast of 4.5 to 1 against the paper: level AA of WCAG 2."""
    one, other = sorted((luminance(scheme[name]), luminance(scheme["paper"])))
    assert (other + 0.05) / (one + 0.05) >= 4.5
