"""The float64 lists of an imported model as its model file stores them; declared in array_specs.py.

exact.pair     f64[Y, Y]        weights of label pairs
PART.seen      u8, u16 or u32[A]         how many weights an attribute has; each is
PART.ngram     u8, u16 or u32[ngrams]    for a label, or for previous * Y + current,
PART.exact     f64[ngrams]
"""

from __future__ import annotations

import numpy as np

from palmette.data.array_specs import Arrays
from palmette.data.labels.schemes import Transitions
from palmette.errors import ModelError
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.double import DoubleWeights
from palmette.kernels.chain.forms import Chain
from palmette.structures.chain.array_specs import EXACT_PAIRS, PARTS, Layout
from palmette.structures.chain.imported.model import bare_chain, no_lists
from palmette.structures.chain.imported.parts import within_groups
from palmette.structures.chain.weights import Shape
from palmette.structures.stored import smallest

CRFPP = "crfpp"


def pack_lists(exact: DoubleWeights, arity: int, order: np.ndarray) -> dict[str, np.ndarray]:
    """The lists of the attributes of one arity in another order."""
    first, place, w = exact[:3] if arity == 1 else exact[3:6]
    sizes = np.diff(first)[order]
    places = np.repeat(first[:-1][order], sizes) + within_groups(sizes)
    part, ngram = PARTS[arity], place[places]
    return {
        f"{part}.exact": w[places],
        f"{part}.seen": sizes.astype(smallest(int(sizes.max(initial=0)))),
        f"{part}.ngram": ngram.astype(smallest(int(ngram.max(initial=0)))),
    }


def unpack_exact(arrays: Arrays, layout: Layout, tool: str) -> DoubleWeights:
    """The weights of a model file. CRF++ adds them in float32."""
    one, two = (_lists(arrays, PARTS[arity]) if arity in layout.arities else no_lists() for arity in (1, 2))
    return DoubleWeights(*one, *two, np.ascontiguousarray(arrays[EXACT_PAIRS]), tool == CRFPP)


def _lists(arrays: Arrays, part: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(arrays[f"{part}.seen"], dtype=np.int64)))
    return first, arrays[f"{part}.ngram"].astype(np.int32), np.ascontiguousarray(arrays[f"{part}.exact"])


def exact_chain(shape: Shape, allowed: Transitions, layout: Layout, file: str) -> Chain:
    """The chain of an imported model, without weights; ModelError if it cannot be the model of another tool."""
    plain = shape.order == 1 and shape.states_per_label == 1 and shape.history is None and not shape.local
    if not plain or shape.ends or layout.checkpoint or {3, LABEL_CONTEXT} & set(layout.arities):
        raise ModelError("damaged model: weights of 64 bits in a model that is not a plain chain of order 1", file=file)
    return bare_chain(shape, allowed)
