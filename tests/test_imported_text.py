"""Text models of Wapiti and CRF++: they reproduce what the tools print and follow the definitions; damaged ones are
errors."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_double import Model, Token, log_sum, path_scores, viterbi
from strategies import few

from palmette import Tagger
from palmette.cli import main
from palmette.connect.wapiti_models import read_crfpp, read_wapiti
from palmette.data import read_corpus
from palmette.errors import ModelError, UsageError
from palmette.structures import confidence_of, gold_and_guess, items_of, spec_for


def run(*arguments: object) -> None:
    main([str(one) for one in arguments])


# --- reference outputs ---------------------------------------------------------------------------------------


def blocks_of(text: str) -> list[list[str]]:
    """Lines between blank ones."""
    return [block.split("\n") for block in text.strip("\n").replace("\n\n\n", "\n\n").split("\n\n")]


def ranked(blocks: list[list[str]]) -> list[list[tuple[float, list[list[str]]]]]:
    """The candidates of each sentence: score, and the TAB-separated cells of each line."""
    found: list[list[tuple[float, list[list[str]]]]] = []
    for head, *lines in blocks:
        _, rank, score = head.split()
        if rank == "0":
            found.append([])
        found[-1].append((float(score), [line.split("\t") for line in lines]))
    return found


def columns(path: Path) -> list[list[tuple[str, ...]]]:
    return [[tuple(line.split()) for line in block] for block in blocks_of(path.read_text())]


def test_wapiti_labels(corpora: Path, tmp_path: Path) -> None:
    folder = corpora / "downstream"
    run("tag", folder / "grobid-date.wapiti", folder / "grobid-date.input.txt", "-o", tmp_path / "out.txt")
    found = blocks_of((tmp_path / "out.txt").read_text())
    expected = blocks_of((folder / "wapiti-labels.txt").read_text())
    assert [[line.split()[-1] for line in block] for block in found] == [
        [line.split("\t")[-1] for line in block] for block in expected
    ]
    tagger = Tagger.load(folder / "grobid-date.wapiti")
    session = tagger.session()
    assert [session.tag(s) for s in columns(folder / "grobid-date.input.txt")] == [
        [line.split("\t")[-1] for line in block] for block in expected
    ]


def test_wapiti_posteriors(corpora: Path) -> None:
    """`-p` takes the label with the largest posterior at each token; the score is the product of these."""
    folder = corpora / "downstream"
    tagger = Tagger.load(folder / "grobid-date.wapiti")
    expected = ranked(blocks_of((folder / "wapiti-posteriors.txt").read_text()))
    items = items_of(tagger.model_, columns(folder / "grobid-date.input.txt"))
    decoded = tagger.model_.decode(items.corpus, "marginal")
    sure = confidence_of(tagger.model_, items.corpus, decoded.labels).tokens
    cuts = items.corpus.offset.tolist()
    for s, ((score, lines),) in enumerate(expected):
        lo, hi = cuts[s : s + 2]
        assert [tagger.labels_[k] for k in decoded.labels[lo:hi]] == [cells[1] for cells in lines]
        assert [f"{p:.6f}" for p in sure[lo:hi]] == [cells[2].rpartition("/")[2] for cells in lines]
        assert f"{math.exp(decoded.scores[s]):.6f}" == f"{score:.6f}"


def test_wapiti_three_best(corpora: Path) -> None:
    folder = corpora / "downstream"
    tagger = Tagger.load(folder / "grobid-date.wapiti")
    text = gzip.decompress((folder / "wapiti-3best.txt.gz").read_bytes()).decode()
    found = tagger.nbest(columns(folder / "grobid-date.input.txt"), 3)
    for own, expected in zip(found, ranked(blocks_of(text)), strict=True):
        assert [f"{one.score:.6f}" for one in own] == [f"{score:.6f}" for score, _ in expected[: len(own)]]
        if len({f"{score:.6f}" for score, _ in expected}) == 3:  # ties have no order
            assert [one.output for one in own] == [[cells[1] for cells in lines] for _, lines in expected]


def test_crfpp_verbose_two_best(corpora: Path) -> None:
    """`-v2 -n 2`: probabilities of sequences, and of every label at every token."""
    folder = corpora / "downstream"
    tagger = Tagger.load(folder / "crfpp.model.txt.gz")
    text = gzip.decompress((folder / "crfpp-expected.txt.gz").read_bytes()).decode()
    expected = ranked(blocks_of(text))
    sentences = [[tuple(row[:2]) for row in s] for s in columns(folder / "crfpp-input.txt")]
    assert tagger.predict(sentences) == [[cells[3].partition("/")[0] for cells in own[0][1]] for own in expected]
    tables = tagger.predict_marginals(sentences)
    for own, table, listed in zip(expected, tables, tagger.nbest(sentences, 2), strict=True):
        assert [one.output for one in listed] == [[cells[3].partition("/")[0] for cells in lines] for _, lines in own]
        assert [f"{one.probability:.6f}" for one in listed] == [f"{p:.6f}" for p, _ in own]
        for row, cells in zip(table, own[0][1], strict=True):
            printed = dict(cell.rpartition("/")[::2] for cell in cells[4:])
            assert list(printed) == tagger.labels_
            for label, digits in printed.items():
                assert f"{row[label]:.6f}" == digits


# --- by definition -------------------------------------------------------------------------------------------

LABELS = ["A", "B", "Ö"]
WORDS = st.sampled_from(["x", "y", "zz", "ü"])
PATTERNS = ["u0:%x[0,0]", "u1:%x[-1,0]/%x[1,0]", "*2:%x[0,0]", "b3:%x[0,0]", "b", "*"]


def netstring(text: str) -> str:
    return f"{len(text.encode())}:{text},\n"


def spelt(pattern: str, words: list[str], i: int) -> str:
    def cell(k: int) -> str:
        if 0 <= k < len(words):
            return words[k]
        return f"_x-{-k}" if k < 0 else f"_x+{k - len(words) + 1}"

    return pattern.replace("%x[0,0]", cell(i)).replace("%x[-1,0]", cell(i - 1)).replace("%x[1,0]", cell(i + 1))


def observations(patterns: list[str], sentences: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(spelt(p, s, i) for s in sentences for i in range(len(s)) for p in patterns))


def wapiti_text(patterns: list[str], seen: list[str], weights: dict[int, float], kind: str = "2#") -> str:
    text = f"#mdl#{kind}{len(weights)}\n#rdr#{len(patterns)}/1/0\n" + "".join(map(netstring, patterns))
    text += f"#qrk#{len(LABELS)}\n" + "".join(map(netstring, LABELS)) + f"#qrk#{len(seen)}\n"
    return text + "".join(map(netstring, seen)) + "".join(f"{k}={w.hex()}\n" for k, w in sorted(weights.items()))


def naive_of(seen: list[str], theta: np.ndarray) -> tuple[Model, dict[str, int]]:
    """The model by Wapiti's numbering."""
    Y, at = len(LABELS), 0
    one: dict[tuple[int, int], float] = {}
    two: dict[tuple[int, int, int], float] = {}
    for a, name in enumerate(seen):
        if name[0] in "u*":
            one |= {(a, y): theta[at + y] for y in range(Y)}
            at += Y
        if name[0] in "b*":
            two |= {(a, x, y): theta[at + x * Y + y] for x in range(Y) for y in range(Y)}
            at += Y * Y
    return Model(Y, one, two, [[0.0] * Y for _ in range(Y)], [0.0] * Y), {name: a for a, name in enumerate(seen)}


