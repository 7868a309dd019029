"""Training from files in shards: on threads, and on a real Ray cluster of two nodes in this machine. The model is the
same byte for byte, also if a worker is killed in the middle of a pass."""

from __future__ import annotations

import gzip
import io
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray_driver import address, ray_driver

from palmette import Crf, Tagger
from palmette.cli import main
from palmette.data import FormatSpec, read_corpus, recognise
from palmette.data.labels.schemes import recognise_pairs, seen_pairs
from palmette.data.sources import Piece, divided, read_pieces
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError
from palmette.reports.progress import WorkerBars, WorkerLines
from palmette.training import WorkerProgress
from palmette.training.chain import fit as chain_files
from palmette.training.chain import shards
from palmette.training.chain.file_shard import FileShard

KINDS = {
    "perceptron": {"learner": "perceptron", "passes": 3},
    "mavg": {"learner": "perceptron", "passes": 4, "estimator": "mavg", "mavg_every": 2},
    "mira": {"learner": "mira", "passes": 2},
    "adagrad": {"learner": Crf(optimiser="adagrad"), "passes": 2},
    "beam": {"learner": "perceptron", "passes": 2, "search": "beam"},
    "crf": {"learner": Crf(iterations=8)},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The demo corpus in three files, one of them compressed."""
    folder = tmp_path_factory.mktemp("shards")
    sentences = list(zip(*load_demo("train"), strict=True))[:150]
    paths = []
    for k, name in enumerate(("a.txt", "b.txt", "c.txt.gz")):
        text = "\n".join(
            "".join(f"{word} {tag} {label}\n" for (word, tag), label in zip(words, labels, strict=True))
            for words, labels in sentences[50 * k : 50 * k + 50]
        )
        path = folder / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        paths.append(str(path))
    return paths


def model_bytes(tagger: Tagger, folder: Path) -> bytes:
    """The file of a model, apart from the seconds that passes took."""
    for epoch in tagger.model_.meta["history"]:
        epoch["seconds"] = 0.0
    tagger.save(folder / "model.palm")
    return (folder / "model.palm").read_bytes()


# Files as shards


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(1, 12))
def test_every_file_is_in_one_shard_and_no_shard_is_empty(tmp_path_factory, sizes, shards):
    folder = tmp_path_factory.mktemp("sizes")
    paths = [folder / f"f{k}" for k in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(b"x" * size)
    found = divided(paths, shards)
    assert len(found) == shards
    assert all(found)
    pieces = [piece for shard in found for piece in shard]
    if len(paths) >= shards:
        assert pieces == [Piece(str(path)) for path in paths]
    else:
        of_file = {str(path): [p for p in pieces if p.path == str(path)] for path in paths}
        assert all([p.part for p in own] == list(range(own[0].parts)) for own in of_file.values())


def test_pieces_together_are_the_files(files):
    spec = FormatSpec().resolved(files[0])
    whole = [sentence for path in files for sentence in _sentences(read_corpus(path, spec))]
    parts = [s for shard in divided(files, 7) for s in _sentences(read_pieces(shard, spec))]
    assert parts == whole
    assert [s for shard in divided(files, 2) for s in _sentences(read_pieces(shard, spec))] == whole


def _sentences(corpus):
    labels = corpus.labels.cells()
    cuts = corpus.offset.tolist()
    return [(corpus.sentence(s), labels[cuts[s] : cuts[s + 1]]) for s in range(corpus.n_sentences)]


@given(st.lists(st.lists(st.sampled_from(["B-X", "I-X", "E-X", "S-X", "O"]), min_size=1, max_size=4), min_size=1))
def test_pairs_of_labels_show_the_scheme_that_sequences_show(sequences):
    labels = list(dict.fromkeys(label for labels in sequences for label in labels))
    ids = np.array([labels.index(label) for own in sequences for label in own], np.int32)
    offset = np.concatenate(([0], np.cumsum([len(own) for own in sequences]))).astype(np.int64)
    seen = seen_pairs(ids, offset, len(labels))
    assert recognise_pairs(labels, seen) == recognise(labels, ids, offset)


# Threads


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_nothing(kind, files, tmp_path):
    found = [
        model_bytes(Tagger("chunk", shards=3, **KINDS[kind]).fit_files(files, threads=threads), tmp_path)
        for threads in (1, 3)
    ]
    assert found[0] == found[1]


def test_one_shard_learns_what_a_corpus_in_memory_does(files, tmp_path):
    spec = FormatSpec().resolved(files[0])
    corpus = read_pieces([Piece(path) for path in files], spec)
    crf = Tagger("chunk", learner=Crf(iterations=30)).fit_corpus(corpus, None)
    sharded = Tagger("chunk", learner=Crf(iterations=30), shards=3).fit_files(files)
    words, _ = load_demo("test")
    log, other = crf.outcome_.training_log, sharded.outcome_.training_log
    assert [row.figures["objective"] for row in log[:8]] == pytest.approx(
        [r.figures["objective"] for r in other[:8]], rel=1e-4
    )
    assert np.mean([a == b for a, b in zip(crf.predict(words), sharded.predict(words), strict=True)]) > 0.97
    assert sharded.labels_ == crf.labels_
    assert sharded.model_.scheme == crf.model_.scheme


def test_attributes_have_names_and_rare_ones_are_cut_off(files):
    corpus = read_pieces([Piece(path) for path in files], FormatSpec().resolved(files[0]))
    options = {"learner": "perceptron", "passes": 2, "min_count": 2}
    whole = Tagger("chunk", **options).fit_corpus(corpus, None, checkpoint=True)
    sharded = Tagger("chunk", shards=2, **options).fit_files(files, checkpoint=True)
    assert sharded.model_.feature_indexes[1].size == whole.model_.feature_indexes[1].size
    assert _names(sharded) == _names(whole)
    assert sorted(sharded.model_.vocabulary.tolist()) == sorted(whole.model_.vocabulary.tolist())


def _names(tagger: Tagger) -> set[bytes]:
    names = tagger.model_.names[1]
    raw = names.data.tobytes()
    return {raw[a:b] for a, b in zip(names.offset[:-1].tolist(), names.offset[1:].tolist(), strict=True)}


def test_a_training_goes_on_from_its_checkpoint(files, tmp_path):
    output = tmp_path / "out.palm"
    options = {"learner": "perceptron", "shards": 2}
    whole = Tagger("chunk", passes=4, **options).fit_files(files, checkpoint=True, names=False)
    Tagger("chunk", passes=2, **options).fit_files(files, output=output)
    half = Tagger.load(output)
    assert len(half.model_.meta["history"]) == 2
    half.passes = 2
    half.fit_files(files, resume=half.model_, checkpoint=True, names=False)
    whole.model_.settings = whole.model_.settings.replace(passes=2)  # those of the last call
    assert model_bytes(half, tmp_path) == model_bytes(whole, tmp_path)


def test_lbfgs_writes_its_model_now_and_then_and_goes_on_from_it(files, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "EVERY", 0.0)
    options = {"shards": 2, "min_count": 2}
    plain = Tagger("chunk", learner=Crf(iterations=8), **options).fit_files(files)
    output = tmp_path / "m.palm"

    def fails(number, done, total, finished):
        if finished is not None and number == 6:
            raise OSError("the driver is gone")

    with pytest.raises(OSError, match="gone"):
        Tagger("chunk", learner=Crf(iterations=8), **options).fit_files(files, output=output, progress=fails)
    half = Tagger.load(output)
    assert len(half.model_.meta["history"]) == 5
    objectives = [row.figures["objective"] for row in plain.outcome_.training_log]
    half.set_params(learner=Crf(iterations=4), **options).fit_files(files, resume=half.model_)
    first = half.outcome_.training_log[0].figures["objective"]
    assert first < objectives[4]
    assert _names(half) <= _names(plain)
    kept = Tagger("chunk", learner=Crf(iterations=8), **options).fit_files(files, output=output)
    assert model_bytes(kept, tmp_path) == model_bytes(plain, tmp_path)


def test_ctrl_c_leaves_a_usable_model(files, tmp_path):
    def interrupt(number, done, total, finished):
        if finished is not None and number == 2:
            os.kill(os.getpid(), signal.SIGINT)

    options = {"learner": "perceptron", "shards": 2}
    stopped = Tagger("chunk", passes=5, **options).fit_files(files, progress=interrupt, output=tmp_path / "m.palm")
    assert stopped.outcome_.ended == "stopped: interrupted after pass 2"
    two = Tagger("chunk", passes=2, **options).fit_files(files)
    words, _ = load_demo("test")
    assert stopped.predict(words) == two.predict(words) == Tagger.load(tmp_path / "m.palm").predict(words)


def test_what_shards_of_files_do_not_do_is_refused(files, tmp_path):
    with pytest.raises(UsageError, match="all combinations have weights"):
        Tagger(learner="crf", state_features="seen", shards=2).fit_files(files)
    with pytest.raises(UsageError, match=r"^min_feature_count: .*all combinations have weights"):
        Tagger(min_feature_count=2, shards=2).fit_files(files)
    with pytest.raises(UsageError, match=r"^dev_share: does not apply to files in shards.*: give dev"):
        Tagger(dev_share=0.1, shards=2).fit_files(files)
    with pytest.raises(UsageError, match="no file"):
        Tagger().fit_files([])
    with pytest.raises(DataError, match="missing"):
        Tagger(shards=2).fit_files([tmp_path / "missing.txt"])
    strange = tmp_path / "strange.txt"
    strange.write_text("a x ?\nb x A\n\n" * 9)
    with pytest.raises(DataError, match="looks like a partial one"):
        Tagger(learner="perceptron", shards=2).fit_files([strange])


# Ray


@pytest.fixture(scope="module")
def driver():
    """A process with a cluster of two nodes in this machine."""
    yield from ray_driver(nodes=2)


def trained_on_ray(options: dict, files: list[str], folder: Path) -> bytes:
    return model_bytes(Tagger("chunk", **options).fit_files(files, cluster=address()), folder)


@pytest.mark.parametrize("kind", ["perceptron", "crf"])
def test_ray_trains_the_same_model_as_threads(kind, files, tmp_path, driver):
    options = {"shards": 2, **KINDS[kind]}
    here = Tagger("chunk", **options).fit_files(files, threads=2)
    assert model_bytes(here, tmp_path) == driver(trained_on_ray, options, files, tmp_path)


class DiesOnce(FileShard):
    """A worker that is killed in the middle of pass 3, and whose successor is not."""

    folder = ""

    def __init__(self, pieces, spec, shard, folder):
        super().__init__(pieces, spec, shard)
        self.folder = folder

    def report(self, done, total):
        mark = Path(self.folder) / "died"
        if self.shard == 1 and getattr(self, "number_", 0) == 3 and done and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        super().report(done, total)

    def learn_pass(self, number, clock, news):
        self.number_ = number
        return super().learn_pass(number, clock, news)


class Watched:
    """A progress that remembers what it is told of workers."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[WorkerProgress]]] = []

    def __call__(self, number, done, total, finished):
        pass

    def workers(self, doing, workers):
        self.told.append((doing, list(workers)))

    def last(self) -> dict[str, list[WorkerProgress]]:
        """The last word on each piece of work."""
        return dict(self.told)


def trained_with_a_death(options: dict, files: list[str], folder: Path) -> tuple[bytes, int, dict]:
    """The model, how many workers were replaced, and what was told of workers."""
    import ray

    from palmette.connect import ray_cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not know the tests
    made, usual, watched = [], chain_files.ray_cluster, Watched()

    def dying(make, arguments, address):
        made.append(ray_cluster.RayCluster(DiesOnce, [(*own, str(folder)) for own in arguments], address))
        return made[0]

    chain_files.ray_cluster = dying
    try:
        there = Tagger("chunk", **options).fit_files(files, cluster=address(), progress=watched)
    finally:
        chain_files.ray_cluster = usual
    return model_bytes(there, folder), made[0].replaced, watched.last()


def test_a_killed_worker_changes_nothing(files, tmp_path, driver):
    options = {"shards": 2, "learner": "perceptron", "passes": 4}
    here = Tagger("chunk", **options).fit_files(files)
    there, replaced, told = driver(trained_with_a_death, options, files, tmp_path)
    assert (tmp_path / "died").exists()
    assert replaced == 1
    assert model_bytes(here, tmp_path) == there
    assert list(told) == ["reading", "counting", "encoding", "pass 1", "pass 2", "pass 3", "pass 4", "naming"]
    assert [one.replaced for one in told["pass 4"]] == [0, 1]
    assert all(one.finished for one in told["pass 4"])


def test_threads_tell_how_far_each_worker_is(files):
    watched = Watched()
    Tagger("chunk", shards=3, learner="perceptron", passes=2).fit_files(files, progress=watched)
    told = watched.last()
    assert list(told) == ["reading", "counting", "encoding", "pass 1", "pass 2", "naming"]
    tokens = [read_corpus(path, FormatSpec().resolved(path)).n_tokens for path in files]
    assert told["pass 2"] == [WorkerProgress(n, n, True) for n in tokens]
    in_memory = Watched()
    words, labels = load_demo("train")
    Tagger("chunk", shards=2, learner="perceptron", passes=2).fit(words[:40], labels[:40], progress=in_memory)
    assert [len(workers) for workers in in_memory.last().values()] == [2, 2]


def test_lines_about_workers_come_now_and_then():
    lines, now = [], [0.0]
    write = WorkerLines(lines.append, lambda: now[0])
    half = [WorkerProgress(5, 10, False), WorkerProgress(0, 0, False), WorkerProgress(3, 10, False, 2)]
    write("pass 1", half)
    now[0] = 9.0
    write("pass 1", half)
    assert lines == []
    now[0] = 10.0
    write("pass 1", half)
    now[0] = 11.0
    write("pass 1", half)
    assert lines == ["pass 1: shard 1 50%, shard 2 at work, shard 3 30% (replaced 2x)"]
    now[0] = 30.0
    write("pass 2", half)
    write("pass 2", [WorkerProgress(10, 10, True)] * 3)
    assert len(lines) == 1
    now[0] = 40.0
    write("pass 2", [WorkerProgress(10, 10, True, 1)] + [WorkerProgress(k, 99, False) for k in range(40)])
    assert lines[1].startswith("pass 2: shard 2 0%, shard 3 1%, ")
    assert lines[1].endswith(", 29 others further")


def test_bars_of_workers():
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    shown = TextColumn("{task.description} {task.fields[speed]} {task.percentage:.0f}")
    with Progress(shown, console=Console(file=io.StringIO())) as bars:
        show = WorkerBars(bars)
        show("reading", [WorkerProgress(0, 0, False)] * 2)
        assert [task.total for task in bars.tasks] == [None, None]
        show("pass 1", [WorkerProgress(5, 10, False), WorkerProgress(10, 10, True)])
        rows = [(task.description.strip(), task.fields["speed"], task.percentage) for task in bars.tasks]
        assert rows == [("shard 1", "pass 1: 50%", 50.0), ("shard 2", "pass 1: done", 100.0)]


def error_on_ray(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        Tagger(learner="perceptron").fit_files([path], cluster=address())
    return str(caught.value)


def test_errors_of_workers_are_those_of_threads(tmp_path, driver):
    bad = tmp_path / "bad.txt"
    bad.write_text("a x B-NP\nb\n\n")
    with pytest.raises(DataError) as caught:
        Tagger(learner="perceptron").fit_files([bad])
    assert "bad.txt:2" in str(caught.value)
    assert driver(error_on_ray, bad) == str(caught.value)


def trained_by_command(files: list[str], output: Path) -> None:
    options = ["--shards", "2", "--passes", "2", "--learner", "perceptron", "-q"]
    main(["train", *files, "-o", str(output), "--ray", address(), *options])


def test_the_command_trains_on_a_cluster(files, tmp_path, driver):
    output = tmp_path / "m.palm"
    driver(trained_by_command, files, output)
    here = Tagger(learner="perceptron", shards=2, passes=2).fit_files(files)
    assert model_bytes(Tagger.load(output), tmp_path) == model_bytes(here, tmp_path)


def test_shards_of_files_make_a_compact_model(files) -> None:
    tagger = Tagger("chunk", passes=2, shards=2).fit_files(files[:2], compact=0.5)
    assert tagger.model_.compact
    assert tagger.compaction_ is not None
