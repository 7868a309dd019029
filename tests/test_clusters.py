"""Clusters of words from raw text: the kernels against their definitions, files, and models that hold clusters."""

from __future__ import annotations

import gzip
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from palmette import Parser, Pipeline, Tagger
from palmette.cli import main
from palmette.datasets import load_trees
from palmette.errors import DataError, ModelError, UsageError
from palmette.features import Clusters, Resources, read_clusters
from palmette.features.raw_words import RawCounts, count_words
from palmette.kernels.learning.clusters import CONTEXTS, exchange, merge_classes, merge_losses
from palmette.parsing.model import encode
from palmette.reports.inspection import inspect_tagger
from palmette.structures.chain.explain import attribute_words
from palmette.training import learn_clusters
from palmette.training.clusters import Exchange, n_log_n, tree_paths
from tests.naive_clusters import END, RARE, merge_loss, objective, objectives, streamed

NAMES = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Finn"]
VERBS, PLACES = ["saw", "met", "heard"], ["Rome", "Oslo", "Bonn"]


def text(n: int, seed: int = 1) -> list[list[str]]:
    """Sentences such as `Ann met Bob in Rome .`"""
    draw = random.Random(seed)
    pick = draw.choice
    ends = [["."], *(["in", place, "."] for place in PLACES)]
    return [[pick(NAMES), pick(VERBS), pick(NAMES), *pick(ends)] for _ in range(n)]


