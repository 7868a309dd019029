"""Weights of attributes on states as 8-bit numbers with a scale per attribute, and the model that tags with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from palmette.kernels.chain.forms import Chain, FeatureWeights, no_weights
from palmette.kernels.chain.viterbi import PackedRows, decode_packed
from palmette.kernels.core.types import aligned_zeros
from palmette.structures.chain.lists import as_rows
from palmette.structures.chain.model import ChainModel

LARGEST = 127


def scale_of(w: np.ndarray) -> np.ndarray:
    """What the numbers of each row [A, ..] are multiplied by, f32[A]; 1 for rows of zeros."""
    most = np.abs(w.reshape(w.shape[0], math.prod(w.shape[1:]))).max(axis=1, initial=0.0)
    return np.where(most > 0, most / LARGEST, 1.0).astype(np.float32)


def scaled(w: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Rows [A, width] as the nearest 8-bit numbers, i8[A, width]."""
    return np.rint(w / scale[:, None]).astype(np.int8)


def packed_rows(weights: FeatureWeights) -> PackedRows:
    """The rows of all attributes, in their order; padding included, which is zero."""
    w = weights.w[weights.slot]
    scale = scale_of(w)
    number = aligned_zeros(w.shape, np.int8)
    number[...] = scaled(w, scale)
    return PackedRows(number, scale)


def unpacked_rows(packed: PackedRows) -> FeatureWeights:
    """Weights as 32-bit floats, for everything but tagging."""
    number, scale = packed
    w = aligned_zeros((number.shape[0] + 1, number.shape[1]), np.float32)
    np.multiply(number, scale[:, None], out=w[1:])
    slot = np.arange(1, number.shape[0] + 1, dtype=np.int32)
    return no_weights()._replace(slot=slot, used=np.array([w.shape[0]], np.int64), w=w)


def round_rows(weights: FeatureWeights) -> FeatureWeights:
    """The weights of label pairs or triples as their 8-bit numbers give them, in 32-bit floats."""
    if weights.first.size or weights.w.shape[0] <= 1:
        return weights
    scale = scale_of(weights.w)
    return weights._replace(w=scaled(weights.w, scale) * scale[:, None])


class CompactModel(ChainModel):
    """A chain model with packed weights of attributes on states. Tagging by the best path works on them; `chain`, which
    everything else asks for, unpacks them once."""

    def __init__(self, *parts: Any, packed: PackedRows, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._packed = packed
        self.bare: Chain = self.__dict__.pop("chain")  # without weights of attributes on states

    @property
    def packed(self) -> PackedRows:
        return self._packed

    @cached_property
    def chain(self) -> Chain:  # type: ignore[override]
        _, two, three = self.bare.weights
        return self.bare._replace(weights=(unpacked_rows(self._packed), two, three))

    def replaced(self, *, packed: PackedRows, chain: Chain, **parts: Any) -> CompactModel:
        """A model with other parts."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.init and one.name != "chain"}
        return CompactModel(packed=packed, chain=chain, **(own | parts))

    @property
    def searched(self) -> Chain:
        return self.bare

    def search(self, bias: dict[str, float] | None) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return decode_packed, (self.bare._replace(bias=self.bias_row(bias)), self._packed)


def compact_model(model: ChainModel) -> CompactModel:
    """The model with weights of 8 bits."""
    one, two, three = model.chain.weights
    bare = model.chain._replace(weights=(no_weights(), round_rows(two), round_rows(three)))
    own = {part.name: getattr(model, part.name) for part in fields(model) if part.init and part.name != "chain"}
    packed = packed_rows(as_rows(one, model.shape.n_states))
    return CompactModel(packed=packed, chain=bare, **(own | {"checkpoint": {}}))
