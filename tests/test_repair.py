"""Chunk labels with rare violations of their scheme: which scheme is taken, what is reported, what is repaired."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import column_corpus
from cli_run import Cli, leave_demo
from fitting import epochs
from hypothesis import given
from hypothesis import strategies as st
from naive_classify import is_wellformed

from palmette import Tagger
from palmette.data import (
    SCHEMES,
    convert_labels,
    corpus_from_items,
    from_spans,
    label_names,
    nearest,
    repaired,
    spans,
    training_mask,
    violations,
)
from palmette.datasets import load_demo
from palmette.errors import DataError
from palmette.structures import settle_scheme

NAMES = list(SCHEMES)
EVERY = ["O"] + [f"{letter}-{kind}" for letter in "BIES" for kind in "XY"]
Sentences = list[list[str]]

# An ill-formed sentence of each scheme, and what conlleval's reading of it is in the scheme
STRAY = {
    "IOBES": ("I-X O B-Y O", "S-X O S-Y O"),
    "IOB2": ("I-X I-X O", "B-X I-X O"),
    "IOE2": ("O I-X O", "O E-X O"),
    "IOB1": ("O B-X I-X", "O I-X I-X"),
    "IOE1": ("O I-X E-X", "O I-X I-X"),
}


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def wellformed(scheme: str, n: int = 60, seed: int = 0) -> Sentences:
    """Sentences with one to three chunks, some of which touch."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        chunks, at = [], int(rng.integers(0, 3))
        for _ in range(rng.integers(1, 4)):
            length = int(rng.integers(1, 4))
            chunks.append((str(rng.choice(["X", "Y"])), at, at + length))
            at += length + int(rng.integers(0, 2))
        made.append(from_spans(chunks, at + 1, scheme))
    return made


def words(y: Sentences) -> list[list[str]]:
    return [[f"w{i}{label}" for i, label in enumerate(own)] for own in y]


def numbers(y: Sentences) -> tuple[list[str], np.ndarray, np.ndarray]:
    labels = sorted({label for own in y for label in own})
    ids = np.array([labels.index(label) for own in y for label in own], np.int32)
    return labels, ids, np.cumsum([0] + [len(own) for own in y])


def labels_back(corpus) -> Sentences:
    cells, cuts = corpus.labels.cells(), corpus.offset.tolist()
    return [cells[a:b] for a, b in pairwise(cuts)]


@given(
    st.lists(st.lists(st.sampled_from(EVERY), min_size=1, max_size=6), min_size=1, max_size=4), st.sampled_from(NAMES)
)
def test_ill_formed_chunks_are_those_that_the_scheme_writes_otherwise(y: Sentences, scheme: str) -> None:
    """From the definition: conlleval's spans, written in the scheme, and compared chunk by chunk."""
    expected, chunks, at = [], 0, 0
    for own in y:
        right = from_spans(spans(own), len(own), scheme)
        for chunk in spans(own):
            chunks += 1
            places = range(chunk.start, chunk.end)
            if any(own[i] != right[i] for i in places):
                expected.append((at + chunk.start, at + chunk.end))
        at += len(own)
    labels, ids, offset = numbers(y)
    found = violations(labels, ids, offset, scheme)
    assert found.chunks == chunks
    assert len(found.tokens) == len(expected)
    assert all(a <= token < b for token, (a, b) in zip(found.tokens.tolist(), expected, strict=True))
    corpus = corpus_from_items(words(y), y).corpus
    mended, done = repaired(corpus, labels, ids, found)
    assert done == len(expected)
    assert labels_back(mended) == [convert_labels(own, scheme) for own in y]
    assert labels_back(corpus) == y
    assert mended.labels is not None
    assert mended.labels.types == list(dict.fromkeys(mended.labels.cells()))  # numbered by first occurrence


