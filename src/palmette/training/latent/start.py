"""Initial weights of a classifier from a supervised chunker.

The chunker must have the classifier's templates: two attributes are the same if their strings are. Its weights are
copied to the view of its tag scheme, scaled so that the largest one has the requested size; the other views start at
zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.labels.notation import HYPHEN
from palmette.data.labels.schemes import reading
from palmette.features.templates import to_text
from palmette.kernels.latent.forms import Views, Weights
from palmette.options.chain import TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.spelling import spelt
from palmette.structures.chain.model import ChainModel
from palmette.structures.latent.views import VIEWS, View


def types_of(chunker: ChainModel) -> tuple[str, ...]:
    """The chunk types of a chunker, in the order of its labels."""
    if chunker.scheme not in VIEWS.values():
        raise OptionError("init", "the model is not a chunker: its labels follow no tag scheme")
    return tuple(dict.fromkeys(kind for letter, kind in _parts(chunker.labels) if letter != "O"))


def check_chunker(chunker: ChainModel, views: Sequence[View], templates: str) -> None:
    """UsageError if the weights of the chunker do not apply to these views and templates."""
    if chunker.scheme not in [view.scheme for view in views]:
        raise OptionError(
            "init", f"the chunker's tags are {chunker.scheme}, and the views are {', '.join(v.name for v in views)}"
        )
    shape, seen = chunker.shape, chunker.chain.weights[0].first.size > 0
    if (
        shape.states_per_label != 1
        or shape.local
        or seen
        or chunker.encoder is None
        or set(chunker.feature_indexes) != {1}
    ):
        raise OptionError("init", "the chunker must be a plain chain with dense weights for single labels only")
    own = {line for line in to_text(chunker.encoder.templates).split("\n") if line.startswith(("U", "u"))}
    if not own & set(templates.split("\n")):
        raise OptionError(
            "init",
            "the chunker has none of the classifier's templates; train it with "
            f"{spelt(TaggerOptions, 'features', 'ngrams')}, or give its template file to both",
        )


def start_from(chunker: ChainModel, views: Sequence[View], packed: Views, weights: Weights, size: float) -> float:
    """Copy the weights of the chunker, whose attributes are the first ones of the classifier. Returns the factor by
    which they were scaled."""
    r = next(k for k, view in enumerate(views) if view.scheme == chunker.scheme)
    tags, H, W = views[r].tags, int(packed.size[r]), int(packed.stride[r])
    states = np.array([tags.index(label) for label in _plain(chunker.labels)])
    columns = packed.column[r] + states
    one, (ends, pairs, _) = chunker.chain.weights[0], chunker.chain.transitions
    n = len(chunker.labels)
    largest = max(float(np.abs(block).max(initial=0.0)) for block in (one.w, ends.w, pairs.w))
    if largest == 0.0:
        raise OptionError("init", "all weights of the chunker are zero")
    factor = np.float32(size / largest)
    rows = one.w.shape[0]
    A = one.slot.size
    weights.one.slot[:A], weights.one.used[0] = one.slot, rows
    weights.one.w[:rows, columns] = factor * one.w[:, :n]
    if packed.pairs:
        weights.end[:, columns] = factor * ends.w[:, :n]
        table = weights.pair[packed.edge[r] : packed.edge[r + 1]].reshape(H, W)
        table[np.ix_(states, states)] = factor * pairs.w[:n, :n]
    return float(factor)


def _plain(labels: Sequence[str]) -> list[str]:
    """Labels with the prefixes of IOBES: U-PER becomes S-PER."""
    return [f"{letter}-{kind}" if kind else letter for letter, kind in _parts(labels)]


def _parts(labels: Sequence[str]) -> list[tuple[str, str]]:
    notation = reading(labels) or HYPHEN
    return [notation.split(label) for label in labels]
