"""The arrays of a chain model's file, each declared once.

Letters (see kernels/chain/forms.py): Y labels, H states, W the stride of a row of states, A attributes of one arity.
Arrays of label n-grams of arity 1, 2 and 3 are named after `PARTS`; `checkpoint.` is the state of an interrupted
training. What a file holds depends on its `Layout`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data.array_specs import (
    AddsUpTo,
    Arrays,
    ArraySpec,
    CheckedArrays,
    Offsets,
    OneOwnerPerRow,
    RisingInGroups,
    RisingWithin,
    ZeroRow,
)
from palmette.features.encode import Encoder
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import stride_of
from palmette.structures.chain.weights import ARITIES, Shape
from palmette.structures.stored import CHECKPOINT, Form, form_of, index_specs, name_specs, row_specs, type_of

PARTS = {1: "label", 2: "pair", 3: "triple", LABEL_CONTEXT: "past"}
BLOCKS: dict[str, tuple[int | str, ...]] = {"end": (2, "W"), "pair": ("H", "W"), "triple": ("cubes", "H", "W")}
SEEN = ("first", "combo", "seen", "ngram")  # names of arrays that only seen label n-grams have


class Layout(msgspec.Struct, frozen=True):
    """Which arrays the file of a chain model holds."""

    arities: tuple[int, ...]  # of its features; LABEL_CONTEXT: features that read earlier labels
    seen: frozenset[int] = frozenset()  # arities that have weights for seen label n-grams only
    beam: bool = False
    reads: tuple[int, ...] = ()  # how many labels each template of arity LABEL_CONTEXT reads
    checkpoint: bool = False
    random_start: bool = False  # whether the checkpoint has the random start of a latent chain
    drawn_features: bool = False  # and the seed of that of its attributes
    forms: tuple[tuple[int, Form], ...] = ()  # arities whose rows are stored without padding (structures/stored.py)
    exact: bool = False  # float64 lists of a model of another tool (imported/model.py)


def arities_of(encoder: Encoder | None) -> tuple[int, ...]:
    """Ready-made attributes, without an encoder, are of arity 1."""
    return (1,) if encoder is None else tuple(encoder.programs)


def reads_of(encoder: Encoder | None) -> tuple[int, ...]:
    templates = () if encoder is None else encoder.of_order(LABEL_CONTEXT)
    return tuple(len(template.earlier_labels) for template in templates)


def layout_of(arrays: Arrays, encoder: Encoder | None, beam: bool) -> Layout:
    """The layout that the names of the arrays show. Arity 1 has a weight for every label, never for seen ones only; an
    arity has one form, and what belongs to another is ignored."""
    arities = arities_of(encoder)
    forms = {k: form for k in ARITIES if k in arities and (form := form_of(arrays, PARTS[k])) is not None}
    others = [k for k in (2, 3) if k in arities and k not in forms]
    return Layout(
        arities,
        frozenset(k for k in others if arrays.keys() & {f"{PARTS[k]}.{name}" for name in SEEN}),
        beam,
        reads_of(encoder),
        any(name.startswith(CHECKPOINT) for name in arrays),
        any(name.startswith(f"{CHECKPOINT}start.") for name in arrays),
        f"{CHECKPOINT}start.seed" in arrays,
        tuple(forms.items()),
        EXACT_PAIRS in arrays,
    )


def chain_sizes(shape: Shape, attributes: dict[str, int]) -> dict[str, int]:
    """The sizes that follow from the metadata; attributes: of each part."""
    H = shape.n_states
    sizes = {"Y": shape.n_labels, "H": H, "W": stride_of(H), "cubes": H if shape.order >= 2 else 0, "past.A": 0}
    for k in (1, 2, 3):
        own = {"width": shape.width(k), "combinations": shape.combinations(k), "block": shape.block(k), "cells": H**k}
        sizes |= {f"{PARTS[k]}.{name}": size for name, size in own.items()}
    return sizes | {f"{part}.A": size for part, size in attributes.items()}


def chain_specs(layout: Layout, arrays: Arrays) -> tuple[ArraySpec, ...]:
    """All arrays of a layout; `arrays` shows which attributes have names."""
    specs = [
        *((EXACT_SPEC,) if layout.exact else _transition_specs("bare.", np.float32)),
        *ALLOWED_SPECS,
        FEW_BITS if "words" in arrays else VOCABULARY,
    ]
    forms = dict(layout.forms)
    for arity in layout.arities:
        part = PARTS[arity]
        specs += [*index_specs(part, arrays), *name_specs(part, arrays)]
        if arity == LABEL_CONTEXT:
            specs += context_specs(layout.reads)
        elif layout.exact:
            specs += exact_specs(part, arrays)
        elif arity in forms:
            specs += row_specs(part, forms[arity])
        elif arity in layout.seen:
            counted = f"{part}.seen" in arrays or f"{part}.ngram" in arrays
            specs += counted_specs(part, arrays) if counted else seen_specs(part)
        else:
            specs += dense_specs(part)
    return tuple(specs) + (checkpoint_specs(layout) if layout.checkpoint else ())


EXACT_PAIRS = "exact.pair"
EXACT_SPEC = ArraySpec(EXACT_PAIRS, np.float64, ("Y", "Y"), finite=True)
VOCABULARY = ArraySpec("vocabulary", np.uint64, ("words",))  # hashes of training words
FEW_BITS = ArraySpec("words", np.uint32, ("words",))  # their first halves, in a compact model
ALLOWED_SPECS = (
    ArraySpec("allowed.start", np.bool_, ("Y",)),
    ArraySpec("allowed.pair", np.bool_, ("Y", "Y")),
    ArraySpec("allowed.end", np.bool_, ("Y",)),
)


def _transition_specs(head: str, dtype: type[np.generic]) -> list[ArraySpec]:
    """Weights of states alone, or their accumulators. A zero probability of an HMM weighs minus infinity."""
    return [ArraySpec(f"{head}{name}", dtype, shape, high=np.inf) for name, shape in BLOCKS.items()]


def dense_specs(part: str) -> tuple[ArraySpec, ...]:
    """Rows with a weight for every state n-gram; see kernels.chain.forms.FeatureWeights."""
    rows = f"{part}.rows"
    return (
        ArraySpec(f"{part}.weights", np.float32, (rows, f"{part}.width"), high=np.inf, rules=(ZeroRow(),)),
        ArraySpec(f"{part}.slot", np.int32, (f"{part}.A",), low=0, high=rows, rules=(OneOwnerPerRow(rows),)),
    )


def seen_specs(part: str) -> tuple[ArraySpec, ...]:
    """Blocks of weights for the label n-grams that an attribute occurred with."""
    ngrams = f"{part}.ngrams"
    return (
        ArraySpec(f"{part}.weights", np.float32, (ngrams, f"{part}.block"), high=np.inf),
        ArraySpec(f"{part}.first", np.int64, (f"{part}.A+1",), rules=(Offsets(ngrams),)),
        ArraySpec(
            f"{part}.combo",
            np.int32,
            (ngrams,),
            low=0,
            high=f"{part}.combinations",
            rules=(RisingWithin(f"{part}.first"),),
        ),
    )


def counted_specs(part: str, arrays: Arrays) -> tuple[ArraySpec, ...]:
    """As seen_specs, with the number of n-grams of each attribute, in small types."""
    ngrams = f"{part}.ngrams"
    count, ngram = (type_of(arrays, f"{part}.{name}") for name in ("seen", "ngram"))
    rising = RisingInGroups(f"{part}.seen")
    return (
        ArraySpec(f"{part}.weights", np.float32, (ngrams, f"{part}.block"), high=np.inf),
        ArraySpec(f"{part}.seen", count, (f"{part}.A",), rules=(AddsUpTo(ngrams),)),
        ArraySpec(f"{part}.ngram", ngram, (ngrams,), high=f"{part}.combinations", rules=(rising,)),
    )


def exact_specs(part: str, arrays: Arrays) -> tuple[ArraySpec, ...]:
    """As counted_specs, with one weight of 64 bits for each n-gram."""
    _, count, ngram = counted_specs(part, arrays)
    return (ArraySpec(f"{part}.exact", np.float64, (f"{part}.ngrams",), finite=True), count, ngram)


# --- label contexts -----------------------------------------------------------------------------------------


def context_specs(reads: tuple[int, ...]) -> tuple[ArraySpec, ...]:
    """Rows of features that read earlier labels; see kernels/chain/label_context.py."""
    weights = ArraySpec("past.weights", np.float32, ("past.rows", "W"), high=np.inf)
    template = ArraySpec("past.template", np.int32, ("past.A",), low=0, high=len(reads))
    return (weights, template, *_row_specs("past.", "past.rows", reads))


def _row_specs(head: str, rows: str, reads: tuple[int, ...]) -> tuple[ArraySpec, ...]:
    return (
        ArraySpec(f"{head}owner", np.int32, (rows,), low=0, high="past.A"),
        ArraySpec(f"{head}code", np.int64, (rows,), low=0, rules=(LabelCodes(f"{head}owner", reads),)),
    )


class LabelCodes(msgspec.Struct, frozen=True):
    """Codes of as many labels as the template of the row's attribute reads; no pair of attribute and code twice."""

    owner: str
    reads: tuple[int, ...]  # of each template

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        if not array.size:
            return None
        from palmette.kernels.chain.label_context import LABEL_BITS, table_of
        from palmette.structures.chain.label_context import table_size

        owner, template = found.arrays[self.owner], found.arrays["past.template"]
        reads = np.array(self.reads, np.int64)[template[owner]]
        rest = array.copy()
        for k in range(int(reads.max(initial=0))):
            label = rest & ((1 << LABEL_BITS) - 1)
            if (label[reads > k] > found.sizes["Y"]).any():
                return "has a label that does not exist"
            rest = np.where(reads > k, rest >> LABEL_BITS, rest)
        if rest.any():
            return "has more labels than a template reads"
        if not table_of(owner, array, array.size, table_size(array.size))[2]:
            return f"has the same labels twice for an attribute of {self.owner!r}"
        return None