def write(path: Path, lines: list[list[str]]) -> Path:
    path.write_text("\n".join(" ".join(line) for line in lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> RawCounts:
    path = write(tmp_path_factory.mktemp("raw") / "text.txt", text(60))
    return count_words([path], min_count=2, most_words=100, unicode="nfc")


def classes_of(counts: RawCounts, of: np.ndarray) -> dict[str, int]:
    return dict(zip((END, RARE, *counts.words), of.tolist(), strict=True))


# --- counts ---------------------------------------------------------------------------------------------------


def test_words_and_their_neighbours_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a b a, c\n\nb  a\tb\r\n zzz\n", encoding="utf-8")
    found = count_words([path], min_count=2, most_words=9, unicode="nfc")
    assert found.words == ["a", "b"]  # the comma, c and zzz are rare
    assert found.counts.tolist() == [3, 3]
    words = streamed([["a", "b", "a", ",", "c"], ["b", "a", "b"], ["zzz"]], "ab")
    numbers = [[END, RARE, "a", "b"].index(word) for word in words]
    expected = np.zeros((4, 4), int)
    for one, other in pairwise(numbers):
        expected[one, other] += 1
    pairs = found.pairs
    table = np.zeros((4, 4), int)
    for w in range(4):
        places = slice(pairs.after_ptr[w], pairs.after_ptr[w + 1])
        table[w, pairs.after[places]] = pairs.after_count[places]
        places = slice(pairs.before_ptr[w], pairs.before_ptr[w + 1])
        assert np.bincount(pairs.before[places], pairs.before_count[places], 4).tolist() == expected[:, w].tolist()
    assert table.tolist() == expected.tolist()


def test_counts_do_not_depend_on_the_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: RawCounts) -> None:
    monkeypatch.setattr("palmette.features.raw_words.BLOCK", 50)
    path = write(tmp_path / "text.txt", text(60))
    (tmp_path / "text.gz").write_bytes(gzip.compress(path.read_bytes()))
    again = count_words([tmp_path / "text.gz"], min_count=2, most_words=100, unicode="nfc")
    assert again.words == counts.words
    assert again.counts.tolist() == counts.counts.tolist()
    for one, other in zip(again.pairs, counts.pairs, strict=True):
        assert one.tolist() == other.tolist()


def test_too_many_pairs_make_the_rarest_words_rare(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "text.txt", text(60))
    few = count_words([path], min_count=1, most_words=100, unicode="nfc", most_pairs=40)
    every = count_words([path], min_count=1, most_words=100, unicode="nfc")
    assert few.pairs.after.size <= 40 < every.pairs.after.size
    assert f"the {len(few.words)} most frequent words are clustered" in caplog.text
    assert 2 <= len(few.words) < len(every.words)
    assert few.words == every.words[: len(few.words)]
    assert few.pairs.often.sum() == every.pairs.often.sum()


# --- the exchange ---------------------------------------------------------------------------------------------


def test_each_move_is_to_the_best_class(counts: RawCounts) -> None:
    """Word by word, in batches of one: F is largest in the class where the word comes to be, and grows by what the
    kernel says."""
    learning = Exchange(counts, 3, 1, batch=1)
    classes, member = learning.classes[0], learning.team.members[0]
    words = streamed(text(60), counts.words)
    moves = 0
    for _ in range(3):
        for w, word in enumerate(counts.words, CONTEXTS):
            before = classes_of(counts, classes.of)
            told = classes.told[0]
            exchange(member, counts.pairs, classes, learning.table, learning.best, w, w + 1)
            possible = objectives(words, before, word, range(3))
            now = int(classes.of[w])
            assert possible[now] == pytest.approx(max(possible.values()), abs=1e-6)
            assert classes.told[0] - told == pytest.approx(possible[now] - possible[before[word]], abs=1e-6)
            moves += now != before[word]
    assert moves == classes.told[1] > 3


def test_the_table_follows_the_moves(counts: RawCounts) -> None:
    learning = Exchange(counts, 4, 2, batch=4)
    before = objective(streamed(text(60), counts.words), classes_of(counts, learning.classes[0].of))
    while learning.run(1, 1, None):
        pass
    for classes in learning.classes[: 1 if learning._behind else 2]:
        of, K = classes.of, classes.size.size
        table = np.zeros((K, K), int)
        for w in range(of.size):
            places = slice(counts.pairs.after_ptr[w], counts.pairs.after_ptr[w + 1])
            np.add.at(table[of[w]], of[counts.pairs.after[places]], counts.pairs.after_count[places])
        assert classes.pairs.tolist() == table.tolist() == classes.turned.T.tolist()
        after = objective(streamed(text(60), counts.words), classes_of(counts, of))
        assert after - before == pytest.approx(classes.told[0], rel=1e-9)
        assert after > before


def test_threads_do_not_change_the_clusters(tmp_path: Path) -> None:
    path = write(tmp_path / "text.txt", text(200))
    one, two = (learn_clusters(path, classes=4, threads=threads) for threads in (1, 2))
    assert one == two


# --- the tree -------------------------------------------------------------------------------------------------


def test_merges_lose_least(counts: RawCounts) -> None:
    learning = Exchange(counts, 6, 1)
    classes = learning.classes[0]
    words, of = streamed(text(60), counts.words), classes_of(counts, classes.of)
    pairs, turned, size, table = classes.pairs.copy(), classes.turned.copy(), classes.size.copy(), n_log_n()
    losses, alive = np.zeros((6, 6)), np.ones(6, bool)
    merge_losses(pairs, turned, size, table, losses, 0, 6)
    while alive.sum() > 1:
        there = np.flatnonzero(alive).tolist()
        expected = {(a, b): merge_loss(words, of, a, b) for a in there for b in there if a < b}
        for (a, b), loss in expected.items():
            assert losses[a, b] == pytest.approx(loss, abs=1e-6)
        merged = np.zeros((1, 2), np.int32)
        merge_classes(pairs, turned, size, table, losses, alive, merged)
        a, b = merged[0].tolist()
        assert expected[a, b] == pytest.approx(min(expected.values()), abs=1e-6)
        of = {word: a if c == b else c for word, c in of.items()}


def test_paths_are_those_of_a_binary_tree(counts: RawCounts) -> None:
    classes = Exchange(counts, 6, 1).classes[0]
    paths = tree_paths(classes)
    assert len(set(paths)) == 6
    assert sum(2.0 ** -len(path) for path in paths) == 1.0  # complete, and none begins another one
    assert not any(a != b and b.startswith(a) for a in paths for b in paths)


# --- files and models -----------------------------------------------------------------------------------------


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = learn_clusters(write(tmp_path / "text.txt", text(100)), classes=4, name="words")
    found.save(tmp_path / "clusters.tsv")
    path, word, count = (tmp_path / "clusters.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert (path, int(count)) == (found.classes[word], found.counts[word])
    again = read_clusters(tmp_path / "clusters.tsv", "words")
    assert (again.classes, again.paths) == (found.classes, True)


def test_models_hold_clusters_in_few_bytes() -> None:
    draw = random.Random(1)
    letters = "etaoinshrdlucm"
    made = ["".join(draw.choices(letters, k=draw.randint(3, 11))) for _ in range(20_000)]
    words = {word: f"{draw.randrange(1000):010b}" for word in made}
    plain = Resources(clusters={"a": Clusters("a", words, paths=True, counts=dict.fromkeys(words, 1))}).to_dict()
    assert set(plain["clusters"]["a"]) == {"name", "paths", "packed"}
    assert len(plain["clusters"]["a"]["packed"]) < 15 * len(words)
    again = Resources.from_dict(plain).clusters["a"]
    assert (again.classes, again.paths) == (words, True)


@pytest.mark.parametrize("packed", [b"short", (9).to_bytes(8, "little") + b"xxx", (1 << 60).to_bytes(8, "little")])
def test_damaged_clusters_are_model_errors(packed: bytes) -> None:
    with pytest.raises(ModelError, match="'a' cannot be read"):
        Clusters("a", {}, True, packed)


def test_a_tagger_learns_clusters_from_raw_text_first(tmp_path: Path) -> None:
    raw = write(tmp_path / "text.txt", text(200))
    X = [[(word,) for word in line] for line in text(20, seed=2)]
    y = [["name" if word in NAMES else "other" for (word,) in line] for line in X]
    tagger = Tagger(features="pos", raw=raw, passes=2).fit(X, y)
    held = tagger.model_.encoder.resources.clusters["raw"]
    assert held.classes == learn_clusters(raw).classes
    tagger.save(tmp_path / "m.palm")
    again = Tagger.load(tmp_path / "m.palm")
    assert again.model_.encoder.resources.clusters["raw"].classes == held.classes
    session = again.session()
    other = Tagger(features="pos", clusters={"raw": learn_clusters(raw)}, passes=2).fit(X, y)
    labels = tagger.predict(X)
    assert labels == again.predict(X) == other.predict(X) == [session.tag(line) for line in X]
    with pytest.raises(UsageError, match="'raw': choose another name"):
        other.set_params(raw=[raw]).fit(X, y)


def test_a_word_that_training_does_not_have_is_known_by_its_class() -> None:
    X = [[(word,) for word in line] for line in text(40, seed=2) if "Eve" not in line]
    y = [["name" if word in NAMES else "other" for (word,) in line] for line in X]
    of = {word: label for words, label in ((NAMES, "00"), (VERBS, "01"), (PLACES, "1")) for word in words}
    tagger = Tagger(features="pos", clusters={"c": Clusters("", of, paths=True)}, passes=3).fit(X, y)
    assert tagger.predict([[("Eve",), ("met",), ("Eve",), (".",)]]) == [["name", "other", "name", "other"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"min_count": 1000}, "0 of its words occur 1000 times"), ({"classes": 500}, "500 classes for 1. words")],
)
def test_errors_say_what_to_do(tmp_path: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        learn_clusters(write(tmp_path / "text.txt", text(60)), **options)


# --- parsers and pipelines ------------------------------------------------------------------------------------


def test_a_parser_reads_clusters(tmp_path: Path) -> None:
    """Templates of clusters alone cannot tell words of one cluster apart, and other words have none."""
    bank = load_trees()
    of = {form: "01101" if form < "m" else "0111" for form in sorted(set(bank.forms.types))[::2]}
    templates = tmp_path / "templates.txt"
    templates.write_text("s0.c4 s1.c\nq0.c4\n", encoding="utf-8")
    parser = Parser(features=str(templates), clusters={"c": Clusters("", of, paths=True)}, passes=1).fit(bank)
    cells = encode(bank, parser.model_.templates, [], "nfc", gold=False).cells
    labels = [of.get(form, of.get(form.lower(), "_")) for form in bank.forms.cells()]
    for row, size in zip(cells, (4, None), strict=True):
        number = {label[:size]: value for label, value in zip(labels, row.tolist(), strict=True)}
        assert row.tolist() == [number[label[:size]] for label in labels]
        assert len(set(number.values())) == len(number)
    parser.save(tmp_path / "p.palm")
    again = Parser.load(tmp_path / "p.palm")
    assert again.model_.templates.clusters.classes == of
    sentences = [[("the",), ("rain",)], [("roses",)]]
    assert again.predict(sentences) == parser.predict(sentences)


def test_named_sets_of_parsers_get_templates_of_clusters(tmp_path: Path) -> None:
    bank, of = load_trees(), Clusters("c", {"the": "0110"}, paths=True)
    parser = Parser("basic", clusters={"c": of}, passes=1).fit(bank)
    assert "s0.c4 s1.c4" in parser.model_.templates.text
    assert len(Parser("basic", passes=1).fit(bank).model_.templates.lists) < len(parser.model_.templates.lists)
    with pytest.raises(UsageError, match="a parser reads one: a, b are given"):
        Parser("basic", clusters={"a": of, "b": of}).fit(bank)
    (tmp_path / "t.txt").write_text("s0.c\n", encoding="utf-8")
    with pytest.raises(UsageError, match="read clusters, and none are given"):
        Parser(str(tmp_path / "t.txt")).fit(bank)


def test_a_pipeline_reads_clusters(tmp_path: Path) -> None:
    bank = load_trees()
    raw = tmp_path / "raw.txt"
    raw.write_text((" ".join(bank.forms.cells()) + "\n") * 3, encoding="utf-8")
    pipeline = Pipeline(components=("tag", "parse"), raw=str(raw), passes=1, jackknife=False, full=True).fit(bank)
    pipeline.save(tmp_path / "p.palm")
    again = Pipeline.load(tmp_path / "p.palm")
    held = again.model_.component("tag").upos_.encoder.resources.clusters["raw"]
    assert held.classes == learn_clusters(raw).classes
    assert again.model_.component("parse").parser.model_.templates.clusters.classes == held.classes
    assert again.model_.meta.settings["raw"] is True


# --- what people see ------------------------------------------------------------------------------------------


def test_inspect_and_explain_show_words_of_clusters() -> None:
    X = [[(word,) for word in line] for line in text(40, seed=2)]
    y = [["name" if word in NAMES else "other" for (word,) in line] for line in X]
    of = {word: label for words, label in ((NAMES, "00"), (VERBS, "01"), (PLACES, "1")) for word in words}
    tagger = Tagger(features="pos", clusters={"c": Clusters("", of, paths=True)}, passes=2).fit(X, y)
    found = inspect_tagger(tagger, 30)
    assert found.about["cluster_examples"]["c"]["examples"] == {"00": NAMES[:5], "01": VERBS, "1": PLACES}
    assert (
        "c: 12 words in 3 classes, such as 00 Ann Bob Cleo Dan Eve; 01 saw met heard; 1 Rome" in found.facts["clusters"]
    )
    shown = attribute_words(tagger.model_)
    assert shown("U:cluster:c[0]=00") == "cluster:c[0]=00 (as Ann Bob Cleo)"
    assert shown("U:cluster:c:4[-1]=1") == "cluster:c:4[-1]=1 (as Rome Oslo Bonn)"
    assert any("(as Ann Bob Cleo)" in row["name"] for row in found.about["top"]["name"])


@pytest.mark.parametrize("how", [[], ["--json"], ["--quiet"]])
def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], how: list[str]) -> None:
    raw, out = str(write(tmp_path / "a.txt", text(100))), str(tmp_path / "c.tsv")
    main(["cluster", raw, raw, "-o", out, "--classes", "4", "--threads", "1", *how])
    said = capsys.readouterr()
    assert len((tmp_path / "c.tsv").read_text(encoding="utf-8").splitlines()) == 14
    assert ('"classes": 4' in said.out) == (how == ["--json"])
    assert ("14 words in 4 classes" in said.err) == (how == [])
    train = tmp_path / "train.txt"
    rows = ("".join(f"{word} {'name' if word in NAMES else 'other'}\n" for word in line) for line in text(20))
    train.write_text("\n".join(rows), encoding="utf-8")
    words = ["train", str(train), "--raw", raw, raw, "-o", str(tmp_path / "m.palm"), "--passes", "1", "-q"]
    main([*words, "--clusters", f"words={out}", "--force"])
    clusters = Tagger.load(tmp_path / "m.palm").model_.encoder.resources.clusters
    assert set(clusters) == {"words", "raw"}
