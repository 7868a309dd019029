"""Training from disk gives the model of a training in memory that visits the sentences in the same order."""

from __future__ import annotations

import gzip
import io
import mmap
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, few

from palmette import Beam, Crf, Dplvm, Latent, MaxEnt, Tagger
from palmette.data import Scratch, read_corpus
from palmette.data.sources import FileSource, ItemSource
from palmette.data.subset import joined
from palmette.datasets import demo_text, load_demo
from palmette.errors import DataError, UsageError
from palmette.features import Encoder, Resources, named_set
from palmette.kernels.chain.forms import no_active
from palmette.structures import ChainModel
from palmette.structures.chain import mapped
from palmette.structures.chain.mapped import BlockOrder, MappedCorpus, shuffled_blocks
from palmette.structures.chain.weights import ARITIES
from palmette.training import ChainObjective, memory, trainer
from palmette.training.chain import objective
from palmette.training.chain.disk import MappedObjective
from palmette.training.chain.survey import LabelDigest

BLOCK, WINDOW = 16, 3


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of text and of sentences; trainings in memory take the same order of sentences."""
    monkeypatch.setattr("palmette.data.sources.FileSource.__init__.__defaults__", (3000,))
    monkeypatch.setattr("palmette.data.sources.SENTENCES", 40)
    monkeypatch.setattr(BlockOrder.__init__, "__defaults__", (BLOCK, WINDOW))
    monkeypatch.setattr(trainer, "shuffled", lambda seed, number, n: shuffled_blocks(seed, number, n, BLOCK, WINDOW)[0])


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text("".join(f"{text}\n\n" for text in demo_text("train").split("\n\n")[:250]))
    return path


def by_name(model: ChainModel) -> dict[str, bytes]:
    """The weights of each attribute, to the last bit."""
    found = {}
    for arity, names in model.names.items():
        if arity not in ARITIES:  # templates that read earlier labels have weights of their own
            found |= {f"{arity} {names[k]}": b"" for k in range(len(names))}
            continue
        rows = model.chain.weights[arity - 1]
        for k in range(len(names)):
            own = rows.w[rows.slot[k]] if not rows.first.size else rows.w[rows.first[k] : rows.first[k + 1]]
            found[f"{arity} {names[k]}"] = own.tobytes()
    assert len(found) == sum(index.size for index in model.feature_indexes.values())
    return found


def assert_same(one: Tagger, other: Tagger) -> None:
    a, b = one.model_, other.model_
    assert (a.labels, a.scheme, a.settings) == (b.labels, b.scheme, b.settings)
    assert by_name(a) == by_name(b)
    for mine, theirs in zip(a.chain.transitions, b.chain.transitions, strict=True):
        assert mine.w.tobytes() == theirs.w.tobytes()
    assert np.array_equal(a.vocabulary, b.vocabulary)
    assert a.meta["reading"] == b.meta["reading"]
    updates = [[(row["updates"], row["wrong"]) for row in tagger.training_log_] for tagger in (one, other)]
    assert updates[0] == updates[1]


CASES = {
    "perceptron": {"learner": "perceptron", "min_count": 2},
    "automatic": {"features": "chunk"},
    "most attributes": {"learner": "perceptron", "features": "chunk", "max_attributes": 10**6},
    "adagrad": {"learner": Crf(optimiser="adagrad"), "features": "ner"},
    "beam": {"learner": "perceptron", "search": Beam(4), "template": "context"},
    "pairs": {"learner": "perceptron", "template": "pairs", "min_count": 2},
    "latent": {"learner": "perceptron", "states": Latent(2), "features": "ngrams"},
}
TEMPLATES = {"context": "U0:%x[0,0]\nU1:%x[0,1]/%y[-1]\nB\n", "pairs": "*0:%x[0,1]\nU1:%x[0,0]\nB\n"}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_a_training_in_memory(train: Path, tmp_path: Path, case: str) -> None:
    settings = {"passes": 2, "dev_share": 0.0, **CASES[case]}
    if settings.get("template") in TEMPLATES:
        path = tmp_path / "templates.txt"
        path.write_text(TEMPLATES[str(settings["template"])])
        settings["template"] = str(path)
    kept = tmp_path / "scratch"
    kept.mkdir()
    streamed = Tagger(**settings, out_of_core=True, scratch=str(kept)).fit_file(train)
    whole = Tagger(**settings, out_of_core=False).fit_file(train)
    assert_same(streamed, whole)
    assert list(kept.iterdir()) == []
    X = load_demo("test")[0]
    assert streamed.predict(X) == whole.predict(X)
    assert streamed.evaluate(read_corpus(train)).accuracy > 0.85


@pytest.mark.usefixtures("small_blocks")
def test_rare_attributes_beside_the_most_frequent_ones(train: Path) -> None:
    whole = Tagger("ngrams", learner="perceptron", passes=1, min_count=2, max_attributes=300, out_of_core=True)
    assert sum(index.size for index in whole.fit_file(train).model_.feature_indexes.values()) <= 300


@pytest.mark.usefixtures("small_blocks")
def test_several_files_compressed_or_piped_are_one_corpus(
    train: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = train.read_text().split("\n\n")
    halves = ["\n\n".join(texts[:100]) + "\n\n", "\n\n".join(texts[100:])]
    (tmp_path / "one.txt").write_text(halves[0])
    (tmp_path / "two.txt.gz").write_bytes(gzip.compress(halves[1].encode()))
    paths = [tmp_path / "one.txt", tmp_path / "two.txt.gz"]
    settings = {"features": "ngrams", "learner": "perceptron", "passes": 1, "dev_share": 0.0}
    whole = Tagger(**settings, out_of_core=False).fit_file(train)
    assert_same(Tagger(**settings, out_of_core=True).fit_files(paths), whole)
    assert_same(Tagger(**settings, out_of_core=False).fit_files(paths), whole)

    class Input:
        buffer = io.BufferedReader(io.BytesIO(train.read_bytes()))

    monkeypatch.setattr("sys.stdin", Input())
    assert_same(Tagger(**settings, out_of_core=True).fit_file("-"), whole)


def test_joined_corpora_are_numbered_as_one_file(train: Path, tmp_path: Path) -> None:
    texts = train.read_text().split("\n\n")
    parts = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, some in zip(parts, (texts[:60], texts[60:]), strict=True):
        path.write_text("\n\n".join(some) + "\n\n")
    one, whole = joined([read_corpus(path) for path in parts]), read_corpus(train)
    assert np.array_equal(one.offset, whole.offset)
    for mine, theirs in zip((*one.columns, one.labels), (*whole.columns, whole.labels), strict=True):
        assert np.array_equal(mine.ids, theirs.ids)
        assert mine.types == theirs.types
        assert np.array_equal(mine.hash, theirs.hash)
    parts[1].write_text("only B-NP\n")
    with pytest.raises(DataError, match=r"b.txt:1: 1 column besides the label, and .*a.txt has 2"):
        Tagger("ngrams").fit_files(parts)


@pytest.mark.usefixtures("small_blocks")
def test_generators_of_python_data(train: Path) -> None:
    X, y = (part[:250] for part in load_demo("train"))
    weights = [1.0 + k % 3 for k in range(len(X))]
    settings = {"learner": "perceptron", "passes": 2, "dev_share": 0.0, "min_count": 2}
    for make in (lambda s: s, lambda s: [{"w": w, "t": t, "size": len(w) / 8} for w, t in s]):
        generated = (make(sentence) for sentence in X)
        streamed = Tagger(**settings, out_of_core=True).fit(generated, iter(y), sample_weight=iter(weights))
        whole = Tagger(**settings).fit([make(sentence) for sentence in X], y, sample_weight=weights)
        whole.model_.meta["reading"] = streamed.model_.meta["reading"] = None
        assert_same(streamed, whole)
    for weights, message in (
        ([0.0] * 250, "are 0: there is nothing"),
        ([1.0] * 251, "more sample weights"),
        ("a" * 250, "number"),
    ):
        with pytest.raises(DataError, match=message):
            Tagger(**settings, out_of_core=True).fit(iter(X), iter(y), sample_weight=iter(weights))
    for wrong in (3, dict.fromkeys(range(len(X)), 1.0)):
        with pytest.raises(DataError, match=r"sample_weight is .*: give a number per sentence"):
            Tagger(**settings, out_of_core=True).fit(X, y, sample_weight=wrong)
    with pytest.raises(DataError, match=r"y\[60\] has 1 label, but X\[60\] has"):
        Tagger(**settings, out_of_core=True).fit(iter(X), (["O"] if k == 60 else own for k, own in enumerate(y)))
    with pytest.raises(DataError, match="y has more sentences than X, which has 70"):
        Tagger(**settings, out_of_core=True).fit(iter(X[:70]), iter(y[:71]))


@pytest.mark.usefixtures("small_blocks")
def test_labels_that_violate_their_scheme_are_repaired_in_blocks(train: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = train.read_text().split("\n")
    bad = [k for k, line in enumerate(lines) if line.endswith(" B-NP") and not lines[k - 1].strip()]
    for k in (bad[5], bad[-1]):
        lines[k] = lines[k].replace("B-NP", "I-NP")
    train.write_text("\n".join(lines))
    settings = {"features": "ngrams", "learner": "perceptron", "passes": 1, "dev_share": 0.0}
    streamed = Tagger(**settings, out_of_core=True).fit_file(train)
    told = [record.getMessage() for record in caplog.records if "ill-formed" in record.getMessage()]
    caplog.clear()
    assert_same(streamed, Tagger(**settings, out_of_core=False).fit_file(train))
    expected = [record.getMessage() for record in caplog.records if "ill-formed" in record.getMessage()]
    assert len(told) == len(expected) == 1
    assert told[0].partition(" (")[0] == expected[0].partition(" (")[0]
    assert f"train.txt:{bad[5] + 1}" in told[0]


@pytest.mark.usefixtures("small_blocks")
def test_partial_labels(train: Path) -> None:
    rows = [line.rsplit(" ", 1) for line in train.read_text().split("\n")]
    some = [row if k % 4 or len(row) < 2 else [row[0], "?" if k % 8 else "B-NP|I-NP"] for k, row in enumerate(rows)]
    train.write_text("\n".join(" ".join(row) for row in some))
    settings = {"features": "ngrams", "learner": "perceptron", "passes": 1, "dev_share": 0.0, "partial": True}
    assert_same(
        Tagger(**settings, out_of_core=True).fit_file(train), Tagger(**settings, out_of_core=False).fit_file(train)
    )
    with pytest.raises(DataError, match=r"train.txt:\d+: the label .* looks like a partial one"):
        Tagger(**(settings | {"partial": None}), out_of_core=True).fit_file(train)


def test_every_sentence_is_visited_once_and_pages_are_given_back(tmp_path: Path, monkeypatch) -> None:
    n, rng = 5000, np.random.default_rng(0)
    sizes = rng.integers(1, 9, n)
    offset = np.concatenate(([0], np.cumsum(sizes)))
    with Scratch(str(tmp_path)) as scratch:
        corpus = MappedCorpus(scratch, [1], valued=False)
        ptr = np.concatenate(([0], np.cumsum(rng.integers(0, 40, offset[-1]))))
        att = rng.integers(0, 9, ptr[-1]).astype(np.int32)
        active = mapped.Active(ptr, att, np.zeros(0, np.float32))
        corpus.append(offset, np.zeros(offset[-1], np.int32), None, {1: active})
        _, known, weight, actives = corpus.arrays()
        assert np.array_equal(actives[1].ptr, ptr)
        assert np.array_equal(actives[1].att, att)
        assert (known.size, weight.size) == (offset[-1], n)
        assert corpus.extremes()[1].ptr.tolist() == [0, np.diff(ptr).max()]
        order = BlockOrder(corpus, offset, block=100, window=4)
        told: list[tuple[int, int]] = []
        monkeypatch.setattr(BlockOrder, "_advise", lambda self, window, advice: told.append((window, advice)))
        permutation = order.permutation(7, 2)
        assert np.array_equal(np.sort(permutation), np.arange(n))
        assert np.array_equal(permutation, order.permutation(7, 2))
        assert not np.array_equal(permutation, order.permutation(7, 3))
        done = np.zeros(n, bool)
        for start in range(0, n, 130):
            some = order.permutation(7, 2)[start : start + 130] if start == 0 else permutation[start : start + 130]
            order.visit(some)
            for window, advice in told:
                own = permutation[window * 400 : (window + 1) * 400]
                assert not done[own].any() if advice == mmap.MADV_WILLNEED else done[own].all()
            told.clear()
            done[some] = True
        assert done.all()


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="the system takes no advice")
def test_pages_are_given_back_also_if_batches_visit_them_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches sort sentences by length across the end of a window, if the block with fewer sentences comes early."""
    n, block, window = 4050, 100, 4
    offset = np.concatenate(([0], np.cumsum(np.random.default_rng(1).integers(1, 9, n)))).astype(np.int64)
    late = 0
    for number in range(1, 5):
        with Scratch(str(tmp_path)) as scratch:
            corpus = MappedCorpus(scratch, [], False)
            corpus.append(offset, np.zeros(offset[-1], np.int32), None, {})
            corpus.arrays()
            order, told = BlockOrder(corpus, offset, block, window), []
            found = trainer.balanced(order.permutation(7, number), np.diff(offset), 8, 7, number)
            monkeypatch.setattr(BlockOrder, "_advise", lambda self, window, advice, told=told: told.append(window))
            given_back = np.full(order.ends.size, -1)
            for start in range(0, n, 64):
                before = order.done
                order.visit(found[start : start + 64])
                given_back[[w for w in told if w < order.done]] = start if order.done > before else given_back.max()
                told.clear()
            monkeypatch.undo()
            of = {int(b): k // window for k, b in enumerate(order.blocks.tolist())}
            windows = np.array([of[s // block] for s in found.tolist()])
            for k in range(order.ends.size - 2):
                last = int(np.flatnonzero(windows == k)[-1])
                late += last >= order.ends[k]
                assert given_back[k] > last
    assert late


def test_a_digest_shows_all_pairs_of_labels(train: Path) -> None:
    whole = read_corpus(train)
    digest = LabelDigest("x")
    with Scratch() as scratch:
        for block in map((source := FileSource([train], _spec(), scratch, 2000)).corpus, source.pieces()):
            digest.add(block)
    small = digest.corpus()
    assert whole.labels is not None
    assert small.labels is not None
    assert small.labels.types == whole.labels.types == digest.types
    assert np.array_equal(digest.counts, np.bincount(whole.labels.ids))
    assert small.n_sentences < whole.n_sentences // 2
    assert _pairs(small) == _pairs(whole)


def _pairs(corpus) -> set[tuple[str, str]]:
    cells = corpus.labels.cells()
    found = set()
    for a, b in zip(corpus.offset[:-1], corpus.offset[1:], strict=True):
        row = ["<", *cells[a:b], ">"]
        found |= set(pairwise(row))
    return found


def _spec():
    from palmette.data import FormatSpec

    return FormatSpec()


LIKELIHOODS = {
    "crf": {"learner": Crf(iterations=20)},
    "l1": {"learner": Crf(iterations=20, l1=0.5)},
    "pairs": {"learner": Crf(iterations=20), "template": "pairs"},
    "latent": {"learner": Dplvm(iterations=20), "states": Latent(2)},
    "maxent": {"learner": MaxEnt(iterations=20)},
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("case", LIKELIHOODS)
def test_lbfgs_from_disk_is_that_in_memory(train: Path, tmp_path: Path, case: str, monkeypatch) -> None:
    """Attributes have other numbers, so that sums over them are rounded otherwise."""
    monkeypatch.setattr(objective, "MOST_TABLES", 40_000)  # many blocks of sentences
    settings = {"features": "ngrams", "min_count": 2, "dev_share": 0.0, **LIKELIHOODS[case]}
    if "template" in settings:
        path = tmp_path / "templates.txt"
        path.write_text(TEMPLATES[str(settings["template"])])
        settings |= {"template": str(path), "features": None}
    kept = tmp_path / "scratch"
    kept.mkdir()
    streamed = Tagger(**settings, out_of_core=True, scratch=str(kept)).fit_file(train)
    whole = Tagger(**settings, out_of_core=False).fit_file(train)
    assert list(kept.iterdir()) == []
    logs = [[row["figures"]["objective"] for row in tagger.training_log_] for tagger in (streamed, whole)]
    assert logs[0][:5] == pytest.approx(logs[1][:5], rel=1e-4)
    assert logs[0][-1] == pytest.approx(logs[1][-1], rel=2e-2)
    assert [len(names) for names in streamed.model_.names.values()] == [len(n) for n in whole.model_.names.values()]
    X = load_demo("test")[0]
    same = [a == b for one, other in zip(streamed.predict(X), whole.predict(X), strict=True)
            for a, b in zip(one, other, strict=True)]  # fmt: skip
    assert np.mean(same) > 0.98


@few(0.5)
@given(cases(latent=True).filter(lambda case: not case.growing), st.integers(0, 9))
def test_the_likelihood_of_mapped_data_has_the_same_bits(case: Case, seed: int) -> None:
    data, found = data_of(case), []
    valued = {own.val.size > 0 for own in data.features if own.att.size}
    if len(valued) != 1:  # files have values for all arities, or for none
        return
    with pytest.MonkeyPatch.context() as patch, Scratch() as scratch:
        patch.setattr(objective, "MOST_TABLES", 1)  # a block per sentence
        orders = [arity for arity in ARITIES if data.features[arity - 1].ptr.size]
        corpus = MappedCorpus(scratch, orders, valued.pop())
        corpus.append(data.offset, data.known, data.weight, {arity: data.features[arity - 1] for arity in orders})
        _, known, _, actives = corpus.arrays()
        one, two, three = (actives.get(arity, no_active()) for arity in ARITIES)
        on_disk = data._replace(known=known, features=(one, two, three))
        here = ChainObjective(chain_of(case), data, 0.1)
        there = MappedObjective(chain_of(case), on_disk, 0.1, 2, corpus, scratch)
        vector = np.random.default_rng(seed).standard_normal(here.size).astype(np.float32)
        for one_objective in (here, there, there):
            gradient = np.zeros(here.size, np.float32)
            found.append((one_objective(vector, gradient), gradient.tobytes(), one_objective.wrong))
    assert found[0] == found[1] == found[2]


def test_when_data_is_too_large_for_memory(train: Path, monkeypatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000)
    settings = {"features": "ngrams", "passes": 1}
    Tagger(**settings).fit_file(train)
    assert "training out of core (out_of_core=False: in memory)" in caplog.text
    caplog.clear()
    Tagger("ngrams", learner="crf", state_features="seen").fit_file(train)
    assert "in memory all the same: state_features: looks at all data at once" in caplog.text
    monkeypatch.setattr("palmette.training.chain.disk.free_memory", lambda: 100_000)
    with pytest.raises(UsageError, match=r"memory has no room .*min_count.*max_attributes"):
        Tagger(**settings, out_of_core=True).fit_file(train)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "hmm"}, "counted in memory"),
        ({"state_features": "seen"}, "state_features"),
        ({"dev_share": 0.1}, "dev_share"),
    ],
)
def test_what_is_not_possible_is_an_error(train: Path, settings: dict, message: str) -> None:
    features = {} if settings.get("learner") == "hmm" else {"features": "ngrams"}
    with pytest.raises(UsageError, match=message):
        Tagger(**features, **settings, out_of_core=True).fit_file(train)


def test_command_line(
    train: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.fine(f"train {train} {train} -o a.palm --out-of-core --scratch {cli.folder} --learner perceptron --passes 1")
    ran = cli(f"train {train} -o b.palm --out-of-core --scratch missing --features ngrams")
    assert ran.code == 2
    assert "--scratch missing: there is no such folder" in ran.err
    cli.fine(f"train {train} -o b.palm --out-of-core --learner crf --iterations 2 --features ngrams")
    assert cli.fine(f"eval a.palm {train}")


@pytest.mark.usefixtures("small_blocks")
def test_errors_name_the_line_and_leave_nothing_behind(train: Path, tmp_path: Path) -> None:
    lines = train.read_text().split("\n")
    number = next(k for k in range(2000, len(lines)) if lines[k])
    lines[number] = "lonely"
    train.write_text("\n".join(lines))
    kept = tmp_path / "scratch"
    kept.mkdir()
    with pytest.raises(DataError, match=rf"train.txt:{number + 1}: 1 column where 3 are expected"):
        Tagger("ngrams", out_of_core=True, scratch=str(kept)).fit_file(train)
    assert list(kept.iterdir()) == []
    train.write_text("")
    with pytest.raises(DataError, match="the training data has no sentences"):
        Tagger("ngrams", out_of_core=True).fit_file(train)


def test_blocks_of_generators_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.data.sources.SENTENCES", 7)
    X, y = load_demo("train")
    with Scratch(str(tmp_path)) as scratch:
        source = ItemSource(iter(X[:30]), iter(y[:30]), scratch)
        first = [source.corpus(piece).labels.cells() for piece in source.pieces()]
        again = [source.corpus(piece).labels.cells() for piece in source.pieces()]
    assert first == again
    assert [cell for block in first for cell in block] == [cell for own in islice(y, 30) for cell in own]


def test_remembered_types_hash_as_others(train: Path) -> None:
    corpora = [read_corpus(train)]
    with Scratch() as scratch:
        source = FileSource([train], _spec(), scratch, 2000)
        corpora += [source.corpus(piece) for piece in source.pieces()]
    plain, remembering = (Encoder(named_set("ner", 1, 2, Resources()), Resources()) for _ in range(2))
    for memo in plain._memos.values():
        memo.most = 0
    for memo in remembering._memos.values():
        memo.most = 700  # then it is full
    for corpus in corpora[1:] * 2:
        own = []
        for encoder in (remembering, plain):
            own.append(encoder.cells(corpus))
            for column in corpus.columns:
                column.__dict__.clear()
        for mine, theirs in zip(*own, strict=True):
            assert np.array_equal(mine, theirs)
    assert 0 < max(memo.known.places.size for memo in remembering._memos.values()) <= 700