@pytest.mark.parametrize("scheme", NAMES)
def test_one_stray_sentence_does_not_switch_the_scheme_off(scheme: str, logged: list[str]) -> None:
    stray, right = (text.split() for text in STRAY[scheme])
    y = wellformed(scheme)
    y.insert(16, stray)
    before = [list(own) for own in y]
    tagger = Tagger("ner", passes=2).fit(words(y), y)
    assert y == before
    assert tagger.model_.scheme == scheme
    (warning,) = [message for message in logged if "ill-formed" in message]
    assert f"ill-formed in {scheme}" in warning
    assert "sentence 17, token " in warning
    mended, found = settle_scheme(corpus_from_items(words(y), y).corpus, "auto")
    assert found == scheme
    assert labels_back(mended) == [*y[:16], right, *y[17:]]
    assert all(is_wellformed(own, scheme) for own in tagger.predict(words(y)))
    with pytest.raises(DataError, match=rf"ill-formed in {scheme} \(sentence 17, token"):
        Tagger("ner", passes=2, constraints="strict").fit(words(y), y)
    free = Tagger("ner", passes=2, constraints="none").fit(words(y), y)
    assert free.model_.scheme is None
    assert len([message for message in logged if "ill-formed" in message]) == 1 + 1  # settle_scheme of this test


@pytest.mark.parametrize("scheme", NAMES)
def test_strict_takes_what_is_well_formed(scheme: str, logged: list[str]) -> None:
    y = wellformed(scheme)
    assert Tagger("ner", passes=1, constraints="strict").fit(words(y), y).model_.scheme == scheme
    assert not [message for message in logged if "ill-formed" in message]


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("truncated", [1, 2])
def test_truncated_sentences_are_no_other_scheme(scheme: str, truncated: int) -> None:
    """The last sentences end in the middle of a chunk."""
    y = wellformed(scheme, 200) + [from_spans([("X", 0, 3)], 3, scheme)[:2]] * truncated
    corpus, found = settle_scheme(corpus_from_items(words(y), y).corpus, "auto")
    assert found == scheme
    assert all(is_wellformed(own, scheme) for own in labels_back(corpus))


@pytest.mark.parametrize("scheme", NAMES)
def test_many_violations_are_no_scheme_and_reported(scheme: str, logged: list[str]) -> None:
    y = wellformed(scheme) + [STRAY[scheme][0].split()] * 20
    assert Tagger("ner", passes=1).fit(words(y), y).model_.scheme is None
    (warning,) = [message for message in logged if "no tag scheme" in message]
    assert warning.count("token") == 3  # of twenty or more, three places are named
    assert " more)" in warning
    assert "convert_labels rewrites ill-formed chunks" in warning


def test_two_schemes_at_once_are_none() -> None:
    """Half of the data in IOB1, half in IOB2."""
    for y in (wellformed("IOB1") + wellformed("IOB2"), [["I-X", "O"], ["O", "B-X"]] * 20):
        assert settle_scheme(corpus_from_items(words(y), y).corpus, "auto")[1] is None


def test_few_chunks_prove_nothing() -> None:
    y = [["B-X", "I-X", "O"]] * 18 + [["O", "I-X"]]
    assert settle_scheme(corpus_from_items(words(y), y).corpus, "auto")[1] is None
    y += [["O", "B-X"]]
    assert settle_scheme(corpus_from_items(words(y), y).corpus, "auto")[1] == "IOB2"


def test_iob1_with_few_marks_is_iob1() -> None:
    """Most types never touch: B is as rare as a mistake would be."""
    y = [["I-X", "I-X", "O", "I-Y"]] * 200 + [["I-X", "B-X", "O"]]
    corpus, scheme = settle_scheme(corpus_from_items(words(y), y).corpus, "auto")
    assert scheme == "IOB1"
    assert labels_back(corpus) == y


