"""The pictures of the documentation: drawn from records, as they are kept; records are what the library makes."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from naive_beam import last_step

from palmette import Beam, Tagger
from palmette.datasets import load_demo
from palmette.reports import COLOURS, DARK, LIGHT
from studies.charts import MOST_PANELS, Chart, chart_svg

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NAMES = sorted(path.stem for path in (DOCS / "pictures" / "records").glob("*.json"))
QUICK = ["hmm", "hypergraph", "ring", "beam_cuts", "parser_step", "nbest"]
STUDIES = sorted(path.stem for path in (DOCS / "studies").glob("*.svg"))
DRAWN = sorted([*(DOCS / "images").glob("*.svg"), *(DOCS / "studies").glob("*.svg")])
MOST_BYTES = 60_000


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that draws, with the folder that it imports from."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("draw_pictures")


def test_every_picture_of_the_script_has_a_record_and_a_page(drawing: Any) -> None:
    assert sorted(drawing.PICTURES) == NAMES
    pages = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *DOCS.glob("**/*.md")])
    assert [name for name in NAMES if f"images/{name}.svg" not in pages] == []


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_drawn_from_their_records(drawing: Any, name: str) -> None:
    record = drawing.kept(name)
    assert drawing.PICTURES[name].draw(record) == (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")


def same(one: Any, other: Any) -> bool:
    """Equal but for the last digits of numbers."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float):
        return one == pytest.approx(other, rel=1e-3, abs=1e-3)
    return one == other


@pytest.mark.parametrize("name", QUICK)
def test_records_are_what_comes_out_now(drawing: Any, name: str) -> None:
    made = drawing.plain(drawing.PICTURES[name].record())
    assert json.loads(json.dumps(made)) == made
    assert same(made, drawing.kept(name))


@pytest.mark.parametrize("name", STUDIES)
def test_studies_are_drawn_from_their_records(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    module = importlib.import_module(f"studies.{name}")
    chart = module.chart(module.Record(name, module.SEEDS))
    assert chart_svg(chart) == (DOCS / "studies" / f"{name}.svg").read_text(encoding="utf-8")
    assert json.loads(json.dumps(chart.as_dict())) is not None
    check_rules(chart)


@pytest.mark.parametrize("name", ["averaged", "crf_objective", "l1_path"])
def test_curves_of_the_documentation_keep_the_rules(drawing: Any, name: str) -> None:
    check_rules(drawing.msgspec.convert(drawing.kept(name), Chart))


def check_rules(chart: Chart) -> None:
    """No more than four panels; a name at every line, unless it is alone; no name without a line that is seen."""
    assert len(chart.panels) <= MOST_PANELS
    for panel in chart.panels:
        names = [line.name for line in panel.lines]
        assert len(names) == 1 or (all(names) and len(set(names)) == len(names))
        low, high = panel.y_range or (
            min(min(line.y) for line in panel.lines),
            max(max(line.y) for line in panel.lines),
        )
        assert all(any(low <= y <= high for y in line.y) and len(line.x) > 1 for line in panel.lines)
        assert {line.colour for line in panel.lines} <= {*COLOURS}


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_drawings_are_small_and_follow_the_scheme_of_the_reader(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert len(text.encode()) < MOST_BYTES
    assert "@media (prefers-color-scheme: dark)" in text
    assert LIGHT["paper"] in text
    assert DARK["paper"] in text
    assert 'class="paper"' in text  # a background of their own: readable whatever is behind them
    shown = [element for element in root.iter() if element.get("fill") or element.get("stroke")]
    assert shown == []  # colours come from the style alone
    assert float(root.get("width", "0")) <= 1000


def test_pictures_on_pages_are_described() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("**/*.md")]
    found = [match for page in pages for match in re.findall(r"!\[([^\]]*)\]\(", page.read_text(encoding="utf-8"))]
    assert len(found) >= len(NAMES)
    assert [text for text in found if len(text.split()) < 2] == []


# Searches and derivations that only pictures have


@pytest.mark.parametrize("width", [1, 2, 4])
def test_beams_of_pictures_are_those_of_the_library(drawing: Any, width: int) -> None:
    X, y = load_demo("train")
    tagger = Tagger("chunk", passes=1, search=Beam(width)).fit(X[:8], y[:8])
    for sentence in X[20:25]:
        trellis = tagger.trellis(sentence)
        assert trellis.beam is not None
        found = drawing.beams.beams(trellis, width)
        scores = [[score for score, _ in beam] for beam in found]  # which of equal ones is kept is not defined here
        assert all(a == pytest.approx(b, abs=1e-3) for a, b in zip(scores, trellis.beam.scores, strict=True))
        ends = [drawing.beams.prefix_score(trellis, path) for _, path in found[-1]]
        assert ends == pytest.approx(scores[-1])


def test_cuts_are_those_of_the_definitions(drawing: Any) -> None:
    X, y = load_demo("train")
    tagger = Tagger("chunk", passes=1, search=Beam(2)).fit(X[:5], y[:5])
    tried = 0
    for words, labels in zip(X[5:60], y[5:60], strict=True):
        if not {*labels} <= {*tagger.labels_}:
            continue
        trellis = tagger.trellis(words)
        gold = tuple(trellis.labels.index(label) for label in labels)
        found = drawing.beams.beams(trellis, 2)
        lost = drawing.beams.lost_at(found, gold, 0)
        if lost is None:
            continue
        tried += 1
        cuts = drawing.beams.cuts_record(trellis, list(labels), 2)["cuts"]
        golds = {i: drawing.beams.prefix_score(trellis, gold[:i]) for i in range(1, len(gold) + 1)}
        for update in ("early", "max-violation", "latest", "standard"):
            assert cuts[update] == [last_step(update, [[(0.0, ())], *found], golds, lost + 1, 0) - 1]
        assert cuts["laso"][0] == lost
        assert cuts["laso"] == sorted({*cuts["laso"]})
    assert tried >= 5


def test_derivations_make_their_trees(drawing: Any) -> None:
    tree = [(3, "det"), (3, "amod"), (4, "nsubj"), (0, "root"), (6, "det"), (4, "obj"), (4, "punct")]
    steps = drawing.trees.derivation(tree)
    arcs = {dependant: (head + 1, relation) for head, dependant, relation, _ in steps[-1]["before"]["arcs"]}
    assert [arcs.get(k, (0, "root")) for k in range(len(tree))] == tree
    assert len(steps) - 1 == 2 * len(tree) - 1  # a shift for each word, an arc for each but the root
    with pytest.raises(ValueError, match="projective"):
        drawing.trees.derivation([(3, "a"), (4, "b"), (0, "root"), (3, "c")])
