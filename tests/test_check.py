"""`palmette check`: each kind of finding from its definition, doubtful labels where mistakes are known, the command."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st
from naive_classify import is_wellformed

from palmette.data import SCHEMES, Corpus, FormatSpec, are_chunk_labels, column_of_strings
from palmette.datasets import demo_text
from palmette.errors import DataError, UsageError
from palmette.estimators import check
from palmette.estimators.data_check import DOUBTFUL, doubtful_labels, label_doubts
from palmette.evaluation import Finding
from palmette.evaluation.checks import LONG, bad_tags, folded, one_apart, problem_of
from palmette.evaluation.findings import KINDS, DataView
from palmette.evaluation.repetition_checks import RADIUS, overlap, repetitions, variations

Sentences = list[list[tuple[str, str]]]
sentences = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("XY")), min_size=1, max_size=4), max_size=8
)


def corpus_of(data: Sentences) -> Corpus:
    offset = np.concatenate(([0], np.cumsum([len(sentence) for sentence in data]))).astype(np.int64)
    tokens = [token for sentence in data for token in sentence]
    columns = [column_of_strings(word for word, _ in tokens)]
    return Corpus(offset, columns, column_of_strings(label for _, label in tokens), token_lines=np.arange(len(tokens)))


def kinds(path: Path, **options: object) -> dict[str, list[Finding]]:
    """The findings of a file by kind."""
    found = defaultdict(list)
    for finding in check(path, **options).findings:  # type: ignore[arg-type]
        found[finding.kind].append(finding)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


# Lines and cells


def test_lines_of_another_width_are_listed_and_do_not_stop(file: Path) -> None:
    file.write_text("a\tn\tX\nb\tX\nc\tn\tm\tX\nd\n\ne\tn\tX\n", encoding="utf-8")
    found = kinds(file)["columns"]
    assert [(finding.line, finding.details["found"]) for finding in found] == [(2, 2), (3, 4), (4, 1)]
    assert {finding.details["expected"] for finding in found} == {3}
    assert check(file).files[0].tokens == 5


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("", "empty"),
        ("New York", "white space inside (U+0020 space)"),
        ("10\u00a0000", "white space inside (U+00A0 no-break space)"),
        ("a\x07", "control character (U+0007)"),
        ("a\u200bb", "invisible character (U+200B zero width space)"),
        ("caf\ufffd", "U+FFFD replacement character: a wrong encoding?"),
        ("cafe\u0301", "not in NFC"),
        ("x" * (LONG + 1), "101 characters"),
        ("caf\u00e9", None),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", None),  # a joiner is a part of Persian words
        ("\U0001f469\u200d\U0001f52c", None),  # and of emoji
        ("x" * LONG, None),
    ],
)
def test_odd_cells(cell: str, problem: str | None) -> None:
    assert problem_of(cell) == problem


def test_odd_cells_have_places_and_counts(tmp_path: Path) -> None:
    rows = [{"tokens": ["a", "b c"], "tags": ["X", "Y"]}, {"tokens": ["b c", ""], "tags": ["X", "Y\u200b"]}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = {(finding.line, finding.details["column"]): finding.details["times"] for finding in kinds(path)["cells"]}
    assert found == {(1, "column 0"): 2, (2, "column 0"): 1, (2, "label"): 1}


def test_spaces_inside_may_be_the_custom(file: Path) -> None:
    words = [f"chủ {k}" for k in range(20)] + [f"w{k}" for k in range(500)] + [" chủ", "a  b", "a\u00a0b"]
    file.write_text("".join(f"{word}\tX\n" for word in words), encoding="utf-8")
    assert [finding.line for finding in kinds(file)["cells"]] == [521, 522, 523]
    file.write_text("".join(f"{word}\tX\n" for word in words[11:]), encoding="utf-8")  # nine words are not many
    assert len(kinds(file, top=None)["cells"]) == 12


def test_names_of_attributes_are_cells_too(tmp_path: Path) -> None:
    path = tmp_path / "a.crfsuite"
    path.write_text("X\tw=a\nY\tw=b c\td\n\nX\tw=a\nX\tw=b c\td\n\n", encoding="utf-8")
    found = kinds(path)
    assert [finding.line for finding in found["cells"]] == [2]
    assert [finding.line for finding in found["conflicts"]] == [2]


def test_trees_that_are_none(tmp_path: Path) -> None:
    def words(heads: list[str]) -> str:
        return "".join(f"{i}\tw\t_\tX\t_\t_\t{head}\tr\t_\t_\n" for i, head in enumerate(heads, 1)) + "\n"

    path = tmp_path / "a.conllu"
    path.write_text(words(["0", "1"]) + words(["2", "1"]) + words(["0", "3", "2"]), encoding="utf-8")
    found = [(finding.line, finding.details["problem"]) for finding in kinds(path)["trees"]]
    assert found == [
        (4, "no word has head 0, so the sentence has no root"),
        (8, "the heads form a cycle"),
    ]
    path.write_text(words(["_", "_"]), encoding="utf-8")
    assert check(path).files[0].counts["trees"] == 0


# Labels

tags = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-X"])


@given(st.lists(st.lists(tags, min_size=1, max_size=5), min_size=1, max_size=5))
def test_tag_sequences_are_clean_if_and_only_if_a_scheme_has_them(data: list[list[str]]) -> None:
    scheme, found = bad_tags(DataView(corpus_of([[("w", tag) for tag in sentence] for sentence in data])))
    fitting = [name for name in SCHEMES if all(is_wellformed(sentence, name) for sentence in data)]
    if not are_chunk_labels(itertools.chain.from_iterable(data)):
        assert not found
    else:
        assert bool(found) == (not fitting)
        assert not fitting or scheme in fitting


def test_bad_tags_are_shown_between_their_neighbours(file: Path) -> None:
    good = "a B-X\nb I-X\nc O\n\n" * 40
    file.write_text(good + "d O\ne I-X\nf I-X\n\n" + good + "g B-Y\nh I-X\n\n", encoding="utf-8")
    result = check(file)
    found = [finding for finding in result.findings if finding.kind == "tags"]
    assert [(finding.line, finding.details["labels"]) for finding in found] == [
        (162, ["O", "[I-X]", "I-X"]),
        (326, ["B-Y", "[I-X]", "|"]),
    ]
    assert result.files[0].scheme is None  # two of 82 chunks are more than one in a hundred


def test_few_labels_without_a_letter_are_odd_and_many_are_not(file: Path) -> None:
    file.write_text("a B-X\nb I-X\nc O\n\n" * 40 + "a X\n\n", encoding="utf-8")
    (found,) = kinds(file)["tags"]
    assert (found.line, found.details["label"]) == (161, "X")
    file.write_text("a B-X\nb I-X\nc O\n\n" * 4 + "a X\n\n", encoding="utf-8")
    assert not kinds(file)["tags"]


def test_unknown_labels_are_no_labels(file: Path) -> None:
    file.write_text("a A\nb B\nc A|B\nd ?\ne B\nf A\n\n", encoding="utf-8")
    assert not kinds(file)["once"]


def test_labels_once_and_spellings(file: Path) -> None:
    file.write_text("a B-PER\nb B-Per\nc B-PER\nd B_PER\ne PRP\nf PRP$\ng ''\nh ``\n\n" * 1, encoding="utf-8")
    found = kinds(file)
    assert {finding.details["label"] for finding in found["once"]} == {"B-Per", "B_PER", "PRP", "PRP$", "''", "``"}
    (spelling,) = found["spelling"]
    assert spelling.details["labels"] == {"B-PER": 2, "B-Per": 1, "B_PER": 1}
    assert spelling.line == 4
    assert folded("NN") != folded("NNS")
    assert "NFC" not in spelling.message
    file.write_text("a caf\u00e9\nb cafe\u0301\nc caf\u00e9\n\n", encoding="utf-8")
    (spelling,) = kinds(file)["spelling"]
    assert "which are equal in Unicode's NFC" in spelling.message


def test_rare_types_beside_frequent_ones(file: Path) -> None:
    file.write_text(
        "a B-PERSON\nb O\n\n" * 100 + "c B-PRESON\n\nd B-PERSON\n\n" + "e B-PERSONS\n\n" * 6, encoding="utf-8"
    )
    (found,) = kinds(file)["spelling"]  # PERSONS is too frequent for a slip of the pen
    assert found.details["labels"] == {"PERSON": 101, "PRESON": 1}
    assert found.line == 301


@given(st.text("ab", max_size=4), st.text("ab", max_size=4))
def test_one_apart_by_making_every_edit(a: str, b: str) -> None:
    made = {a[:i] + a[i + 1 :] for i in range(len(a))}
    made |= {a[:i] + c + a[i:] for i in range(len(a) + 1) for c in "ab"}
    made |= {a[:i] + c + a[i + 1 :] for i in range(len(a)) for c in "ab"}
    made |= {a[:i] + a[i + 1] + a[i] + a[i + 2 :] for i in range(len(a) - 1)}
    assert one_apart(a, b) == (b in made - {a})


# The same words again


@given(sentences)
def test_duplicates_and_conflicts_are_those_of_the_definition(data: Sentences) -> None:
    starts = np.concatenate(([0], np.cumsum([len(sentence) for sentence in data]))).tolist()
    same, versions = defaultdict(list), defaultdict(set)
    for start, sentence in zip(starts, data, strict=False):
        same[tuple(sentence)].append(start)
        versions[tuple(word for word, _ in sentence)].add(tuple(sentence))
    duplicates, conflicts = repetitions(DataView(corpus_of(data)))
    expected = [group for group in same.values() if len(group) > 1]
    assert sorted(finding.details["lines"] for finding in duplicates) == sorted(expected)
    assert len(conflicts) == sum(len(own) > 1 for own in versions.values())
    for finding in conflicts:
        first, second = (data[starts.index(group[0])] for group in finding.details["lines"][:2])
        assert finding.details["differences"] == sum(x != y for x, y in zip(first, second, strict=True)) > 0


@given(sentences, sentences)
def test_overlap_is_that_of_the_definition(data: Sentences, other: Sentences) -> None:
    counts, found = overlap(DataView(corpus_of(data)), DataView(corpus_of(other)))
    here = {tuple(word for word, _ in sentence) for sentence in data}
    shared = [sentence for sentence in other if tuple(word for word, _ in sentence) in here]
    assert (counts.sentences, counts.shared) == (len(other), len(shared))
    assert sum(finding.details["equal_labels"] for finding in found) == sum(sentence in data for sentence in shared)
    assert [finding.details["tokens"] for finding in found] == sorted(map(len, shared), reverse=True)


@given(sentences)
def test_variation_by_comparing_all_windows(data: Sentences) -> None:
    """All tokens of a finding have equal contexts and not all one label; and wherever two tokens with equal neighbours
    differ, one of those with the same neighbours is in a finding."""
    tokens, windows = [], []
    first: set[tuple[str, ...]] = set()
    for sentence in data:
        words = [word for word, _ in sentence]
        fresh = tuple(words) not in first
        first.add(tuple(words))
        padded = ["|"] * RADIUS + words + ["|"] * RADIUS
        for i, (_, label) in enumerate(sentence):
            tokens.append(label)
            windows.append([padded[i + RADIUS - r : i + RADIUS + r + 1] for r in range(RADIUS + 1)] if fresh else None)
    reported = set()
    for finding in variations(DataView(corpus_of(data))):
        lines, radius = finding.details["lines"], finding.details["context"]
        for k in range(len(finding.details["words"])):
            own = [windows[line + k] for line in lines]
            assert all(window is not None and window[radius] == own[0][radius] for window in own)  # type: ignore[index]
            assert len({tokens[line + k] for line in lines}) > 1
            reported |= {line + k for line in lines}
    for a, b in itertools.combinations(range(len(tokens)), 2):
        x, y = windows[a], windows[b]
        if x is not None and y is not None and x[1] == y[1] and tokens[a] != tokens[b]:
            assert any(windows[t] is not None and windows[t][1] == x[1] for t in reported)  # type: ignore[index]


def test_variation_of_several_words_is_one_finding(file: Path) -> None:
    text = "p O\nq O\nNew B\nYork I\nr O\ns O\nx O\n\n"
    wrong = text.replace("New B", "New O").replace("York I", "York O").replace("x O", "y O")
    file.write_text(text + text.replace("x O", "z O") + wrong, encoding="utf-8")
    (found,) = kinds(file)["variation"]
    assert found.details["words"] == ["New", "York"]
    assert found.details["labels"] == [{"labels": ["B", "I"], "times": 2}, {"labels": ["O", "O"], "times": 1}]
    assert found.line == 19
    assert found.message.startswith("p q [New York] r s: B I (lines 3, 11) / O O (line 19)")


def test_variation_does_not_go_on_in_the_next_sentence(file: Path) -> None:
    """`b` ends two sentences and `c` begins the next ones, all with varying labels in equal contexts."""
    text = "x O\na O\nb {0}\n\nc {0}\nd O\ny O\n\n"
    file.write_text((text + text.replace("x", "z").replace("y", "w")).format("X") + text.replace("x", "u")
                    .replace("y", "v").format("Y"), encoding="utf-8")  # fmt: skip
    found = kinds(file)["variation"]
    assert sorted(finding.details["words"] for finding in found) == [["b"], ["c"]]


# Doubtful labels


def flipped(share: float, seed: int) -> tuple[str, set[int]]:
    """The demo corpus with some labels replaced by others at random, and the lines of these, from 1."""
    rng = np.random.default_rng(seed)
    lines = demo_text("train").split("\n")
    places = [k for k, line in enumerate(lines) if line]
    labels = sorted({lines[k].split(" ")[2] for k in places})
    drawn = rng.choice(places, round(share * len(places)), replace=False).tolist()
    for k in drawn:
        word, pos, label = lines[k].split(" ")
        lines[k] = f"{word} {pos} {rng.choice([other for other in labels if other != label])}"
    return "\n".join(lines), {k + 1 for k in drawn}


def test_most_flipped_labels_are_found(file: Path) -> None:
    """2% of the labels of the demo corpus (121) are wrong at random. At least 95% of them are listed. Of the most
    doubtful findings, as many as labels were flipped, at least 80% have such a label, and 90% of the first half."""
    text, wrong = flipped(0.02, 7)
    file.write_text(text, encoding="utf-8")
    noise = [finding for finding in check(file, noise=True, top=None).findings if finding.kind == "noise"]
    lines = [{finding.line + k for k in range(len(finding.details["words"]))} for finding in noise if finding.line]
    assert len(wrong & set().union(*lines)) >= 0.95 * len(wrong)
    hits = [bool(wrong & own) for own in lines[: len(wrong)]]
    assert np.mean(hits) >= 0.8
    assert np.mean(hits[: len(wrong) // 2]) >= 0.9
    doubts = [finding.details["probability"] for finding in noise]
    assert doubts == sorted(doubts)
    assert doubts[-1] < DOUBTFUL


def test_doubts_do_not_depend_on_threads_but_on_the_seed(file: Path) -> None:
    file.write_text("\n\n".join(demo_text("train").split("\n\n")[:60]) + "\n\n", encoding="utf-8")
    from palmette.data import read_corpus

    corpus = read_corpus(file)
    one, two, other = (label_doubts(corpus, 3, threads=t, seed=s) for t, s in ((1, 1), (2, 1), (1, 2)))
    assert one.probability.tobytes() == two.probability.tobytes()
    assert one.guess.tobytes() == two.guess.tobytes()
    assert one.probability.tobytes() != other.probability.tobytes()
    every = doubtful_labels(DataView(corpus), one, below=2.0)
    assert corpus.labels is not None
    assert sum(len(finding.details["words"]) for finding in every) == (one.guess != corpus.labels.ids).sum()


def test_too_few_sentences_for_the_folds(file: Path) -> None:
    file.write_text("a X\n\nb Y\n\n", encoding="utf-8")
    with pytest.raises(UsageError, match="5 folds of 2 sentences"):
        check(file, noise=True)


# The record and the command


def test_the_record_is_plain_and_complete(file: Path) -> None:
    file.write_text("".join(f"{w} X\n\n" * 2 for w in "abcdef") + "a Y\n\n", encoding="utf-8")
    result = check(file, top=2)
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    one = result.files[0]
    assert one.counts["duplicates"] == 6
    assert sum(finding.kind == "duplicates" for finding in one.findings) == 2
    assert set(one.counts) <= set(KINDS)
    assert not result.clean
    assert check(file, skip=("duplicates", "conflicts", "once")).clean
    with pytest.raises(UsageError, match="there is no kind 'nothing'"):
        check(file, skip=["nothing"])
    with pytest.raises(UsageError, match="at least one file"):
        check()


def test_clean_data_is_clean(file: Path) -> None:
    file.write_text(demo_text("train"), encoding="utf-8")
    result = check(file)
    assert result.clean
    assert result.files[0].scheme == "IOB2"
    assert set(result.files[0].counts) == set(KINDS) - {"overlap", "labels", "noise", "trees", "spans"}


def test_text_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["a"]}\n{"tokens": ["a"]}\n', encoding="utf-8")
    assert check(path).files[0].counts == {"cells": 0, "duplicates": 1}
    with pytest.raises(DataError, match="no labels to doubt"):
        check(path, noise=True)
    raw = tmp_path / "raw"
    raw.write_text("One line .\nOne line .\n", encoding="utf-8")
    assert check(raw, spec=FormatSpec(format="text")).files[0].counts["duplicates"] == 1
    raw.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="no sentence"):
        check(raw)


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def test_the_command(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    cli.write("train.txt", "a n X\nb X\n\nLorem n X\nipsum n Y\n\n" + "a n X\n\n" * 2)
    cli.write("test.txt", "Lorem n X\nipsum n X\n\nnew n Y\n\n")
    shown = cli.fine("check train.txt --against test.txt")
    assert max(map(len, shown.splitlines())) <= 80
    assert "sentences of test.txt that are in it: 1 of 2 (50.0%)" in shown
    assert "test.txt:1 (different labels): Lorem ipsum" in shown
    assert "2 cells where 3 are expected" in shown
    assert cli("check train.txt --strict").code == 1
    assert cli("check test.txt --strict --skip once,variation").code == 0
    assert cli("check missing.txt").code == 1
    assert cli("check train.txt --skip x").code == 2
    assert cli.fine("check train.txt -q") == ""
    record = json.loads(cli.fine("check train.txt test.txt --json --top 1"))
    assert [one["file"] for one in record["files"]] == ["train.txt", "test.txt"]
    assert record["files"][0]["counts"]["columns"] == 1
    assert not record["clean"]


def test_the_command_on_doubtful_labels(cli: Cli) -> None:
    text, _ = flipped(0.02, 3)
    cli.write("a.txt", "\n\n".join(text.split("\n\n")[:80]) + "\n\n")
    shown = cli("check a.txt --noise --folds 3 --top 4 --skip tags,variation,once")
    assert shown.code == 0
    assert "4 shown" in shown.out
    rows = re.split(r"probability *\n", shown.out, maxsplit=1)[1].split("\n\n")[0].rstrip().splitlines()
    assert [float(row.split()[-1]) for row in rows if row[:1].isdigit()] == sorted(
        float(row.split()[-1]) for row in rows if row[:1].isdigit()
    )


def test_spans_that_training_drops_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann Lee left.\n", encoding="utf-8")
    (tmp_path / "a.ann").write_text("T1\tPER 0 7\tAnn Lee\nT2\tPER 4 7\tLee\n", encoding="utf-8")
    spans = [{"start": 0, "end": 8, "label": "PER"}, {"start": 90, "end": 95, "label": "PER"}]
    tasks = [{"text": "Ann Lee left.", "spans": spans}, {"text": "No.", "spans": [], "answer": "reject"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    reasons = {}
    for name in (".", "a.ann", "a.jsonl"):
        (one,) = check(tmp_path / name, spec=FormatSpec(format="prodigy" if name == "a.jsonl" else "brat")).files
        reasons[name] = {finding.details["reason"] for finding in one.findings if finding.kind == "spans"}
        assert one.counts["spans"] == len(reasons[name])
        assert one.sentences == 1
    assert reasons == {".": {"nested"}, "a.ann": {"nested"}, "a.jsonl": {"trimmed", "outside"}}
