"""Scores against a naive twin of conlleval, against seqeval, against plain loops, and by hand."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from seqeval import scheme as judge
from seqeval.metrics import classification_report

from palmette.errors import UsageError
from palmette.evaluation import ChunkTables, errors, score, seqeval_text, span_counts, strict_span_counts, tokens
from palmette.evaluation.scores import CellTexts
from palmette.evaluation.spans import SpanCounts, conlleval_text
from palmette.evaluation.tokens import Share, figures

KINDS = ("A", "B-C")  # a type may have a hyphen
LETTERS = {"IOB1": "BI", "IOB2": "BI", "IOE1": "IE", "IOE2": "IE", "IOBES": "BIES"}


class Corpus(NamedTuple):
    labels: list[str]
    gold: np.ndarray
    guess: np.ndarray
    offset: np.ndarray

    def sentences(self, ids: np.ndarray) -> list[list[str]]:
        names = [self.labels[y] for y in ids]
        return [names[a:b] for a, b in zip(self.offset[:-1], self.offset[1:], strict=True)]


def corpus(labels: list[str], sentences: list[list[tuple[int, int]]]) -> Corpus:
    flat = [pair for sentence in sentences for pair in sentence]
    ids = np.array(flat, dtype=np.int32).reshape(-1, 2)
    offset = np.cumsum([0] + [len(sentence) for sentence in sentences])
    return Corpus(labels, ids[:, 0].copy(), ids[:, 1].copy(), offset)


def written(gold: str, guess: str) -> Corpus:
    """A corpus from text: labels separated by blanks, sentences by "/"."""
    labels = sorted(set((gold + " " + guess).replace("/", " ").split()))
    columns = [zip(a.split(), b.split(), strict=True) for a, b in zip(gold.split("/"), guess.split("/"), strict=True)]
    return corpus(labels, [[(labels.index(a), labels.index(b)) for a, b in column] for column in columns])


@st.composite
def corpora(draw: st.DrawFn, letters: str = "BIES", kinds: tuple[str, ...] = KINDS) -> Corpus:
    """Random labels, mostly ill-formed; about half of the guesses are right."""
    labels = ["O"] + [f"{letter}-{kind}" if kind else letter for letter in letters for kind in kinds]
    label = st.integers(0, len(labels) - 1)
    pair = st.one_of(label.map(lambda y: (y, y)), st.tuples(label, label))
    return corpus(labels, draw(st.lists(st.lists(pair, max_size=7), min_size=1, max_size=4)))


# The twin. conlleval reads one token after the other and looks at the last and the current tag.
ENDS = ["BB", "BO", "BS", "IB", "IO", "IS", "EE", "EI", "EO", "EB", "ES", "SB", "SI", "SE", "SO", "SS"]
STARTS = ["BB", "IB", "OB", "EB", "SB", "OI", "EE", "EI", "OE", "SI", "SE", "BS", "IS", "OS", "ES", "SS"]


def ends(last: tuple[str, str], now: tuple[str, str]) -> bool:
    return last[0] + now[0] in ENDS or (last[0] != "O" and last[1] != now[1])


def starts(last: tuple[str, str], now: tuple[str, str]) -> bool:
    return last[0] + now[0] in STARTS or (now[0] != "O" and last[1] != now[1])


def lines_of(data: Corpus) -> Iterator[tuple[str, str]]:
    """The labels of each token, and after each sentence the O of the blank line."""
    for gold, guess in zip(data.sentences(data.gold), data.sentences(data.guess), strict=True):
        yield from zip(gold, guess, strict=True)
        yield "O", "O"


def naive_conlleval(data: Corpus) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Correct, guessed and gold chunks of each type."""
    correct: Counter[str] = Counter()
    guessed: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    last_gold = last_guess = ("O", "")
    on_course = False
    for gold_label, guess_label in lines_of(data):
        now_gold, now_guess = ((s.partition("-")[0], s.partition("-")[2]) for s in (gold_label, guess_label))
        gold_ends, guess_ends = ends(last_gold, now_gold), ends(last_guess, now_guess)
        gold_starts, guess_starts = starts(last_gold, now_gold), starts(last_guess, now_guess)
        if on_course:
            if gold_ends and guess_ends and last_gold[1] == last_guess[1]:
                on_course = False
                correct[last_gold[1]] += 1
            elif gold_ends != guess_ends or now_gold[1] != now_guess[1]:
                on_course = False
        if gold_starts and guess_starts and now_gold[1] == now_guess[1]:
            on_course = True
        gold[now_gold[1]] += gold_starts
        guessed[now_guess[1]] += guess_starts
        last_gold, last_guess = now_gold, now_guess
    return correct, guessed, gold


