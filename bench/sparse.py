"""What an L1 penalty leaves of a CRF: weights that are not zero beside those with L2, at about the same F.

CoNLL-2000, the 19 CRF++ templates, weights for labels that an attribute was seen with (`--state-features seen`). Both
penalties are chosen on a held-out tenth of the training sentences: the L2 penalty by F, and the largest L1 penalty that
is within 0.1 of it. Then both train on everything, and test is read once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.measure import TEMPLATES, keep
from palmette import Crf, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from palmette.structures.chain.weights import n_weights

L2, L1 = (0.1, 0.3, 1.0), (0.1, 0.2, 0.4, 0.8)
WITHIN = 0.1


def _tagger(**penalty: float) -> Tagger:
    return Tagger(template=TEMPLATES / "crfpp.txt", learner=Crf(**penalty, iterations=80), state_features="seen")


def _trained(train: Corpus, held_out: Corpus, **penalty: float) -> dict[str, Any]:
    """F on what was held out, of the weights at the end, and how many they are."""
    tagger = _tagger(**penalty).fit_corpus(train, None)
    f1 = tagger.evaluate(held_out).f1
    assert f1 is not None
    found = {"f1": 100 * f1, "weights": n_weights(tagger.model_.chain), **penalty}
    print(f"  {penalty}: F {found['f1']:.2f}, {found['weights']:,} weights", flush=True)
    return found


def bench_sparse(data: Path) -> None:
    train, test = (read_corpus(data / "conll2000" / f"{part}.txt", FormatSpec()) for part in ("train", "test"))
    rest, held_out = split(train, 0.1, 1)
    dense = max((_trained(rest, held_out, l2=value) for value in L2), key=lambda found: found["f1"])
    sparse = [_trained(rest, held_out, l1=value) for value in L1]
    close = [found for found in sparse if found["f1"] > dense["f1"] - WITHIN] or [max(sparse, key=lambda f: f["f1"])]
    few = max(close, key=lambda found: found["l1"])
    print("test:")
    final = [_trained(train, test, l2=dense["l2"]), _trained(train, test, l1=few["l1"])]
    ratio = final[0]["weights"] / final[1]["weights"]
    print(f"L1 leaves {ratio:.1f} times fewer weights, F {final[1]['f1'] - final[0]['f1']:+.2f}")
    keep("sparse", {"held out": {"l2": dense, "l1": sparse}, "test": final})