def test_a_letter_of_another_scheme_is_a_violation() -> None:
    y = [*wellformed("IOB2", 100), ["B-X", "E-X", "O", "S-Y"]]
    corpus, scheme = settle_scheme(corpus_from_items(words(y), y).corpus, "auto")
    assert scheme == "IOB2"
    assert labels_back(corpus)[-1] == ["B-X", "I-X", "O", "B-Y"]


@pytest.mark.parametrize(
    ("name", "stray", "right"), [("bilou", "I-X O B-Y", "U-X O U-Y"), ("bmes", "B-X M-X O", "B-X E-X O")]
)
def test_a_repair_keeps_the_letters_of_the_corpus(name: str, stray: str, right: str) -> None:
    y = [*[convert_labels(own, name) for own in wellformed("IOBES", 100)], stray.split()]
    corpus, scheme = settle_scheme(corpus_from_items(words(y), y).corpus, "auto")
    assert scheme == "IOBES"
    assert labels_back(corpus)[-1] == right.split()


def test_a_repair_may_bring_a_label() -> None:
    """The only LOC of the data lacks its B."""
    y = [*wellformed("IOB2", 100), ["I-LOC", "I-LOC", "O"]]
    tagger = Tagger("ner", passes=2).fit(words(y), y)
    assert {"B-LOC", "I-LOC"} <= set(tagger.labels_)


def test_beside_unknown_labels_nothing_is_repaired(logged: list[str]) -> None:
    """I-X after O opens a chunk, but IOBES writes S-X or B-X by what follows, which is not known."""
    y: list = [*wellformed("IOBES", 100), ["O", "I-X", None], ["O", "I-X", "O", None], ["B-X", None]]
    corpus = corpus_from_items([["w"] * len(own) for own in y], y).corpus
    mended, scheme = settle_scheme(corpus, "auto")
    assert scheme == "IOBES"
    assert mended.labels is not None
    assert mended.labels.cells()[-9:-6] == ["O", "I-X", "{}"]
    assert mended.labels.cells()[-6:] == ["O", "S-X", "O", "{}", "B-X", "{}"]
    Tagger("ner", passes=1).fit([["w"] * len(own) for own in y], y)
    assert any("1 training sentence is left out" in message for message in logged)


def test_resumed_training_repairs_by_the_scheme_of_the_model() -> None:
    y = wellformed("IOB2")
    tagger = Tagger("ner", passes=1).partial_fit(words(y), y)
    more = [*wellformed("IOB2", seed=1), ["I-X", "O"]]
    assert tagger.partial_fit(words(more), more).model_.scheme == "IOB2"


@pytest.mark.parametrize("learner", ["perceptron", "crf", "hmm", "maxent"])
def test_every_learner_gets_repaired_data(learner: str) -> None:
    y = [*wellformed("IOB2"), ["I-X", "O"]]
    right = [*y[:-1], ["B-X", "O"]]
    X = words(y)
    options = {"learner": learner} if learner == "hmm" else {"features": "ner", **epochs(2, learner)}
    one, other = (Tagger(**options).fit(X, own) for own in (y, right))
    assert one.labels_ == other.labels_
    assert one.predict_scored(X) == other.predict_scored(X)


def test_development_data_are_repaired_too(logged: list[str]) -> None:
    y, dev = wellformed("IOB2"), [*wellformed("IOB2", 40, seed=1), ["I-X", "O"]]
    right = [*dev[:-1], ["B-X", "O"]]
    one, other = (
        Tagger("ner", passes=2, metric="accuracy").fit(words(y), y, dev=(words(dev), own)) for own in (dev, right)
    )
    assert [row["dev"] for row in one.training_log_] == [row["dev"] for row in other.training_log_]
    (warning,) = [message for message in logged if "development data" in message]
    assert "sentence 41, token 1" in warning


def test_places_survive_empty_sentences_and_a_held_out_share(logged: list[str]) -> None:
    y: Sentences = [[], *wellformed("IOB2", 100)]
    y.insert(50, ["O", "I-X"])
    Tagger("ner", passes=1, dev_share=0.1).fit(words(y), y)
    assert any("(sentence 51, token 2)" in message for message in logged)