def counted_by(data: Corpus) -> SpanCounts:
    return span_counts(data.gold, data.guess, data.offset, ChunkTables.of(data.labels))


def check_against_twin(data: Corpus) -> None:
    counts = counted_by(data)
    for ours, theirs in zip(counts[1:4], naive_conlleval(data), strict=True):
        assert dict(zip(counts.types, ours.tolist(), strict=True)) == {k: theirs[k] for k in counts.types}
        assert ours.sum() == theirs.total()
    assert counts.tokens == Share(int((data.gold == data.guess).sum()), len(data.gold))


@pytest.mark.parametrize("letters", ["BI", "IE", "BIES"])
@pytest.mark.parametrize("kinds", [KINDS, ("",), ("", "A")])
def test_span_counts_equal_the_twin(letters: str, kinds: tuple[str, ...]) -> None:
    @given(corpora(letters, kinds))
    def check(data: Corpus) -> None:
        check_against_twin(data)

    check()


def test_span_counts_on_a_larger_corpus_and_in_time() -> None:
    rng = np.random.default_rng(7)
    labels = ["O"] + [f"{letter}-{k}" for letter in "BI" for k in range(10)]
    lengths = rng.integers(1, 50, 2000)
    offset = np.concatenate([[0], np.cumsum(lengths)])
    gold = rng.integers(0, len(labels), offset[-1]).astype(np.int32)
    guess = np.where(rng.random(offset[-1]) < 0.8, gold, rng.permutation(gold)).astype(np.int32)
    data = Corpus(labels, gold, guess, offset)
    check_against_twin(data)
    tables = ChunkTables.of(labels)
    spent = []
    for _ in range(5):
        begin = time.perf_counter()
        span_counts(gold, guess, offset, tables)
        spent.append(time.perf_counter() - begin)
    assert min(spent) < 0.05  # measured: 0.003


def test_span_counts_by_hand() -> None:
    data = written(
        gold="B-NP I-NP O B-VP B-NP / B-NP I-NP I-NP / I-NP",
        guess="B-NP I-NP O B-NP I-NP / B-NP I-NP B-NP / B-NP",
    )
    counts = counted_by(data)
    assert counts.types == ["NP", "VP"]
    assert counts.correct.tolist() == [2, 0]  # the first chunk, and I-NP against B-NP in the last sentence
    assert counts.guessed.tolist() == [5, 0]
    assert counts.gold.tolist() == [4, 1]
    assert counts.tokens == (5, 9)
    assert counts.total == figures(2, 5, 5)
    assert counts.total.f1 == pytest.approx(0.4)


def test_a_sentence_edge_ends_a_chunk() -> None:
    one = counted_by(written(gold="B-X I-X I-X", guess="B-X I-X I-X"))
    two = counted_by(written(gold="B-X I-X / I-X", guess="B-X I-X / I-X"))
    assert (one.gold.tolist(), two.gold.tolist()) == ([1], [2])
    assert (one.correct.tolist(), two.correct.tolist()) == ([1], [2])


def test_bilou_counts_as_iobes() -> None:
    bilou = counted_by(written(gold="B-X I-X L-X U-X U-X O", guess="B-X L-X L-X U-X U-X O"))
    iobes = counted_by(written(gold="B-X I-X E-X S-X S-X O", guess="B-X E-X E-X S-X S-X O"))
    assert [column.tolist() for column in bilou[1:4]] == [column.tolist() for column in iobes[1:4]]
    assert bilou.total == figures(2, 4, 3)


def report(data: Corpus, scheme: str | None = None) -> str:
    """seqeval's own text."""
    options = {"mode": "strict", "scheme": getattr(judge, scheme)} if scheme else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return classification_report(data.sentences(data.gold), data.sentences(data.guess), digits=4, **options)