def size_of(seen: list[str]) -> int:
    Y = len(LABELS)
    return sum({"u": Y, "b": Y * Y, "*": Y + Y * Y}[name[0]] for name in seen)


@few(0.5)
@given(
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=5),
    st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=2),
    st.randoms(use_true_random=False),
)
def test_wapiti_by_definition(patterns: list[str], train: list[list[str]], test: list[list[str]], random: Any) -> None:
    seen = observations(patterns, train)
    theta = np.array([random.choice([0.0, random.uniform(-2, 2)]) for _ in range(size_of(seen))])
    text = wapiti_text(patterns, seen, {k: w for k, w in enumerate(theta.tolist()) if w})
    model = read_wapiti(text.encode(), "made.wapiti")
    naive, numbers = naive_of(seen, theta)
    assert model.labels == LABELS
    tagger = Tagger()
    tagger.model_ = model
    for words in train + test:
        sentence = []
        for i in range(len(words)):
            own = [numbers[name] for p in patterns if (name := spelt(p, words, i)) in numbers]
            one = [(a, 1.0) for a in own if seen[a][0] in "u*"]
            sentence.append(Token(one, [(a, 1.0) for a in own if seen[a][0] in "b*"]))
        score, _ = viterbi(naive, sentence)
        assert model.session().tag_scored(words)[1] == pytest.approx(score, abs=1e-12)
        ((labels, found, probability),) = tagger.nbest([words], 1)[0]
        assert found == pytest.approx(score, abs=1e-12)
        scores = path_scores(naive, sentence)
        assert probability == pytest.approx(math.exp(score - log_sum(list(scores.values()))), abs=1e-12)
        assert scores[tuple(LABELS.index(label) for label in labels)] == pytest.approx(score, abs=1e-12)