def test_files_are_reported_with_their_lines_and_stay(cli: Cli) -> None:
    leave_demo(cli.folder)
    text = "Peru NNP I-NP\nsells VBZ B-VP\n\n" + cli.read("train.txt")
    cli.write("stray.txt", text)
    ran = cli("train stray.txt -o m.palm -f chunk --passes 2 --dev-share 0.1")
    assert ran.code == 0
    assert "1 of " in ran.err
    assert "is ill-formed in IOB2 (stray.txt:1)" in ran.err
    assert cli.read("stray.txt") == text
    assert Tagger.load("m.palm").model_.scheme == "IOB2"
    ran = cli("train stray.txt -o n.palm -f chunk --constraints strict -q")
    assert ran.code == 1
    assert "stray.txt:1" in ran.err
    assert not (cli.folder / "n.palm").exists()


def test_eval_reads_gold_as_conlleval_does(cli: Cli) -> None:
    """A stray I is a phrase of its own in gold; nothing is reported or repaired."""
    cli.write("guess.txt", "a O O\nb I-X B-X\n\nc B-X B-X\n")
    ran = cli("eval --guess guess.txt --style conlleval")
    assert "processed 3 tokens with 2 phrases; found: 2 phrases; correct: 2." in ran.out
    assert not ran.err


def test_strict_wants_chunk_labels() -> None:
    with pytest.raises(DataError, match="'NN' is not one"):
        Tagger("pos", constraints="strict").fit([["a", "b"]], [["NN", "B-X"]])


def test_nearest_is_the_strictest_of_equals() -> None:
    found, taken = nearest(*numbers([["B-X", "E-X", "O"]] * 30))
    assert (found.scheme, taken, found.tokens.size) == ("IOBES", True, 0)


def test_the_demo_corpus_needs_no_repair(logged: list[str]) -> None:
    X, y = load_demo("train")
    corpus = corpus_from_items(X, y, mode="columns").corpus
    assert settle_scheme(corpus, "auto") == (corpus, "IOB2")
    assert not logged
    labels = label_names(corpus)
    assert not violations(labels, training_mask(corpus, labels).rows, corpus.offset, "IOB2").tokens.size
    assert column_corpus([[["a"]]], [["O"]]).place(0) == "sentence 1, token 1"


@pytest.mark.parametrize("scheme", NAMES)
def test_mistakes_in_conll_2000_leave_its_scheme(scheme: str, corpora: Path) -> None:
    """Labels of 5 random tokens, of some 6,000 chunks, are replaced by random ones."""
    blocks = (corpora / "conll2000" / "test.txt").read_text(encoding="utf-8").strip().split("\n\n")[::4]
    y = [convert_labels([line.split()[2] for line in block.split("\n")], scheme) for block in blocks]
    rng = np.random.default_rng(7)
    names = sorted({label for own in y for label in own})
    for s in rng.permutation(len(y))[:5].tolist():
        y[s][int(rng.integers(len(y[s])))] = str(rng.choice(names))
    corpus = corpus_from_items([["w"] * len(own) for own in y], y).corpus
    mended, found = settle_scheme(corpus, "auto")
    assert found == scheme
    assert labels_back(mended) == [convert_labels(own, scheme) for own in y]


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("separator", ["_", "/"])
def test_repairs_keep_the_separator(scheme: str, separator: str) -> None:
    def other(y: Sentences) -> Sentences:
        return [[label.replace("-", separator) for label in own] for own in y]

    stray, mended = (STRAY[scheme][k].split() for k in (0, 1))
    y = wellformed(scheme)
    corpus = corpus_from_items([*words(y), [str(k) for k in range(len(stray))]], other([*y, stray])).corpus
    found, taken = settle_scheme(corpus, "auto")
    assert taken == scheme
    assert labels_back(found) == other([*y, mended])