@given(st.one_of(corpora(), corpora(kinds=("",))))
def test_default_seqeval_report_is_the_same_text(data: Corpus) -> None:
    counts = counted_by(data)
    assume(counts.gold.sum() + counts.guessed.sum() > 0)  # seqeval raises an error
    assert seqeval_text(counts) == report(data)


@pytest.mark.parametrize("scheme", LETTERS)
def test_strict_counts_and_report_equal_seqeval(scheme: str) -> None:
    @settings(max_examples=200)
    @given(corpora(LETTERS[scheme]))
    def check(data: Corpus) -> None:
        counts = strict_span_counts(data.gold, data.guess, data.offset, data.labels, scheme)
        theirs = [judge.Entities(data.sentences(ids), getattr(judge, scheme)) for ids in (data.gold, data.guess)]
        for k, kind in enumerate(counts.types):
            gold, guess = (entities.filter(kind) for entities in theirs)
            expected = (len(gold & guess), len(guess), len(gold))
            assert (counts.correct[k], counts.guessed[k], counts.gold[k]) == expected
        if counts.gold.sum() + counts.guessed.sum():
            assert seqeval_text(counts) == report(data, scheme)

    check()


def test_strict_bilou_equals_seqeval() -> None:
    data = written(gold="B-X I-X L-X U-Y O / B-X L-X O", guess="B-X I-X L-X U-X O / B-X I-X O")
    counts = strict_span_counts(data.gold, data.guess, data.offset, data.labels, "BILOU")
    assert seqeval_text(counts) == report(data, "BILOU")
    assert counts.total == figures(1, 2, 3)


def test_strict_and_lenient_differ_on_illformed_guesses() -> None:
    data = written(gold="B-X I-X O", guess="I-X I-X O")
    assert counted_by(data).total == figures(1, 1, 1)
    strict = strict_span_counts(data.gold, data.guess, data.offset, data.labels, "IOB2")
    assert strict.total == figures(0, 0, 1)


def test_seqeval_text_without_chunks_has_zeros() -> None:
    text = seqeval_text(counted_by(written(gold="O O", guess="O O")))
    assert [line.split() for line in text.splitlines()[-1:]] == [["weighted", "avg"] + ["0.0000"] * 3 + ["0"]]


def test_conlleval_text_digit_for_digit() -> None:
    counts = SpanCounts(
        ["ADJP", "NP", "VP"],
        np.array([0, 371, 0]),
        np.array([1, 538, 0]),
        np.array([0, 459, 0]),
        Share(838, 961),
    )
    assert conlleval_text(counts) == (
        "processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.\n"
        "accuracy:  87.20%; precision:  68.83%; recall:  80.83%; FB1:  74.35\n"
        "             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
        "               NP: precision:  68.96%; recall:  80.83%; FB1:  74.42  538\n"
    )


def test_conlleval_text_of_nothing_and_of_bare_letters() -> None:
    nothing = span_counts(np.array([], dtype=int), np.array([], dtype=int), np.array([0]), ChunkTables.of(["O"]))
    assert conlleval_text(nothing) == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
    # conlleval.pl prints the line of the empty type once for gold and once for guess.
    lines = conlleval_text(counted_by(written(gold="B I O B", guess="B I O O"))).splitlines()
    assert lines[1] == "accuracy:  75.00%; precision: 100.00%; recall:  50.00%; FB1:  66.67"
    assert lines[2:] == ["                 : precision: 100.00%; recall:  50.00%; FB1:  66.67  1"] * 2
    assert len(conlleval_text(counted_by(written(gold="B I", guess="O O"))).splitlines()) == 3


@st.composite
def masked(draw: st.DrawFn) -> tuple[Corpus, np.ndarray, np.ndarray]:
    data = draw(corpora("BI"))
    masks = [draw(st.lists(st.booleans(), min_size=len(data.gold), max_size=len(data.gold))) for _ in "ab"]
    return data, np.array(masks[0], dtype=bool), np.array(masks[1], dtype=bool)