def test_a_pattern_that_is_listed_twice_counts_twice() -> None:
    """As what incremental training of Wapiti writes: u=1 for A, b=1 for A after B, both twice at every token."""
    patterns = ["u0:%x[0,0]", "b", "*1"]
    text = wapiti_text(patterns * 2, ["u0:x", "b", "*1"], {0: 1.0, 6: 1.0, 18: 0.25})
    model = read_wapiti(text.encode(), "twice.wapiti")
    # A path of n tokens has 2 per A, 2 * 1 per pair B A, and 2 * 0.25 per pair A B.
    labels, score = model.session().tag_scored(["x", "y", "x"])
    assert labels == ["A", "B", "A"]
    assert score == 2 + 2 + 0.5 + 2
    once = read_wapiti(wapiti_text(patterns, ["u0:x", "b", "*1"], {0: 1.0, 6: 1.0, 18: 0.25}).encode(), "once.wapiti")
    assert once.session().tag_scored(["x", "y", "x"])[1] == score / 2


def crfpp_text(templates: list[str], seen: list[str], weights: list[float], factor: str = "1") -> str:
    Y, at, lines = len(LABELS), 0, []
    for name in seen:
        lines.append(f"{at} {name}\n")
        at += Y if name[0] == "U" else Y * Y
    head = f"version: 100\ncost-factor: {factor}\nmaxid: {len(weights)}\nxsize: 1\n\n"
    parts = ["".join(f"{x}\n" for x in LABELS), "".join(f"{t}\n" for t in templates), "".join(lines[::-1])]
    return head + "\n".join(parts) + "\n" + "".join(f"{w:.16g}\n" for w in weights)


@few(0.5)
@given(
    st.lists(st.sampled_from(["U0:%x[0,0]", "U1:%x[0,0]", "U", "B", "B1:%x[0,0]"]), min_size=1, max_size=7),
    st.lists(WORDS, min_size=1, max_size=4),
    st.sampled_from(["1", "0.5"]),
    st.randoms(use_true_random=False),
)
def test_crfpp_by_definition(templates: list[str], words: list[str], factor: str, random: Any) -> None:
    Y = len(LABELS)
    seen = observations(templates, [words])
    weights = [random.uniform(-2, 2) for _ in range(sum(Y if name[0] == "U" else Y * Y for name in seen))]
    model = read_crfpp(crfpp_text(templates, seen, weights, factor).encode(), "made.txt")
    theta = np.array([struct.unpack("f", struct.pack("f", w))[0] * float(factor) for w in weights])
    one, two, at = {}, {}, 0
    for a, name in enumerate(seen):
        if name[0] == "U":
            one |= {(a, y): theta[at + y] for y in range(Y)}
        else:
            two |= {(a, x, y): theta[at + x * Y + y] for x in range(Y) for y in range(Y)}
        at += Y if name[0] == "U" else Y * Y
    naive = Model(Y, one, two, [[0.0] * Y for _ in range(Y)], [0.0] * Y)
    sentence = []
    for i in range(len(words)):
        own = [seen.index(spelt(t, words, i)) for t in templates]
        sentence.append(Token(*([(a, 1.0) for a in own if seen[a][0] == letter] for letter in "UB")))
    score, _ = viterbi(naive, sentence)
    _, found = model.session().tag_scored(words)
    assert found == pytest.approx(score, abs=1e-5)  # added in float32


# --- files -----------------------------------------------------------------------------------------------------

SEEN = ["u0:x", "b", "u0:y"]
WAPITI = wapiti_text(["u0:%x[0,0]", "b"], SEEN, {0: 1.0, 5: -0.5, 12: 0.25})
CRFPP = crfpp_text(["U0:%x[0,0]", "B"], ["U0:x", "B"], [0.5] * 12)


@pytest.mark.parametrize("text", [WAPITI, CRFPP], ids=["wapiti", "crfpp"])
def test_in_a_file_they_are_recognised(text: str, tmp_path: Path) -> None:
    for name, data in (("plain", text.encode()), ("dos", text.replace("\n", "\r\n").encode())):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    data = tmp_path / "data.txt"
    data.write_text("x N\ny V\n\ny N\n")
    outputs = set()
    for name in ("plain", "dos", "packed"):
        run("convert", tmp_path / name, "-o", tmp_path / "model.palm")
        for model in (tmp_path / name, tmp_path / "model.palm"):
            run("tag", model, data, "-o", tmp_path / "out.txt")
            outputs.add((tmp_path / "out.txt").read_text())
    (output,) = outputs
    tagger = Tagger.load(tmp_path / "plain")
    expected = tagger.predict([[("x",), ("y",)], [("y",)]])
    assert [[line.split()[-1] for line in block] for block in blocks_of(output)] == expected
    corpus = read_corpus(data, spec_for(tagger.model_, data, labelled=True))
    assert gold_and_guess(tagger.model_, corpus)[2][:3] == LABELS


