"""A plain chain's weights as the start of a latent one: every state of a label begins as that label.

The latent chain then scores a path of states as the plain one scores its labels (the "stretched" weights of the
theorems), apart from the small random numbers that it was started with, and learning only has to find out where two
states of a label should differ.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, stride_of
from palmette.structures.chain.weights import ORDERS, Shape, used_rows


def split_states(latent: Chain, shape: Shape, plain: Chain) -> None:
    """Add the weights of `plain`, which has the same attributes and one state a label, to those of `latent`."""
    Y, H, per = shape.n_labels, shape.n_states, shape.per
    for block, source in zip(latent.bare, plain.bare, strict=True):
        states_from = 1 if block is latent.bare.end else 0  # that one's first axis is start and end
        block[..., :H] += _repeated(source[..., :Y], per, states_from)
    for order, rows, old in zip(ORDERS, latent[-3:], plain[-3:], strict=True):
        n = used_rows(old)
        if old.first.size:
            rows.w[:] += old.w
        elif old.slot.size:
            rows.slot[:], rows.used[0] = old.slot, n
            labels = old.w[:n].reshape(n, *(Y,) * (order - 1), stride_of(Y))[..., :Y]
            rows.w[:n].reshape(n, *(H,) * (order - 1), stride_of(H))[..., :H] = _repeated(labels, per, 1)


def _repeated(block: np.ndarray, per: int, first_axis: int) -> np.ndarray:
    """Each item `per` times along all axes from `first_axis` on."""
    for axis in range(first_axis, block.ndim):
        block = np.repeat(block, per, axis=axis)
    return block