@given(masked())
def test_token_scores_equal_plain_loops(case: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    data, known, unseen = case
    Y = len(data.labels)
    gold = np.where(known, data.gold, -1)  # what stands at unknown tokens must not matter
    pairs = [(a, b) for a, b, k in zip(data.gold.tolist(), data.guess.tolist(), known, strict=True) if k]
    new = [(a, b) for a, b, k in zip(data.gold, data.guess, known & unseen, strict=True) if k]
    assert tokens.token_accuracy(gold, data.guess, known) == (sum(a == b for a, b in pairs), len(pairs))
    assert tokens.unseen_accuracy(gold, data.guess, unseen, known) == (sum(a == b for a, b in new), len(new))
    counter = Counter(pairs)
    matrix = np.array([[counter[a, b] for b in range(Y)] for a in range(Y)])
    wrong = sorted(((a, b, n) for (a, b), n in counter.items() if a != b), key=lambda row: (-row[2], row[:2]))
    assert tokens.top_confusions(gold, data.guess, Y, known, most=3) == wrong[:3]
    counts = tokens.label_counts(gold, data.guess, Y, known)
    assert counts.gold.tolist() == matrix.sum(axis=1).tolist()
    assert counts.guessed.tolist() == matrix.sum(axis=0).tolist()
    assert counts.correct.tolist() == matrix.diagonal().tolist()


@given(masked())
def test_sentence_accuracy_equals_a_plain_loop(case: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    data, known, _ = case
    right = total = 0
    for a, b in zip(data.offset[:-1], data.offset[1:], strict=True):
        if known[a:b].any():
            total += 1
            right += bool(((data.gold == data.guess) | ~known)[a:b].all())
    assert tokens.sentence_accuracy(data.gold, data.guess, data.offset, known) == (right, total)


def test_score_of_chunks() -> None:
    data = written(gold="B-NP I-NP O / B-NP O", guess="B-NP I-NP O / I-NP B-NP")
    found = score(data.gold, data.guess, data.offset, data.labels, unseen=np.array([0, 0, 1, 1, 0], dtype=bool))
    assert (found.tokens, found.sentences) == (5, 2)
    assert (found.accuracy, found.sentence_accuracy) == (0.6, 0.5)
    assert (found.unseen_tokens, found.unseen_accuracy) == (2, 0.5)
    assert found.chunk_rules == "conlleval"
    assert (found.precision, found.recall) == (pytest.approx(2 / 3), 1.0)
    assert found.by_type == {"NP": figures(2, 3, 2)}
    assert found.by_label["B-NP"] == figures(1, 2, 2)
    assert [(row.gold, row.guess, row.count) for row in found.confusions] == [
        ("B-NP", "I-NP", 1),
        ("O", "B-NP", 1),
    ]
    strict = score(data.gold, data.guess, data.offset, data.labels, scheme="IOB2", strict=True)
    assert strict.chunk_rules == "strict IOB2"
    assert (strict.precision, strict.recall) == (0.5, 0.5)


def test_score_of_word_classes_has_no_chunk_figures() -> None:
    data = written(gold="DT NN VB / NN", guess="DT NN NN / NN")
    found = score(data.gold, data.guess, data.offset, data.labels)
    assert (found.f1, found.precision, found.recall, found.chunk_rules) == (None, None, None, None)
    assert (found.unseen_accuracy, found.unseen_tokens, found.by_type) == (None, None, {})
    assert found.by_label["NN"] == figures(2, 3, 2)
    none_unseen = score(data.gold, data.guess, data.offset, data.labels, unseen=np.zeros(4, dtype=bool))
    assert (none_unseen.unseen_tokens, none_unseen.unseen_accuracy) == (0, None)


def test_score_becomes_json() -> None:
    data = written(gold="B-NP I-NP O", guess="B-NP I-NP B-NP")
    plain = json.loads(json.dumps(score(data.gold, data.guess, data.offset, data.labels).to_dict()))
    assert plain["accuracy"] == pytest.approx(2 / 3)
    assert plain["f1"] == pytest.approx(2 / 3)
    assert plain["by_type"]["NP"]["guessed"] == 2
    assert plain["confusions"] == [{"gold": "O", "guess": "B-NP", "count": 1}]


def test_score_leaves_unknown_tokens_out() -> None:
    data = written(gold="B-NP I-NP O / B-NP O", guess="B-NP O O / B-NP B-NP")
    known = np.array([1, 0, 1, 1, 1], dtype=bool)
    found = score(np.where(known, data.gold, -1), data.guess, data.offset, data.labels, known=known)
    assert (found.tokens, found.accuracy, found.sentence_accuracy) == (4, 0.75, 0.5)
    assert found.by_type == {"NP": figures(1, 2, 1)}  # only the second sentence is known throughout


def test_errors_point_to_their_first_place() -> None:
    data = written(gold="IN NN / IN DT / IN NN", guess="DT NN / DT IN / NN NN")
    empty_first = np.concatenate([[0], data.offset])  # an empty sentence in front shifts the numbers by one
    found = errors(data.gold, data.guess, empty_first, data.labels)
    assert [(e.gold, e.guess, e.count, e.sentence, e.token) for e in found] == [
        ("IN", "DT", 2, 1, 0), ("DT", "IN", 1, 2, 1), ("IN", "NN", 1, 3, 0),
    ]  # fmt: skip
    words = ["that", "man", "that", "that", "like", "men"]
    top = errors(data.gold, data.guess, data.offset, data.labels, words, most=1)
    assert [(e.word, e.gold, e.guess, e.count) for e in top] == [("that", "IN", "DT", 2)]
    cells = CellTexts(np.array([0, 1, 0, 0, 2, 3]), ["that", "man", "like", "men"])
    assert list(cells) == words
    assert cells[1:3] == words[1:3]
    every = [errors(data.gold, data.guess, data.offset, data.labels, own) for own in (words, cells)]
    assert every[0] == every[1]
    known = np.array([0, 1, 0, 1, 1, 1], dtype=bool)
    assert {e.guess for e in errors(data.gold, data.guess, data.offset, data.labels, known=known)} == {
        "IN",
        "NN",
    }


def test_wrong_input_is_refused() -> None:
    two, three, offset = np.array([0, 1]), np.array([0, 1, 0]), np.array([0, 2])
    with pytest.raises(UsageError, match="lengths are 2, 3"):
        span_counts(two, three, offset, ChunkTables.of(["B", "O"]))
    with pytest.raises(UsageError, match="label ids must be between 0 and 0"):
        span_counts(two, two, offset, ChunkTables.of(["B"]))
    with pytest.raises(UsageError, match="label ids must be between 0 and 0"):
        tokens.label_counts(two, two, 1)
    with pytest.raises(UsageError, match="offsets"):
        tokens.sentence_accuracy(three, three, offset)
    with pytest.raises(UsageError, match="'NN' is no chunk label"):
        ChunkTables.of(["B", "NN"])
    with pytest.raises(UsageError, match="'E-X' does not belong to IOB2"):
        strict_span_counts(two, two, offset, ["O", "E-X"], "IOB2")
    with pytest.raises(UsageError, match="need a tag scheme"):
        score(two, two, offset, ["B", "O"], strict=True)
    with pytest.raises(UsageError, match="3 words for 2 labels"):
        errors(two, two, offset, ["B", "O"], ["a", "b", "c"])


def test_a_share_of_nothing_is_zero() -> None:
    assert Share(0, 0).fraction == 0.0
    assert figures(0, 0, 0) == tokens.Figures(0.0, 0.0, 0.0, 0, 0, 0)


def test_scoring_does_not_import_numba() -> None:
    code = "import sys, palmette.evaluation.scores, palmette.evaluation.spans; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_weights_of_sentences_are_routed_to_fit() -> None:
    """With metadata routing a search passes on what `set_fit_request` asks for, and clones keep it."""
    import numpy as np
    from sklearn import config_context
    from sklearn.base import clone
    from sklearn.exceptions import UnsetMetadataPassedError
    from sklearn.model_selection import cross_val_score

    from palmette import Tagger
    from palmette.errors import UsageError

    X, y, weights = [["a", "b"], ["b", "a"]] * 4, [["A", "B"], ["B", "A"]] * 4, {"sample_weight": np.ones(8)}
    plain = Tagger("pos", learner="perceptron", passes=1)
    with config_context(enable_metadata_routing=True):
        asking = clone(plain.set_fit_request(sample_weight=True).set_score_request(sample_weight=False))
        assert len(cross_val_score(asking, X, y, cv=2, params=weights)) == 2
        with pytest.raises(UnsetMetadataPassedError):
            cross_val_score(Tagger("pos", passes=1), X, y, cv=2, params=weights, error_score="raise")
        with pytest.raises(UsageError, match="no parameter 'weight'"):
            plain.set_fit_request(weight=True)