def test_wapiti_without_a_type_is_a_crf() -> None:
    old = wapiti_text(["u0:%x[0,0]", "b"], SEEN, {0: 1.0}, kind="")
    assert read_wapiti(old.encode(), "old").exact.w.tolist() == [1.0]


def test_to_crfsuite_and_back(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_text(WAPITI)
    tagger = Tagger.load(path)
    tagger.save(tmp_path / "w.crfsuite")
    again = Tagger.load(tmp_path / "w.crfsuite")
    sentence = ["x", "y", "x"]
    assert again.session().tag([[f"u0:{word}"] for word in sentence]) == tagger.session().tag(sentence)
    path.write_text(wapiti_text(["b0:%x[0,0]"], ["b0:x"], {0: 1.0}))
    with pytest.raises(UsageError, match="1 attribute on label pairs"):
        Tagger.load(path).save(tmp_path / "w.crfsuite")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("#mdl#2#3", "#mdl#1#3", "Markov model; only conditional"),
        ("#mdl#2#3", "#mdl#2#4", "4 lines of weights should follow, and 3 do"),
        ("#mdl#2#3", "#mdl#x", r"w:1: .*#mdl#TYPE#COUNT"),
        ("#rdr#2/1/0", "#rdr#0/1/0", "no patterns"),
        ("#rdr#2/1/0", "#rdr", "#rdr#PATTERNS"),
        ("10:u0:%x[0,0],", "10:q0:%x[0,0],", "templates in the model cannot be read"),
        ("10:u0:%x[0,0],", "11:u0:%x[0,0],", "w:3: .*does not have the size"),
        ("1:A,", "1:B,", "the label 'B' occurs twice"),
        ("1:A,", "0:,", "an empty label"),
        ("4:u0:y,", "4:u0:x,", "the attribute 'u0:x' occurs twice"),
        ("4:u0:y,", "4:q0:y,", "neither u, b nor"),
        ("#qrk#3\n1:A", "#qrk#9999999999\n1:A", "should follow"),
        ("12=", "112=", "weight 112 of 15"),
        ("5=", "0=", "two weights for the same"),
        ("5=", "x=", "should begin with a number"),
        ("0x1.0000000000000p+0", "nan", "a weight is nan"),
        ("0x1.0000000000000p+0", "0x1p+5000", "a weight is not a number"),
        ("0x1.0000000000000p+0", "one", "w:13: .*not a number"),
    ],
)
def test_what_is_wrong_with_a_wapiti_model(old: str, new: str, message: str) -> None:
    assert old in WAPITI
    with pytest.raises(ModelError, match=message):
        read_wapiti(WAPITI.replace(old, new, 1).encode(), "w")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: 100", "version: 101", "version 101"),
        ("cost-factor: 1", "cost-factor: 1e999", "cost-factor: inf"),
        ("cost-factor: 1", "cost-factor: e", "cost-factor"),
        ("maxid: 12", "maxid: 13", "13 lines of weights"),
        ("maxid: 12", "maxid: 11", "attributes with 12 weights, and there are 11"),
        ("xsize: 1\n\n", "xsize: 1\n", "a blank line should follow"),
        ("A\n", "", "attributes with 6 weights, and there are 12"),
        ("A\n", "B\n", "occurs twice"),
        ("U0:%x[0,0]", "U0:%x[0", "templates in the model"),
        ("0 U0:x", "99 U0:x", "weights up to 102, and there are 12"),
        ("0 U0:x", "0 Q0:x", "neither U nor B"),
        ("0 U0:x", "U0:x", "should begin with a number"),
        ("0.5\n", "nan\n", "a weight is nan"),
        ("0.5\n", "half\n", "not a number on each line"),
    ],
)
def test_what_is_wrong_with_a_crfpp_model(old: str, new: str, message: str) -> None:
    assert old in CRFPP
    with pytest.raises(ModelError, match=message):
        read_crfpp(CRFPP.replace(old, new, 1).encode(), "c")


@few(3)
@given(st.booleans(), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=5), st.integers(0, 400))
def test_changed_and_truncated_text(wapiti: bool, changes: list[tuple[int, int]], size: int) -> None:
    data = bytearray((WAPITI if wapiti else CRFPP).encode())
    for place, byte in changes:
        data[place % len(data)] = byte
    kept = bytes(data[: len(data) - size % 60])
    try:
        model = (read_wapiti if wapiti else read_crfpp)(kept, "bad")
    except ModelError as error:
        if not str(error).startswith("bad"):
            raise
        return
    if model.encoder is not None and model.encoder.n_columns <= 1:
        assert len(model.session().tag(["x", "y"])) == 2
