"""Features are made from NFC, however a text is written; the text itself is written back as it was."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st

from palmette import HMM, Classifier, LanguageModel, Parser, Tagger
from palmette.data import FormatSpec, column_of_strings, corpus_from_items, nfc, read_corpus
from palmette.data.corpus import perhaps_not_nfc
from palmette.features import read_clusters, read_lexicon
from palmette.structures import unseen

ACCENTS = "aé\u0301e\u0300ñn\u0303Åà\u0327ệ각ᄀ\u1100\u1161\u11a8\ufb1dя漢"
X = [["élève", "là"], ["là", "forêt"], ["forêt", "élève"], ["été", "noël"], ["noël", "là"], ["élève", "été"]]
Y = [["N", "A"], ["A", "N"], ["N", "N"], ["A", "V"], ["V", "A"], ["N", "A"]]


def nfd(given: Any) -> Any:
    """Strings in NFD, in lists and tuples."""
    if isinstance(given, str):
        return normalize("NFD", given)
    return type(given)(map(nfd, given))


def tagger(**options: Any) -> Tagger:
    return Tagger("pos", passes=4, **options).fit(X * 2, Y * 2)


def weights(model: Tagger) -> list[Any]:
    return [part.w.tolist() for part in model.model_.chain.weights]


# Cells


@given(st.lists(st.text(alphabet=ACCENTS, max_size=4), max_size=12))
def test_a_column_by_definition(cells: list[str]) -> None:
    column = column_of_strings(cells)
    expected = [normalize("NFC", cell) for cell in cells]
    assert column.nfc.cells() == expected
    assert column.nfc.types == list(dict.fromkeys(expected))  # what becomes equal is one type, by first occurrence
    assert np.array_equal(column.nfc.hash, column_of_strings(expected).hash)
    assert column.cells() == cells
    if expected == cells:
        assert column.nfc is column


@given(st.lists(st.text(max_size=4), max_size=8))
def test_bytes_show_what_is_in_nfc(cells: list[str]) -> None:
    """No string that NFC changes is taken for one in NFC; ASCII and Latin-1 are never looked at."""
    cells = [cell for cell in dict.fromkeys(cells) if cell.isprintable()]
    column = column_of_strings(cells)
    found = set(perhaps_not_nfc(column.data, column.start, column.end).tolist())
    assert {k for k, cell in enumerate(cells) if normalize("NFC", cell) != cell} <= found
    assert not any(cells[k].isascii() or max(cells[k]) < "\u0300" for k in found)
    assert [nfc(cell) for cell in cells] == [normalize("NFC", cell) for cell in cells]


def test_columns_are_released(tmp_path: Path) -> None:
    """Blocks of a stream are gone when they are tagged, without a search for cycles."""
    path = tmp_path / "x.txt"
    path.write_text("là N\nélève A\n\n" * 200_000)
    model = tagger()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        assert model.tag_file(path, tmp_path / "out.txt", spec=FormatSpec(has_label=False, label="1")) == 400_000
        assert tracemalloc.get_traced_memory()[0] < 2 << 20
    finally:
        tracemalloc.stop()
        gc.enable()


# Taggers


def test_training_on_nfd_gives_the_model_of_nfc() -> None:
    mixed = [sentence if k % 2 else nfd(sentence) for k, sentence in enumerate(X * 2)]
    assert weights(Tagger("pos", passes=4).fit(mixed, Y * 2)) == weights(tagger())
    assert weights(Tagger("pos", passes=4, unicode="none").fit(mixed, Y * 2)) != weights(tagger())


def test_equal_words_count_together() -> None:
    mixed = [sentence if k % 2 else nfd(sentence) for k, sentence in enumerate(X * 2)]
    sizes = {
        form: Tagger("pos", passes=1, min_count=3, unicode=form).fit(mixed, Y * 2).model_.feature_indexes[1].size
        for form in ("nfc", "none")
    }
    assert sizes["nfc"] > sizes["none"]


@pytest.mark.parametrize("rows", [X, [[(word, "x") for word in sentence] for sentence in X]])
def test_predicting_from_python(rows: list[Any]) -> None:
    """A list of sentences, few sentences, and a session."""
    model = Tagger("pos", passes=4).fit(rows * 2, Y * 2)
    many = rows * 3
    assert model.predict(nfd(many)) == model.predict(many) == Y * 3
    assert model.predict_scored(nfd(rows[:2])) == model.predict_scored(rows[:2])
    session = model.session()
    assert [session.tag(nfd(sentence)) for sentence in rows] == Y
    found, scores = model.predict_scored(nfd(many))
    assert scores == model.predict_scored(many)[1]
    other = Tagger("pos", passes=4, unicode="none").fit(rows * 2, Y * 2)
    assert other.predict_scored(nfd(many))[1] != other.predict_scored(many)[1]
    assert found == Y * 3


@pytest.mark.parametrize("format", ["columns", "conllu", "jsonl", "text"])
def test_files_come_back_as_they_were(format: str, tmp_path: Path) -> None:
    rest = "\t_\t_\t_\t_\t_\t_\t_\t_"
    texts = {
        "columns": "".join("".join(f"{word}\tx\n" for word in sentence) + "\n" for sentence in X),
        "conllu": "".join("".join(f"{k}\t{w}{rest}\n" for k, w in enumerate(s, 1)) + "\n" for s in X),
        "jsonl": "".join('{"tokens":["' + '","'.join(s) + '"]}\n' for s in X),
        "text": "".join(" ".join(sentence) + "\n" for sentence in X),
    }
    source, target = tmp_path / "in", tmp_path / "out"
    model, made = tagger(), {}
    for form, text in (("nfc", texts[format]), ("nfd", nfd(texts[format]))):
        source.write_bytes(text.encode())
        spec = FormatSpec(format=format, has_label=False, label="upos" if format == "conllu" else None)
        model.tag_file(source, target, spec=spec)
        made[form] = target.read_text()
        assert {word for sentence in X for word in (nfd(sentence) if form == "nfd" else sentence)} <= set(
            made[form].replace('"', "\t").replace("\t", " ").split()
        )
    assert nfc(made["nfd"]) == made["nfc"]
    assert made["nfd"] != made["nfc"]


def test_unseen_words_are_those_of_nfc(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(nfd("élève N\nnuit N\n"))
    found = unseen(tagger().model_, read_corpus(path))
    assert found is not None
    assert found.tolist() == [False, True]


def test_lexicons_and_clusters(tmp_path: Path) -> None:
    lexicon, clusters, template = tmp_path / "place.txt", tmp_path / "c.txt", tmp_path / "t.txt"
    template.write_text("U0:%x[0,0,lexicon:place]\nU1:%x[0,0,cluster:c]\nB\n")
    lexicon.write_text(nfd("forêt élève\n"))
    clusters.write_text(nfd("là\t1\nnoël\t2\nété\t2\nlà\t1\n"))
    options: dict[str, Any] = {"template": str(template), "passes": 2}
    files: dict[str, Any] = {"lexicons": {"place": str(lexicon)}, "clusters": {"c": str(clusters)}}
    model = Tagger(**options, **files).fit(X, Y)
    names = {model.model_.names[1][k] for k in range(len(model.model_.names[1]))}
    assert {"U0:B-place", "U0:I-place", "U1:1", "U1:2"} <= names
    assert model.predict_scored(nfd(X))[1] == model.predict_scored(X)[1]
    assert read_lexicon(lexicon).classes == {"forêt élève": "place"}
    assert read_lexicon(lexicon, unicode="none").classes == {nfd("forêt élève"): "place"}
    clusters.write_text(f"{nfd('là')}\t1\nlà\t2\n{nfd('été')}\t3\n{nfd('é')}té\t4\n")
    assert read_clusters(clusters).classes == {"là": "2", "été": "3"}  # what is in NFC comes first, then the first one
    assert len(read_clusters(clusters, unicode="none").classes) == 4


def test_ready_made_attributes_are_the_users_own() -> None:
    rows = [[{"word": word} for word in sentence] for sentence in X]
    model = Tagger(passes=4).fit(rows, Y)
    assert model.predict_scored([[{"word": nfd(w)} for w in s] for s in X])[1] != model.predict_scored(rows)[1]


def test_labels_are_not_changed() -> None:
    labels = [[nfd("é") if label == "N" else label for label in sentence] for sentence in Y]
    assert Tagger("pos", passes=4).fit(X * 2, labels * 2).predict(X) == labels


# Model files


def test_the_setting_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.palm"
    for form in ("nfc", "none"):
        tagger(unicode=form).save(path)
        loaded = Tagger.load(path)
        assert loaded.unicode == loaded.model_.settings.unicode == form
        assert loaded.model_.encoder is not None
        assert loaded.model_.encoder.unicode == form
        assert (loaded.predict_scored(nfd(X))[1] == loaded.predict_scored(X)[1]) == (form == "nfc")


def test_a_resumed_model_stays_as_it_was() -> None:
    old = tagger(unicode="none").model_
    model = Tagger("pos", passes=1)
    model.fit_corpus(corpus_from_items(nfd(X), Y).corpus, None, resume=old)
    assert model.model_.settings.unicode == "none"
    assert model.model_.encoder is old.encoder


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    pairs = [zip(words, labels, strict=True) for words, labels in zip(X, Y, strict=True)]
    cli.write("x.txt", "".join("".join(f"{w} {t}\n" for w, t in sentence) + "\n" for sentence in pairs))
    cli.fine("train x.txt -o a.palm -f pos --passes 1 -q")
    cli.fine("train x.txt -o b.palm -f pos --passes 1 --unicode none -q")
    assert "unicode nfc" in cli.fine("inspect a.palm").replace("\n", " ")
    assert "unicode none" in cli.fine("inspect b.palm").replace("\n", " ")
    assert "--unicode" in cli("train x.txt -o b.palm --resume a.palm --unicode none").err


# Other estimators


@pytest.mark.parametrize("order", [1, 2])
def test_hidden_markov_models(order: int, tmp_path: Path) -> None:
    hmm = HMM(order, rare=0).fit(X, Y)
    assert hmm.predict(nfd(X)) == hmm.predict(X)
    assert hmm.log_likelihood(nfd(X)) == hmm.log_likelihood(X)
    assert hmm.log_joint(nfd(X), Y) == hmm.log_joint(X, Y)
    assert HMM(order, rare=0).fit(nfd(X), Y).log_likelihood(X) == hmm.log_likelihood(X)
    path = tmp_path / "h.palm"
    for form in ("nfc", "none"):
        HMM(order, unicode=form).fit(X, Y).save(path)
        loaded = HMM.load(path)
        assert loaded.unicode == form
        assert (loaded.log_likelihood(nfd(X)) == loaded.log_likelihood(X)) == (form == "nfc")
    learnt = Tagger(learner="hmm").fit(X, Y)
    assert learnt.predict_scored(nfd(X)) == learnt.predict_scored(X)


def test_language_models(tmp_path: Path) -> None:
    model = LanguageModel(2).fit(X)
    assert model.score(nfd(X)) == model.score(X)
    assert model.probability(nfd("là"), [nfd("élève")]) == model.probability("là", ["élève"]) > 0
    assert LanguageModel(2).fit(nfd(X)).vocabulary_ == model.vocabulary_
    for name, exact in (("m.palm", True), ("m.arpa", False)):
        path = tmp_path / name
        model.save(path)
        loaded = LanguageModel.load(path)
        assert loaded.score(nfd(X)) == loaded.score(X) == (model.score(X) if exact else pytest.approx(model.score(X)))
    plain = LanguageModel(2, unicode="none").fit(nfd(X))
    plain.save(tmp_path / "n.palm")
    loaded = LanguageModel.load(tmp_path / "n.palm")
    assert loaded.unicode == "none"
    assert loaded.score(nfd(X)) == plain.score(nfd(X)) != loaded.score(X)
    plain.save(tmp_path / "n.arpa")
    assert LanguageModel.load(tmp_path / "n.arpa").score(nfd(X)) == pytest.approx(plain.score(nfd(X)))


def test_classifiers(tmp_path: Path) -> None:
    y = ["yes", "no"] * 3
    path = tmp_path / "c.palm"
    for form in ("nfc", "none"):
        Classifier(passes=2, unicode=form).fit(X, y).save(path)
        model = Classifier.load(path)
        same = np.array_equal(model.decision_function(nfd(X)), model.decision_function(X))
        assert same == (form == "nfc")


def test_parsers(tmp_path: Path) -> None:
    trees = [[(2, "a"), (0, "root")], [(0, "root"), (1, "b")]] * 3
    path = tmp_path / "p.palm"
    for form in ("nfc", "none"):
        Parser("basic", passes=3, unicode=form).fit(X, trees).save(path)
        model = Parser.load(path)
        scores = [[candidate.score for found in model.nbest(rows, 1) for candidate in found] for rows in (X, nfd(X))]
        assert (scores[0] == scores[1]) == (form == "nfc")
    assert Parser("basic", passes=3).fit(nfd(X), trees).predict(X) == Parser("basic", passes=3).fit(X, trees).predict(X)
