"""The trellis of a sentence: its record against enumeration, and its drawings."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from fitting import epochs
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Beam, Crf, Latent, MaxEnt, Tagger
from palmette.cli import main
from palmette.errors import DataError, UsageError
from palmette.reports.trellis import shown_states, trellis_svg, trellis_text
from palmette.structures import TrellisRecord

WORDS, LABELS = ["a", "b", "c"], ["X", "Y", "Z"]
SENTENCES = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(LABELS)), min_size=1, max_size=4)


def fitted(data: list[list[tuple[str, str]]], template: str, **options: object) -> Tagger:
    X, y = [[word for word, _ in s] for s in data], [[label for _, label in s] for s in data]
    from palmette.features import parse

    return Tagger(
        template=parse(template), constraints="none", **options | epochs(2, options.get("learner", "perceptron"))
    ).fit(X, y)


def behind_by_enumeration(tagger: Tagger, words: list[str]) -> dict[tuple[int, str], float]:
    """From the definition: the score of every label sequence, by a search that allows it alone."""
    scores = {
        path: tagger.predict_scored([words], allowed=[list(path)])[1][0]
        for path in itertools.product(tagger.labels_, repeat=len(words))
    }
    best = max(scores.values())
    return {
        (i, label): best - max(score for path, score in scores.items() if path[i] == label)
        for i in range(len(words))
        for label in tagger.labels_
    }


@pytest.mark.parametrize(
    "options", [{}, {"learner": Crf()}, {"learner": MaxEnt()}], ids=["perceptron", "crf", "maxent"]
)
@pytest.mark.parametrize("template", ["U:%x[0,0]\n", "U:%x[0,0]\nB\n", "U:%x[0,0]\nB:%x[0,0]\n", "U:%x[0,0]\nB\nT\n"])
@settings(max_examples=15)
@given(data=st.lists(SENTENCES, min_size=2, max_size=5), words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
def test_how_far_behind_by_enumeration(
    options: dict, template: str, data: list[list[tuple[str, str]]], words: list[str]
) -> None:
    tagger = fitted(data, template, **options)
    record = tagger.trellis(words)
    expected = behind_by_enumeration(tagger, words)
    for (i, label), behind in expected.items():
        assert record.behind[i][record.states.index(label)] == pytest.approx(behind, abs=1e-4)
    assert [record.states[state] for state in record.best] == tagger.predict([words])[0]


def test_the_states_of_a_latent_model_cover_its_labels() -> None:
    data = [[("a", "X"), ("b", "Y")], [("b", "X"), ("a", "Y")], [("c", "Z")]] * 3
    tagger = fitted(data, "U:%x[0,0]\nB\n", states=Latent(2))
    record = tagger.trellis(["a", "b"])
    assert len(record.states) == 2 * len(record.labels)
    by_label = behind_by_enumeration(tagger, ["a", "b"])
    for (i, label), behind in by_label.items():
        own = [record.behind[i][s] for s, k in enumerate(record.label_of) if record.labels[k] == label]
        assert min(value for value in own if value is not None) == pytest.approx(behind, abs=1e-4)
    assert '<rect class="band"' in trellis_svg(record)


def test_a_beam_is_shown_as_the_search_had_it() -> None:
    data = [[("a", "X"), ("b", "Y")], [("b", "X"), ("a", "Y")], [("c", "Z"), ("a", "X")]] * 3
    tagger = fitted(data, "U:%x[0,0]\nB\n", search=Beam(2))
    record = tagger.trellis(["a", "b", "c"])
    assert record.beam is not None
    assert [len(kept) for kept in record.beam.kept] == [2, 2, 2]
    assert tagger.predict([["a", "b", "c"]])[0][-1] == record.states[record.beam.kept[-1][0]]
    assert all(scores == sorted(scores, reverse=True) for scores in record.beam.scores)


def test_forbidden_cells_are_none(tmp_path: Path) -> None:
    X, y = [["a", "b"]] * 2, [["B-X", "I-X"]] * 2
    record = Tagger("pos", passes=1).fit(X, y).trellis(["a", "b"])
    assert record.behind[0][record.states.index("I-X")] is None
    assert "·" in trellis_text(record).plain
    assert 'class="forbidden"' in trellis_svg(record)


@pytest.fixture(scope="module")
def record() -> TrellisRecord:
    data = [[("a", "X"), ("b", "Y")], [("b", "X"), ("a", "Y")], [("c", "Z")]] * 3
    return fitted(data, "U:%x[0,0]\nB\n").trellis(["a", "<b>", "&"])


def test_text_fits_its_width_and_shows_both_paths(record: TrellisRecord) -> None:
    for width in (20, 40, 80):
        table = trellis_text(record, width).plain.split("\n\n")[:-1]
        assert max(len(line) for block in table for line in block.splitlines()) <= width
    assert trellis_text(record).plain.count("[0]") == len(record.tokens) + 1  # and once where it is explained


def test_few_states_still_include_both_paths(record: TrellisRecord) -> None:
    assert set(record.best) | set(record.runner_up or ()) <= set(shown_states(record, 1))


def test_the_picture_is_well_formed_and_has_a_circle_for_each_cell(record: TrellisRecord) -> None:
    root = ElementTree.fromstring(trellis_svg(record))
    space = "{http://www.w3.org/2000/svg}"
    nodes = [circle for circle in root.iter(f"{space}circle") if circle.get("class") == "node"]
    assert len(nodes) == sum(value is not None for row in record.behind for value in row)
    lines = [line for line in root.iter(f"{space}line") if line.get("class") == "best"]
    assert len(lines) == len(record.tokens) - 1
    assert {"<b>", "&"} <= {text.text for text in root.iter(f"{space}text")}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, picture = str(tmp_path / "m.palm"), tmp_path / "t.svg"
    fitted([[("a", "X"), ("b", "Y")]] * 3, "U:%x[0,0]\nB\n").save(model)
    main(["trellis", model, "a b"])
    assert "[0]" in capsys.readouterr().out
    main(["trellis", model, "a b", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["tokens"] == ["a", "b"]
    assert np.array(found["own"]).shape == (2, len(found["states"]))
    main(["trellis", model, "a b", "--picture", str(picture)])
    assert capsys.readouterr().out == ""
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = fitted([[("a", "X"), ("b", "Y")]] * 3, "U:%x[0,0]\nB\n")
    with pytest.raises(DataError, match="without tokens"):
        tagger.trellis([])
    monkeypatch.setattr("palmette.structures.chain.trellis.MOST_CELLS", 3)
    with pytest.raises(UsageError, match="too many for a picture"):
        tagger.trellis(["a"])
