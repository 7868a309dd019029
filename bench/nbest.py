"""What n-best lists cost: searching the training sentences of CoNLL-2000 for 1 to 50 paths, beside the
search for the best one; and a pass of training with n-best lists beside one of the perceptron.

Training searches inside of its kernel. Here a kernel of a few lines searches alone, which no library holds: Numba
compiles it and the other side in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from bench.measure import TEMPLATES, alternating, keep, median
from palmette import Mira, PassiveAggressive, Perceptron, ProbPerc, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.kbest import PathCandidates, kbest_astar, make_candidates
from palmette.kernels.chain.score import score
from palmette.kernels.chain.viterbi import decode
from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import F64, I32_2D
from palmette.options.learners import Learner

SIZES = (1, 2, 5, 10, 50)
PASSES = 6


@kernel
def by_astar(m: Chain, x: Data, T: Trellis, workspace: PathCandidates, paths: I32_2D, scores: F64) -> float:
    total = 0.0
    for s in range(x.offset.size - 1):
        found = kbest_astar(T, m, score(T, m, x, s, s == 0), workspace, paths, scores)
        total += scores[found - 1]
    return total


def bench_nbest(data: Path, times: int) -> None:
    """Milliseconds for all sentences, scoring included; and of a pass of training."""
    compiled = [sys.executable, "-m", "bench.nbest", str(data), str(times)]
    done = subprocess.run(
        compiled, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"PALMETTE_KERNELS": "jit"}
    )
    search = json.loads(done.stdout.splitlines()[-1])
    for name, value in search.items():
        print(f"{name:<16} {value:7.1f} ms")
    keep("nbest", {"search": search, "training": _training(_corpus(data), times)})


def _corpus(data: Path) -> Corpus:
    return read_corpus(data / "conll2000" / "train.txt", FormatSpec())


def _search(data: Path, times: int) -> dict[str, float]:
    corpus = _corpus(data)
    tagger = Tagger(template=TEMPLATES / "crfpp.txt", learner="perceptron", passes=4).fit_corpus(corpus, None)
    model = tagger.model_
    encoded, chain = model.encode(corpus), model.chain
    states, scores = np.empty(corpus.n_tokens, np.int32), np.empty(corpus.n_sentences)
    T = make_trellis(chain, encoded)
    sides: dict[str, Callable[[], object]] = {"viterbi": lambda: decode(chain, encoded, T, states, scores, False)}

    def search(K: int) -> float:
        paths = np.empty((K, T.U.shape[0]), np.int32)
        return by_astar(chain, encoded, T, make_candidates(K, T.U.shape[1]), paths, np.empty(K))

    for K in SIZES:
        sides[f"A*, {K}"] = partial(search, K)
    for work in sides.values():  # compile
        work()
    return {name: 1000 * min(found) for name, found in alternating(sides, times).items()}


def _training(corpus: Corpus, times: int) -> dict[str, float]:
    """Milliseconds of a pass, the median of PASSES passes, in turn."""
    learners: dict[str, Learner] = {"perceptron": Perceptron()}
    learners |= {f"probperc, {n}": ProbPerc(nbest=n) for n in (1, 2, 5, 10, 20)}
    learners |= {f"mira, {n}": Mira(nbest=n) for n in (1, 5)} | {"pa": PassiveAggressive()}
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    for _ in range(times):
        for name, own in learners.items():
            tagger = Tagger(template=TEMPLATES / "crfpp.txt", passes=PASSES, learner=own).fit_corpus(corpus, None)
            seconds[name] += [row["seconds"] for row in tagger.training_log_]
    found = {name: 1000 * median(values) for name, values in seconds.items()}
    for name, value in found.items():
        print(f"a pass of {name:<14} {value:7.1f} ms, {value / found['perceptron']:.2f} times the perceptron's")
    return found


if __name__ == "__main__":
    print(json.dumps(_search(Path(sys.argv[1]), int(sys.argv[2]))))
