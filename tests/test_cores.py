"""Commands that read with a model use all cores, and write the same for any number of threads."""

from __future__ import annotations

import functools
import threading

import pytest

from palmette import Tagger
from palmette.cli import main
from palmette.data import map_in_order
from palmette.datasets import load_demo
from palmette.options import training
from palmette.structures import ChainModel
from palmette.structures.chain import files


@pytest.mark.parametrize(
    ("quota", "bound", "found"),
    [("max 100000", 8, 8), ("150000 100000", 8, 2), ("50000 100000", 8, 1), ("900000 100000", 4, 4), ("?", 3, 3)],
)
def test_the_cores_of_a_container(tmp_path, monkeypatch, quota, bound, found):
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(training, "QUOTA", str(tmp_path / "cpu.max"))
    monkeypatch.setattr(training.os, "sched_getaffinity", lambda _: set(range(bound)), raising=False)
    assert training.available_cores() == found


def test_blocks_come_back_in_order_and_one_block_starts_no_thread(monkeypatch):
    assert list(map_in_order(lambda k: k * k, iter(range(50)), 3)) == [k * k for k in range(50)]
    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor", None)
    assert list(map_in_order(lambda k: k + 1, iter([7]), 3)) == [8]
    assert list(map_in_order(lambda k: k + 1, iter([]), 3)) == []


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A tagger and a test file of 300 sentences."""
    folder = tmp_path_factory.mktemp("cores")
    words, labels = load_demo("train")
    Tagger(passes=2).fit(words[:300], labels[:300]).save(folder / "m.palm")
    blocks = [
        "\n".join(" ".join((*row, label)) for row, label in zip(*one, strict=True))
        for one in zip(words, labels, strict=True)
    ]
    (folder / "test.txt").write_text("\n\n".join(blocks[:300]) + "\n")
    return str(folder / "m.palm"), str(folder / "test.txt")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "stream_corpus", functools.partial(files.stream_corpus, block=1 << 12))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("decode", ["viterbi", "marginal"])
def test_scores_are_the_same_for_any_number_of_threads(model, capsys, decode):
    printed = []
    for threads in ("1", "3"):
        main(["eval", *model, "--decode", decode, "--threads", threads, "--json"])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert '"f1"' in printed[0]


@pytest.mark.usefixtures("small_blocks")
def test_blocks_are_decoded_by_threads(model, monkeypatch):
    asked, threads = [], set()
    whole = ChainModel.decode

    def noted(self, part, *rest, **named):
        asked.append(part.n_sentences)
        threads.add(threading.get_ident())
        return whole(self, part, *rest, **named)

    monkeypatch.setattr(ChainModel, "decode", noted)
    main(["eval", *model, "--threads", "2", "-q"])
    assert sum(asked) == 300
    assert len(asked) > 8
    assert threading.get_ident() not in threads


def test_a_stream_is_answered_at_once(model, monkeypatch):
    seen = {}
    monkeypatch.setattr(Tagger, "tag_file", lambda *_, **options: seen.update(options) or 0)
    main(["tag", model[0], "-", "--stream", "-q"])
    assert seen["threads"] == 1
    main(["tag", *model, "-q"])
    assert seen["threads"] == training.available_cores()
