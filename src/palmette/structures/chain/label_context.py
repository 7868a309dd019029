"""Weights of templates that read earlier labels: created, grown, averaged, resumed.

See kernels/chain/label_context.py for what they are. The hash table is not stored: it is rebuilt from the owners and
label codes of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palmette.features.encode import Encoder
from palmette.features.templates import PAST
from palmette.kernels.chain.label_context import LABEL_BITS, LabelContextWeights, table_of
from palmette.structures.chain.data import Collected
from palmette.structures.chain.weights import aligned_zeros

ROOM = 1 << 10  # rows allocated at first


def new_context_weights(
    encoder: Encoder | None, template: np.ndarray, width: int, rows: int = 0, keeps_state: bool = False
) -> LabelContextWeights:
    """Weights without a row in use and `rows` allocated; template: i32[A], the template of each attribute."""
    backs = [] if encoder is None else [template.past for template in encoder.of_order(PAST)]
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
    if PAST not in collected.alphabets:
        return np.zeros(0, np.int32)
    assert collected.encoder is not None
    first = collected.first[PAST]
    made = (first % len(collected.encoder.of_order(PAST))).astype(np.int32)
    if old is not None:
        made[: old.template.size] = old.template
    return made


def table_size(rows: int) -> int:
    """Places of a table of so many rows, at most half of them taken."""
    return 1 << max(4, int(2 * rows).bit_length())


def grown(past: LabelContextWeights, needed: int) -> LabelContextWeights:
    """The weights with `needed` more rows allocated."""
    n, rows = int(past.used[0]), max(ROOM, past.w.shape[0])
    while n + needed > rows:
        rows *= 2
    return _with_room(past, n, rows)


def _with_room(past: LabelContextWeights, n: int, rows: int) -> LabelContextWeights:
    bigger = new_context_weights(None, past.template, past.w.shape[1], rows, past.state.shape[1] > 0)
    for old, new in zip(past[6:], bigger[6:], strict=True):
        new[: min(n, old.shape[0])] = old[:n]
    keys, numbers, _ = table_of(past.owner, past.code, n, table_size(rows))
    return bigger._replace(first=past.first, back=past.back, keys=keys, numbers=numbers, used=np.array([n]))


def restart_past(past: LabelContextWeights, clock: float) -> None:
    """Continue training from the averaged weights."""
    past.w[:] -= past.a / clock
    past.a[:] = 0


def past_norm(past: LabelContextWeights) -> float:
    rows = past.w[: int(past.used[0])]
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).sum(dtype=np.float64)))


def estimated_past(past: LabelContextWeights, clock: float | None) -> LabelContextWeights:
    """The resulting weights, without accumulators: the last ones, or with `clock` the average."""
    n = int(past.used[0])
    w = past.w[:n] if clock is None else (past.w[:n] - past.a[:n] / clock).astype(np.float32)
    return _tagging(past, past.owner[:n].copy(), past.code[:n].copy(), np.array(w))


def _tagging(past: LabelContextWeights, owner: np.ndarray, code: np.ndarray, w: np.ndarray) -> LabelContextWeights:
    keys, numbers, _ = table_of(owner, code, owner.size, table_size(owner.size))
    return LabelContextWeights(
        past.template, past.first, past.back, keys, numbers, np.array([owner.size]), owner, code, w,
        np.zeros((0, w.shape[1])), np.zeros((0, 0), np.float32),
    )  # fmt: skip


def kept_rows(
    past: LabelContextWeights, rows: np.ndarray, attributes: np.ndarray, new: np.ndarray
) -> LabelContextWeights:
    """The weights with some rows bool[R] of some attributes bool[A], renumbered by i32[A]."""
    small = past._replace(template=past.template[attributes])
    return _tagging(small, new[past.owner[rows]], past.code[rows], past.w[rows])


def drop_unmoved_past(collected: Collected, past: LabelContextWeights) -> LabelContextWeights:
    """Remove the attributes without a row."""
    if PAST not in collected.alphabets:
        return past
    attributes = np.zeros(past.template.size, np.bool_)
    attributes[past.owner] = True
    new = collected.keep(PAST, attributes)
    return kept_rows(past, np.ones(past.owner.size, np.bool_), attributes, new)


def top_past(past: LabelContextWeights, n_states: int, top: int) -> list[tuple[int, list[int], int, float]]:
    """The weights of largest size: attribute, the labels it reads (-1: before the sentence), label, weight."""
    w = past.w[:, :n_states]
    found = []
    for place in np.argsort(-np.abs(w), axis=None, kind="stable")[:top].tolist():
        row, label = divmod(place, n_states)
        rest = int(past.code[row])
        labels: list[int] = []
        for _ in range(int(np.diff(past.first)[past.template[past.owner[row]]])):
            labels.insert(0, (rest & ((1 << LABEL_BITS) - 1)) - 1)
            rest >>= LABEL_BITS
        if w[row, label]:
            found.append((int(past.owner[row]), labels, label, float(w[row, label])))
    return found


# --- resuming -----------------------------------------------------------------------------------------------


def carried(
    encoder: Encoder | None, template: np.ndarray, width: int, old: LabelContextWeights | None,
    keeps_state: bool = False,
) -> LabelContextWeights:  # fmt: skip
    """The rows of an old model, with rows allocated for training; there may be more labels and attributes now."""
    past = new_context_weights(encoder, template, width, keeps_state=keeps_state)
    if old is None:
        return past
    n = old.owner.size
    w = np.zeros((n, width), np.float32)
    w[:, : old.w.shape[1]] = old.w
    full = past._replace(
        used=np.array([n]), owner=old.owner, code=old.code, w=w, a=np.zeros((n, width)),
    )  # fmt: skip
    return _with_room(full, n, max(ROOM, n))


def saved_past(past: LabelContextWeights) -> dict[str, np.ndarray]:
    """The state for an exact resumption, besides that of the chain."""
    n = int(past.used[0])
    return {"past.owner": past.owner[:n], "past.code": past.code[:n], "past.w": past.w[:n], "past.a": past.a[:n]}


def restored(past: LabelContextWeights, state: Mapping[str, np.ndarray]) -> LabelContextWeights:
    """The raw weights and accumulators of a checkpoint."""
    n, width = state["past.owner"].size, past.w.shape[1]
    blocks = []
    for name, kind in (("past.w", np.float32), ("past.a", np.float64)):
        block = np.zeros((n, width), kind)
        block[:, : state[name].shape[1]] = state[name]
        blocks.append(block)
    full = past._replace(
        used=np.array([n]), owner=state["past.owner"], code=state["past.code"], w=blocks[0], a=blocks[1]
    )
    return _with_room(full, n, max(ROOM, n))


# --- the model file -----------------------------------------------------------------------------------------


def stored_context_weights(
    encoder: Encoder | None, template: np.ndarray, owner: np.ndarray, code: np.ndarray, w: np.ndarray
) -> LabelContextWeights:
    """The weights of a model file, whose arrays have been checked."""
    return _tagging(new_context_weights(encoder, template, w.shape[1]), owner, code, w)