# --- checkpoint ---------------------------------------------------------------------------------------------


def checkpoint_specs(layout: Layout) -> tuple[ArraySpec, ...]:
    """Raw weights, accumulators and clock, which an exact resumption needs."""
    # Beyond this, adding 1 per sentence would not move the clock, by which training sees how far it is.
    specs = [ArraySpec(f"{CHECKPOINT}clock", np.float64, (1,), low=1, high=2.0**52)]
    specs += _transition_specs(f"{CHECKPOINT}bare.", np.float32) + _transition_specs(f"{CHECKPOINT}sums.", np.float64)
    if layout.random_start:
        specs += _transition_specs(f"{CHECKPOINT}start.", np.float32)
    if layout.drawn_features:
        specs.append(ArraySpec(f"{CHECKPOINT}start.seed", np.uint64, (1,)))
        specs.append(ArraySpec(f"{CHECKPOINT}start.size", np.float64, (1,), low=0, finite=True))
    for arity in layout.arities:
        if arity != LABEL_CONTEXT:
            specs += _resumed_specs(arity, arity in layout.seen)
    return (*specs, *(_resumed_context_specs(layout.reads) if layout.beam else ()))


def _resumed_specs(arity: int, seen: bool) -> tuple[ArraySpec, ...]:
    head, part = f"{CHECKPOINT}{arity}.", PARTS[arity]
    if seen:
        shape: tuple[str, str] = (f"{part}.ngrams", f"{part}.block")
        return (
            ArraySpec(f"{head}w", np.float32, shape, high=np.inf),
            ArraySpec(f"{head}a", np.float64, shape, finite=True),
            ArraySpec(f"{head}slot", np.int32, (f"{part}.A",)),  # stored, never followed
        )
    rows = f"{head}rows"
    shape = (rows, f"{part}.width")
    return (
        ArraySpec(f"{head}w", np.float32, shape, high=np.inf, rules=(ZeroRow(),)),
        ArraySpec(f"{head}a", np.float64, shape, finite=True, rules=(ZeroRow(),)),
        ArraySpec(f"{head}slot", np.int32, (f"{part}.A",), low=0, high=rows, rules=(OneOwnerPerRow(rows),)),
    )


def _resumed_context_specs(reads: tuple[int, ...]) -> tuple[ArraySpec, ...]:
    head, rows = f"{CHECKPOINT}past.", f"{CHECKPOINT}past.rows"
    return (
        ArraySpec(f"{head}w", np.float32, (rows, "W"), finite=True),
        ArraySpec(f"{head}a", np.float64, (rows, "W"), finite=True),
        *_row_specs(head, rows, reads),
    )
