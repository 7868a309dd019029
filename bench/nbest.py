"""What n-best lists cost: searching the training sentences of CoNLL-2000 for 1 to 50 paths in both ways, beside the
search for the best one and a whole pass of the perceptron."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.measure import TEMPLATES, alternating, keep
from palmette import Reading, Tagger
from palmette.kernels.astar import kbest_astar, room_for_candidates
from palmette.kernels.compile import kernel
from palmette.kernels.forms import Chain, Data
from palmette.kernels.kbest import kbest_lazy, room_for_lists
from palmette.kernels.score import score
from palmette.kernels.train import decode, make_room
from palmette.text.read import read_corpus

SIZES = (1, 2, 5, 10, 50)


@kernel
def by_astar(m: Chain, x: Data, K: int) -> float:
    S = x.offset.size - 1
    T = make_room(m, x, 0, S, np.arange(S))
    room, scores = room_for_candidates(K, T.U.shape[1]), np.empty(K)
    paths = np.empty((K, T.U.shape[0]), np.int32)
    total = 0.0
    for s in range(S):
        found = kbest_astar(T, m, score(T, m, x, s, s == 0), room, paths, scores)
        total += scores[found - 1]
    return total


@kernel
def by_lists(m: Chain, x: Data, K: int) -> float:
    S = x.offset.size - 1
    T = make_room(m, x, 0, S, np.arange(S))
    room, scores = room_for_lists(T, m, K), np.empty(K)
    paths = np.empty((K, T.U.shape[0]), np.int32)
    total = 0.0
    for s in range(S):
        found = kbest_lazy(T, m, score(T, m, x, s, s == 0), room, paths, scores)
        total += scores[found - 1]
    return total


def bench_nbest(data: Path, times: int) -> None:
    """Milliseconds for all sentences, scoring included."""
    corpus = read_corpus(data / "conll2000" / "train.txt", Reading())
    tagger = Tagger(template=TEMPLATES / "crfpp.txt", passes=4).fit_corpus(corpus, None)
    model = tagger.model_
    encoded, chain = model.encode(corpus), model.chain
    states, scores = np.empty(corpus.n_tokens, np.int32), np.empty(corpus.n_sentences)
    sides: dict[str, Callable[[], object]] = {"viterbi": lambda: decode(chain, encoded, states, scores, False)}
    for K in SIZES:
        sides[f"A*, {K}"] = lambda K=K: by_astar(chain, encoded, K)  # type: ignore[misc]
        sides[f"lazy, {K}"] = lambda K=K: by_lists(chain, encoded, K)  # type: ignore[misc]
    for work in sides.values():  # compile
        work()
    result = {name: 1000 * min(found) for name, found in alternating(sides, times).items()}
    result["perceptron pass"] = 1000 * min(row["seconds"] for row in tagger.history_[1:])
    for name, value in result.items():
        print(f"{name:<16} {value:7.1f} ms")
    keep("nbest", result)
