"""Sentences most worth annotating: uncertainty by enumeration, the choice by trying every sentence, the files."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli, leave_demo
from hypothesis import given
from hypothesis import strategies as st

from palmette import Crf, Tagger
from palmette.data import Corpus, FormatSpec, column_of_strings, read_corpus
from palmette.datasets import load_demo, load_trees
from palmette.errors import UsageError
from palmette.estimators import pick, pick_file
from palmette.estimators.picking import Pool, uncertainties

X = [["the", "dog", "runs"], ["a", "cat"], ["dogs", "run", "fast", "."], ["cat"]]
Y = [["D", "N", "V"], ["D", "N"], ["N", "V", "A", "O"], ["N"]]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger("pos", learner=Crf(optimiser="adagrad"), passes=3).fit(X, Y)


@pytest.fixture(scope="module")
def chunker() -> Tagger:
    return Tagger("chunk", learner=Crf(optimiser="adagrad"), passes=3).fit(*load_demo("train"))


def corpus_of(sentences: list[list[str]]) -> Corpus:
    offset = np.concatenate(([0], np.cumsum([len(sentence) for sentence in sentences]))).astype(np.int64)
    return Corpus(offset, [column_of_strings(itertools.chain.from_iterable(sentences))])


@pytest.mark.parametrize("sentence", [["the", "cat", "runs"], ["fast", "dogs"], ["unseen"]])
def test_uncertainty_by_enumeration(tagger: Tagger, sentence: list[str]) -> None:
    labels, n = tagger.labels_, len(sentence)
    paths = list(itertools.product(labels, repeat=n))
    share = np.exp(tagger.log_probability([sentence] * len(paths), [list(path) for path in paths]))
    assert share.sum() == pytest.approx(1, abs=1e-5)
    first, second = sorted(share.tolist(), reverse=True)[:2]
    marginal = [[share[[path[i] == label for path in paths]].sum() for label in labels] for i in range(n)]
    entropy = np.mean([-sum(p * math.log(p) for p in row) for row in marginal]) / math.log(len(labels))
    expected = {
        "confidence": 1 - first ** (1 / n),
        "margin": 1 / (1 + math.log(first) - math.log(second)),
        "entropy": entropy,
    }
    for by, value in expected.items():
        (found,) = uncertainties(tagger.model_, corpus_of([sentence]), by)
        assert found == pytest.approx(value, abs=1e-4), by


def test_a_very_long_sentence_has_a_confidence(tagger: Tagger) -> None:
    """Its probability is smaller than any float; that of a token is not."""
    (found,) = uncertainties(tagger.model_, corpus_of([["unseen", "fast"] * 2000]))
    (short,) = uncertainties(tagger.model_, corpus_of([["unseen", "fast"] * 20]))
    assert 0 < found < 1
    assert found == pytest.approx(short, rel=0.1)


sentences = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=8)


def pairs(sentence: list[str]) -> set[tuple[str, str]]:
    return set(itertools.pairwise(["<", *sentence, ">"]))


def naive(
    given: list[list[str]], u: list[float], n: int, diversity: float, excluded: list[list[str]]
) -> list[tuple[int, float]]:
    """Every score of every sentence, again and again."""
    seen = set().union(*map(pairs, excluded)) if excluded else set()
    left = [s for s, sentence in enumerate(given) if sentence not in excluded]
    picked: list[tuple[int, float]] = []
    while left and len(picked) < n:
        new = {s: len(pairs(given[s]) - seen) / len(pairs(given[s])) for s in left}
        scores = {s: u[s] * new[s] ** diversity for s in left if new[s] > 0 or diversity == 0}
        if not scores:
            break
        best = min(scores, key=lambda s: (-scores[s], s))
        picked.append((best, scores[best]))
        seen |= pairs(given[best])
        left.remove(best)
    return picked


@given(sentences, st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=3), st.data())
def test_the_choice_is_that_of_trying_every_sentence(
    given: list[list[str]], excluded: list[list[str]], data: st.DataObject
) -> None:
    u = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75]), min_size=len(given), max_size=len(given)))
    n, diversity = data.draw(st.integers(1, 8)), data.draw(st.sampled_from([0.0, 1.0, 2.0]))
    pool, known = Pool(), Pool()
    pool.add(corpus_of(given), np.array(u))
    known.add(corpus_of(excluded), np.zeros(len(excluded)))
    found = pool.pick(n, diversity, known)
    assert [(one.sentence, one.score) for one in found] == naive(given, u, n, diversity, excluded)


def test_python_data(chunker: Tagger) -> None:
    sentences, _ = load_demo("test")
    given = [[], *sentences, sentences[0]]  # an empty sentence and a duplicate
    found = pick(chunker, given, len(given), by="margin")
    numbers = [one.sentence for one in found]
    assert 0 not in numbers
    assert not {1, len(given) - 1} <= set(numbers)
    assert numbers == [one.sentence for one in pick(chunker, given, len(given), by="margin")]
    assert found[0].score == max(one.score for one in found)
    rest = pick(chunker, given, 5, exclude=[given[numbers[0]]])
    assert numbers[0] not in [one.sentence for one in rest]
    for wrong in ({"n": 0}, {"diversity": -1.0}, {"by": "length"}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            pick(chunker, given, **wrong)  # type: ignore[arg-type]


def test_attributes_are_tokens_too() -> None:
    rows = [[{"w": word} for word in sentence] for sentence in X]
    made = Tagger(learner=Crf(optimiser="adagrad"), passes=2).fit(rows, Y)
    found = pick(made, [*rows, rows[0]], 10, diversity=1)
    assert len(found) == len(rows)


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    leave_demo(tmp_path)
    return Cli(tmp_path, capsys, monkeypatch)


def test_the_sentences_come_out_as_they_were(cli: Cli, chunker: Tagger) -> None:
    chunker.save(cli.folder / "c.palm")
    blocks = cli.read("test.txt").strip("\n").split("\n\n")
    columns = ["\n".join(line.rsplit(" ", 1)[0] for line in block.split("\n")) for block in blocks]
    cli.write("raw.txt", "\r\n\r\n".join(block.replace("\n", "\r\n") for block in columns) + "\r\n")
    out = cli.fine("pick c.palm raw.txt -n 7")
    picked = out.replace("\r\n", "\n").strip("\n").split("\n\n")
    assert len(picked) == 7
    assert set(picked) <= set(columns)
    assert [columns[one.sentence] for one in pick(chunker, load_demo("test")[0], 7)] == picked


def test_scores_exclusion_and_messages(cli: Cli, chunker: Tagger) -> None:
    chunker.save(cli.folder / "c.palm")
    cli.fine("pick c.palm test.txt -n 5 -o first.txt -q")
    done = cli("pick c.palm test.txt -n 100 --exclude first.txt --scores -o rest.txt")
    assert done.code == 0
    assert "picked only" in done.err
    rest = cli.read("rest.txt")
    notes = [line for line in rest.splitlines() if line.startswith("# uncertainty ")]
    assert len(notes) == len(rest.strip("\n").split("\n\n"))
    assert all(0 < float(line.split()[2]) < 1 for line in notes)
    assert not any(block in rest for block in cli.read("first.txt").strip("\n").split("\n\n"))
    assert cli("pick c.palm test.txt --uncertainty length").code == 2
    cli.fine("pick c.palm test.txt -n 1 -o one.txt --diversity 0 -q")
    assert len(cli.read("one.txt").strip("\n").split("\n\n")) == 1


def test_a_parser_is_no_tagger(cli: Cli) -> None:
    from palmette import Parser

    Parser(passes=1).fit(load_trees("train").take(np.arange(5))).save(cli.folder / "p.palm")
    done = cli("pick p.palm test.txt")
    assert done.code == 2
    assert "is a parser" in done.err


def test_json_lines_keep_their_keys(tmp_path: Path, tagger: Tagger) -> None:
    rows = [{"id": k, "tokens": sentence, "note": "é"} for k, sentence in enumerate([*X, []])]
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = pick_file(tagger, source, tmp_path / "b.jsonl", 3, scores=True)
    made = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row.pop("uncertainty") for row in made] == [round(one.uncertainty, 6) for one in found]
    assert made == [rows[one.sentence] for one in found]


def test_conllu_keeps_comments_ranges_and_empty_nodes(tmp_path: Path, tagger: Tagger) -> None:
    word = "{}\t{}\t_\t_\t_\t_\t_\t_\t_\t_\n".format
    one = "# id = 1\n" + word("1-2", "thedog") + word(1, "the") + word(2, "dog") + word("2.1", "is")
    two = "# id = 2\n# more\n" + word(1, "a")
    source = tmp_path / "a.conllu"
    source.write_text(one + "\n" + two + "\n", encoding="utf-8")
    pick_file(tagger, source, tmp_path / "b.conllu", 2, scores=True)
    text = (tmp_path / "b.conllu").read_text(encoding="utf-8")
    blocks = text.strip("\n").split("\n\n")
    assert sorted(block.split("\n", 1)[1] for block in blocks) == [one.rstrip("\n"), two.rstrip("\n")]
    assert all(block.startswith("# uncertainty = 0.") for block in blocks)
    assert read_corpus(tmp_path / "b.conllu").n_tokens == 3


def test_raw_text_stays_text(tmp_path: Path, tagger: Tagger) -> None:
    source = tmp_path / "a"
    source.write_text("The dog runs.\nA cat!\n", encoding="utf-8")
    pick_file(tagger, source, tmp_path / "b", 2, spec=FormatSpec(format="text"))
    assert sorted((tmp_path / "b").read_text(encoding="utf-8").splitlines()) == ["A cat!", "The dog runs."]
    source.write_text("The dog\nruns. A cat sleeps.", encoding="utf-8")
    pick_file(tagger, source, tmp_path / "b", 2, spec=FormatSpec(format="plain"))
    assert sorted((tmp_path / "b").read_text(encoding="utf-8").split("\n\n"))[1:] == ["A cat sleeps.", "The dog runs."]
