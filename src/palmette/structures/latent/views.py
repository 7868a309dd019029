"""Views of a sentence's latent structure: chunkings in five representations, general states, or none at all.

Each view has its own tags, including its own O, and its own weights for the same attributes. Its scheme determines
which tags may follow each other. `packed` lays several views side by side for the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import msgspec
import numpy as np

from palmette.data.labels.schemes import Transitions, allowed_transitions, letter_at, scheme_named, split_label
from palmette.kernels.chain.forms import stride_of
from palmette.kernels.latent.forms import AFTER, BEFORE, ENDS, STARTS
from palmette.kernels.latent.forms import Views as Packed
from palmette.options.latent import VIEWS
from palmette.structures.chain.weights import everything_allowed, forbidding

_OF_PART = (STARTS, ENDS, AFTER, BEFORE)


class View(msgspec.Struct, frozen=True):
    """A view: its name, its tags, and the scheme that they follow ("" for general states)."""

    name: str
    tags: tuple[str, ...]
    scheme: str = ""

    @property
    def allowed(self) -> Transitions:
        return allowed_transitions(self.tags, self.scheme) if self.scheme else everything_allowed(len(self.tags))


def chunk_view(name: str, types: Sequence[str]) -> View:
    """A chunking in one of the five representations, O first: what weighs nothing is outside of chunks."""
    scheme = VIEWS[name]
    letters = [letter for letter in scheme_named(scheme).letters if letter != "O"]
    tags = [f"{letter}-{kind}" if kind else letter for kind, letter in product(types, letters)]
    return View(name, ("O", *tags), scheme)


def make_views(latent: str | int, names: Sequence[str], types: Sequence[str]) -> list[View]:
    """The views of a classifier: chunk views, `latent` general states, or only the words ("none")."""
    if latent == "chunks":
        return [chunk_view(name, types) for name in names]
    if latent == "none":
        return [View("none", ("X",))]
    return [View("states", tuple(f"H{k}" for k in range(1, int(latent) + 1)))]


def packed(views: Sequence[View], types: Sequence[str], pairs: bool) -> Packed:
    """The tables of the views for the kernels."""
    sizes = [len(view.tags) for view in views]
    strides = [stride_of(size) for size in sizes]
    column = np.cumsum([0, *strides]).astype(np.int64)
    kind = np.full(column[-1], -1, np.int32)
    opens, closes = np.zeros(column[-1], np.bool_), np.zeros(column[-1], np.bool_)
    written = np.zeros((len(views), len(types) + 1, 16), np.int32)
    flat: dict[str, list[np.ndarray]] = {"forbid": [], "first": [], "last": []}
    for r, view in enumerate(views):
        at, allowed = int(column[r]), view.allowed
        for name, block in zip(("forbid", "first", "last"), (allowed.pair, allowed.start, allowed.end), strict=True):
            flat[name].append(forbidding(block, strides[r]).reshape(-1))
        for h, tag in enumerate(view.tags if view.scheme else ()):
            letter, of = split_label(tag)
            kind[at + h] = types.index(of) if letter != "O" else -1
            opens[at + h], closes[at + h] = letter in "BS", letter in "ES"
        if view.scheme:
            written[r] = _written(view, types)
    edge = np.cumsum([0, *(size * stride for size, stride in zip(sizes, strides, strict=True))]).astype(np.int64)
    forbid, first, last = (np.concatenate(flat[name]) for name in ("forbid", "first", "last"))
    return Packed(
        np.array(sizes, np.int64), np.array(strides, np.int64), column, edge, kind, opens, closes, written,
        forbid, first, last, pairs,
    )  # fmt: skip


def _written(view: View, types: Sequence[str]) -> np.ndarray:
    """i32[types + 1, 16]: the state of a token by its type and its part in the chunk; the last row is outside."""
    table = np.zeros((len(types) + 1, 16), np.int32)
    for (k, of), role in product(enumerate(types), range(16)):
        letter = letter_at(view.scheme, *(bool(role & part) for part in _OF_PART))
        table[k, role] = view.tags.index(f"{letter}-{of}" if of else letter)
    return table
