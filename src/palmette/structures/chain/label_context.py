"""Weights of templates that read earlier labels: created, grown, averaged, resumed.

See kernels/chain/label_context.py for what they are. The hash table is not stored: it is rebuilt from the owners and
label codes of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palmette.features.encode import Encoder
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import LabelContextWeights
from palmette.kernels.chain.label_context import LABEL_BITS, table_of
from palmette.kernels.core.types import aligned_zeros
from palmette.structures.chain.data import Collected

INITIAL_ROWS = 1 << 10  # rows allocated at first


def new_context_weights(
    encoder: Encoder | None, template: np.ndarray, width: int, rows: int = 0, keeps_state: bool = False
) -> LabelContextWeights:
    """Weights without a row in use and `rows` allocated; template: i32[A], the template of each attribute."""
    backs = [] if encoder is None else [template.earlier_labels for template in encoder.of_order(LABEL_CONTEXT)]
    first = np.cumsum([0, *(len(back) for back in backs)]).astype(np.int64)
    back = np.array([b for labels in backs for b in labels], np.int32)
    keys, numbers, _ = table_of(np.zeros(0, np.int32), np.zeros(0, np.int64), 0, table_size(rows))
    return LabelContextWeights(
        template, first, back, keys, numbers, np.zeros(1, np.int64), np.zeros(rows, np.int32),
        np.zeros(rows, np.int64), aligned_zeros((rows, width), np.float32), np.zeros((rows, width)),
        aligned_zeros((rows, width), np.float32) if keeps_state else np.zeros((0, 0), np.float32),
    )  # fmt: skip


def no_context_weights(width: int) -> LabelContextWeights:
    """The weights of a chain whose templates read no earlier labels."""
    return new_context_weights(None, np.zeros(0, np.int32), width)


def makers(collected: Collected, old: LabelContextWeights | None) -> np.ndarray:
    """i32[A]: the template of each attribute; the attributes of an old model come first."""
    if LABEL_CONTEXT not in collected.feature_indexes:
        return np.zeros(0, np.int32)
    assert collected.encoder is not None
    first = collected.first[LABEL_CONTEXT]
    made = (first % len(collected.encoder.of_order(LABEL_CONTEXT))).astype(np.int32)
    if old is not None:
        made[: old.template.size] = old.template
    return made


def table_size(rows: int) -> int:
    """Places of a table of so many rows, at most half of them taken."""
    return 1 << max(4, int(2 * rows).bit_length())


def grown(contexts: LabelContextWeights, needed: int) -> LabelContextWeights:
    """The weights with `needed` more rows allocated."""
    n, rows = int(contexts.used[0]), max(INITIAL_ROWS, contexts.w.shape[0])
    while n + needed > rows:
        rows *= 2
    return _with_rows(contexts, n, rows)


def _with_rows(contexts: LabelContextWeights, n: int, rows: int) -> LabelContextWeights:
    bigger = new_context_weights(None, contexts.template, contexts.w.shape[1], rows, contexts.state.shape[1] > 0)
    for old, new in zip(contexts[6:], bigger[6:], strict=True):
        new[: min(n, old.shape[0])] = old[:n]
    keys, numbers, _ = table_of(contexts.owner, contexts.code, n, table_size(rows))
    return bigger._replace(first=contexts.first, back=contexts.back, keys=keys, numbers=numbers, used=np.array([n]))


def restart_contexts(contexts: LabelContextWeights, clock: float) -> None:
    """Continue training from the averaged weights."""
    contexts.w[:] -= contexts.a / clock
    contexts.a[:] = 0


def contexts_norm(contexts: LabelContextWeights) -> float:
    rows = contexts.w[: int(contexts.used[0])]
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).sum(dtype=np.float64)))


def estimated_contexts(contexts: LabelContextWeights, clock: float | None) -> LabelContextWeights:
    """The resulting weights, without accumulators: the last ones, or with `clock` the average."""
    n = int(contexts.used[0])
    w = contexts.w[:n] if clock is None else (contexts.w[:n] - contexts.a[:n] / clock).astype(np.float32)
    return _tagging(contexts, contexts.owner[:n].copy(), contexts.code[:n].copy(), np.array(w))


def _tagging(contexts: LabelContextWeights, owner: np.ndarray, code: np.ndarray, w: np.ndarray) -> LabelContextWeights:
    keys, numbers, _ = table_of(owner, code, owner.size, table_size(owner.size))
    return LabelContextWeights(
        contexts.template, contexts.first, contexts.back, keys, numbers, np.array([owner.size]), owner, code, w,
        np.zeros((0, w.shape[1])), np.zeros((0, 0), np.float32),
    )  # fmt: skip


def kept_rows(
    contexts: LabelContextWeights, rows: np.ndarray, attributes: np.ndarray, new: np.ndarray
) -> LabelContextWeights:
    """The weights with some rows bool[R] of some attributes bool[A], renumbered by i32[A]."""
    small = contexts._replace(template=contexts.template[attributes])
    return _tagging(small, new[contexts.owner[rows]], contexts.code[rows], contexts.w[rows])


def drop_unmoved_contexts(collected: Collected, contexts: LabelContextWeights) -> LabelContextWeights:
    """Remove the attributes without a row."""
    if LABEL_CONTEXT not in collected.feature_indexes:
        return contexts
    attributes = np.zeros(contexts.template.size, np.bool_)
    attributes[contexts.owner] = True
    new = collected.keep(LABEL_CONTEXT, attributes)
    return kept_rows(contexts, np.ones(contexts.owner.size, np.bool_), attributes, new)


def top_contexts(contexts: LabelContextWeights, n_states: int, top: int) -> list[tuple[int, list[int], int, float]]:
    """The weights of largest size: attribute, the labels it reads (-1: before the sentence), label, weight."""
    w = contexts.w[:, :n_states]
    found = []
    for place in np.argsort(-np.abs(w), axis=None, kind="stable")[:top].tolist():
        row, label = divmod(place, n_states)
        rest = int(contexts.code[row])
        labels: list[int] = []
        for _ in range(int(np.diff(contexts.first)[contexts.template[contexts.owner[row]]])):
            labels.insert(0, (rest & ((1 << LABEL_BITS) - 1)) - 1)
            rest >>= LABEL_BITS
        if w[row, label]:
            found.append((int(contexts.owner[row]), labels, label, float(w[row, label])))
    return found


# --- resuming -----------------------------------------------------------------------------------------------


def carried(
    encoder: Encoder | None, template: np.ndarray, width: int, old: LabelContextWeights | None,
    keeps_state: bool = False,
) -> LabelContextWeights:  # fmt: skip
    """The rows of an old model, with rows allocated for training; there may be more labels and attributes now."""
    contexts = new_context_weights(encoder, template, width, keeps_state=keeps_state)
    if old is None:
        return contexts
    n = old.owner.size
    w = np.zeros((n, width), np.float32)
    w[:, : old.w.shape[1]] = old.w
    full = contexts._replace(
        used=np.array([n]), owner=old.owner, code=old.code, w=w, a=np.zeros((n, width)),
    )  # fmt: skip
    return _with_rows(full, n, max(INITIAL_ROWS, n))


def saved_contexts(contexts: LabelContextWeights) -> dict[str, np.ndarray]:
    """The state for an exact resumption, besides that of the chain."""
    n = int(contexts.used[0])
    return {
        "past.owner": contexts.owner[:n],
        "past.code": contexts.code[:n],
        "past.w": contexts.w[:n],
        "past.a": contexts.a[:n],
    }


def restored(contexts: LabelContextWeights, state: Mapping[str, np.ndarray]) -> LabelContextWeights:
    """The raw weights and accumulators of a checkpoint."""
    n, width = state["past.owner"].size, contexts.w.shape[1]
    blocks = []
    for name, kind in (("past.w", np.float32), ("past.a", np.float64)):
        block = np.zeros((n, width), kind)
        block[:, : state[name].shape[1]] = state[name]
        blocks.append(block)
    full = contexts._replace(
        used=np.array([n]), owner=state["past.owner"], code=state["past.code"], w=blocks[0], a=blocks[1]
    )
    return _with_rows(full, n, max(INITIAL_ROWS, n))


# --- the model file -----------------------------------------------------------------------------------------


def stored_context_weights(
    encoder: Encoder | None, template: np.ndarray, owner: np.ndarray, code: np.ndarray, w: np.ndarray
) -> LabelContextWeights:
    """The weights of a model file, whose arrays have been checked."""
    return _tagging(new_context_weights(encoder, template, w.shape[1]), owner, code, w)
