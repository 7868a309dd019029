"""Chain models to and from model files. Arrays are declared in array_specs.py, metadata in metadata.py.

`chain_parts` and `chain_from_parts` work on arrays and metadata alone, which pickles and pipelines' files hold too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data import array_specs, model_file
from palmette.data.array_specs import Arrays, ArraySpec
from palmette.data.files import FilePath, shown, write_whole
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.automaton import checked_automaton
from palmette.data.labels.numbers import LabelNumbers
from palmette.data.labels.schemes import Transitions, scheme_named
from palmette.errors import ModelError, UsageError
from palmette.features.encode import Encoder, in_order_of_keys, without_keys
from palmette.features.resources import Resources
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import (
    Chain,
    FeatureWeights,
    TransitionWeights,
    no_state,
    no_sums,
    no_weights,
    stride_of,
)
from palmette.lazy import loaded
from palmette.options.chain import ChainSettings
from palmette.structures.chain.array_specs import (
    EXACT_PAIRS,
    PARTS,
    Layout,
    chain_sizes,
    chain_specs,
    layout_of,
)
from palmette.structures.chain.imported.recognise import load_imported
from palmette.structures.chain.lists import MANY_LABELS, as_rows, entries, from_entries, is_list
from palmette.structures.chain.metadata import TASK, AboutTraining, ChainMeta, Imported, StoredShape
from palmette.structures.chain.model import MOST_BIAS, ChainModel
from palmette.structures.chain.stored_rows import chosen_rows, file_arrays, is_stored, read_rows, without_padding
from palmette.structures.chain.weights import (
    ARITIES,
    Shape,
    as_stored,
    from_stored,
    new_chain,
    used_rows,
)
from palmette.structures.stored import (
    EMPTY,
    ENTRIES,
    FEW,
    Form,
    ModelStore,
    check_growth,
    ordered_names,
    pack_encoder,
    pack_entries,
    pack_index,
    pack_names,
    pack_rows,
    smallest,
    stored_bytes,
    unpack_encoder,
    unpack_index,
    unpack_names,
)

if TYPE_CHECKING:
    from palmette.kernels.chain.forms import LabelContextWeights

CRFSUITE = ".crfsuite"
STORE = ModelStore(TASK, ChainMeta, AboutTraining, ChainSettings)

# --- saving -------------------------------------------------------------------------------------------------


def save_chain(model: ChainModel, path: FilePath) -> None:
    """Write a model file, whole or not at all; CRFsuite's format if the name ends in .crfsuite."""
    if os.fspath(path).lower().endswith(CRFSUITE):
        data: bytes = loaded("connect.crfsuite_models:crfsuite_bytes")(model)
        with write_whole(path) as file:
            file.write(data)
        return
    model_file.save(path, *chain_parts(model))


def chain_parts(model: ChainModel) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model file."""
    own, beam = _pack_meta(model), model.label_contexts is not None
    sizes = chain_sizes(model.shape, own["sizes"])

    def specs(parts: Arrays) -> tuple[ArraySpec, ...]:
        return chain_specs(layout_of(parts, model.encoder, beam), parts)

    arrays, meta = STORE.pack(model, own, _pack_arrays(model), specs, sizes, _checkpoint(model))
    return _with_helpers(arrays, meta, model.helpers)


def _pack_arrays(model: ChainModel) -> dict[str, np.ndarray]:
    words = model.vocabulary
    if model.compact and words.dtype == np.uint64:
        words = np.unique(words >> np.uint64(32)).astype(np.uint32)
    parts: dict[str, np.ndarray] = {"vocabulary" if words.dtype == np.uint64 else "words": words}
    if model.exact is not None:
        parts[EXACT_PAIRS] = model.exact.transitions
    else:
        tables = as_stored((t.w for t in model.searched.transitions), model.shape.n_states)
        parts |= {f"bare.{name}": table for name, table in tables.items()}
    parts |= {f"allowed.{name}": block for name, block in model.allowed._asdict().items()}
    for arity in model.feature_indexes:
        numbered = arity == LABEL_CONTEXT or bool(model.checkpoint)
        parts |= (_pack_numbered if numbered else _pack_sorted)(model, arity)
    return parts


def _pack_numbered(model: ChainModel, arity: int) -> dict[str, np.ndarray]:
    """The attributes of one arity with the numbers and the rows that they have: a checkpoint goes by them."""
    part = PARTS[arity]
    parts = pack_index(part, model.feature_indexes[arity]) | pack_names(part, model.names.get(arity), packed=False)
    if arity == LABEL_CONTEXT:
        return parts | _pack_contexts(model.label_contexts)
    rows = model.chain.weights[arity - 1]
    if arity == 1:
        rows = as_rows(rows, model.shape.n_states)
    parts[f"{part}.weights"] = rows.w[: used_rows(rows)]  # a loaded model counts all of them as given out
    if rows.first.size:
        return parts | {f"{part}.first": rows.first, f"{part}.combo": rows.combo}
    return parts | {f"{part}.slot": rows.slot}


def _pack_sorted(model: ChainModel, arity: int) -> dict[str, np.ndarray]:
    """The attributes of one arity in the order of their keys, without padding."""
    part, index, names = PARTS[arity], model.feature_indexes[arity], model.names.get(arity)
    made = in_order_of_keys(index)
    index, order = (index, np.arange(index.size)) if made is None else made
    names = None if names is None else ordered_names(names, order)
    small = model.compact
    parts = pack_index(part, without_keys(index) if small else index) | pack_names(part, names, packed=small)
    if model.exact is not None:
        from palmette.structures.chain.imported.stored import pack_lists

        return parts | pack_lists(model.exact, arity, order)
    stored, weights = model.searched.stored[arity - 1], model.searched.weights[arity - 1]
    if is_stored(stored):
        return parts | file_arrays(stored if made is None else chosen_rows(stored, order), part)
    if is_list(weights):
        own = pack_entries(part, *entries(weights, order)) if arity == 1 else _sorted_seen(part, weights, order)
        return parts | own
    slot, H = weights.slot[order], model.shape.n_states
    return parts | pack_rows(part, lambda rows: without_padding(weights.w[slot[rows]], H, arity), index.size, None)


def _sorted_seen(part: str, weights: FeatureWeights, order: np.ndarray) -> dict[str, np.ndarray]:
    """Seen label n-grams of attributes in another order."""
    sizes = weights.slot[order].astype(np.int64)
    first = np.cumsum(sizes) - sizes
    places = np.arange(weights.combo.size) + np.repeat(weights.first[:-1][order] - first, sizes)
    return {
        f"{part}.weights": weights.w[places],
        f"{part}.seen": sizes.astype(smallest(int(sizes.max(initial=0)))),
        f"{part}.ngram": weights.combo[places].astype(smallest(int(weights.combo.max(initial=0)))),
    }


def _pack_contexts(contexts: LabelContextWeights | None) -> dict[str, np.ndarray]:
    assert contexts is not None
    return {
        "past.template": contexts.template,
        "past.owner": contexts.owner,
        "past.code": contexts.code,
        "past.weights": contexts.w,
    }


def _checkpoint(model: ChainModel) -> dict[str, np.ndarray]:
    """The state of training, without weights of an arity that no feature has."""
    absent = tuple(f"{arity}." for arity in ARITIES if arity not in model.feature_indexes)
    return {name: array for name, array in model.checkpoint.items() if not name.startswith(absent)}


def _pack_meta(model: ChainModel) -> dict[str, Any]:
    without_templates = {"templates": None, "resources": Resources().to_dict()}
    return {
        "labels": model.labels,
        "shape": _pack_shape(model.shape),
        "scheme": model.scheme,
        **(without_templates if model.encoder is None else pack_encoder(model.encoder)),
        "sizes": {PARTS[arity]: index.size for arity, index in model.feature_indexes.items()},
        "bias": model.bias,
    }


def _pack_shape(shape: Shape) -> dict[str, Any]:
    return {
        "n_labels": shape.n_labels, "order": shape.order, "ends": shape.ends, "transitions": shape.transitions,
        "triples": shape.triples, "per": shape.states_per_label, "states": shape.states, "history": shape.history,
        "local": shape.local,
    }  # fmt: skip


# --- loading ------------------------------------------------------------------------------------------------


def load_chain(path: FilePath, *, copy: bool = False) -> ChainModel:
    """Read a model file, or the model of another tool; ModelError if it is not one of a chain, each number of it as
    declared."""
    imported = load_imported(path)
    if imported is not None:
        return imported
    return chain_from_parts(*model_file.load(path, TASK, copy=copy), shown(path))


def chain_from_parts(arrays: Arrays, meta: dict[str, Any], file: str) -> ChainModel:
    """The model of arrays and metadata as `chain_parts` gives them, all of them checked."""
    stored, settings = STORE.read(meta, file)
    arrays, helpers = _unpack_helpers(arrays, stored, file)
    _check_names(stored, file)
    if isinstance(stored.reading, dict):
        FormatSpec.from_stored(stored.reading, file)
    shape = _unpack_shape(stored.shape, len(stored.labels), file)
    encoder = (
        None if stored.templates is None else unpack_encoder(stored.templates, stored.resources, settings.unicode, file)
    )
    if encoder is not None and encoder.templates.order > shape.order:
        raise ModelError("damaged model: its templates are of a higher order than its states", file=file)
    beam = _beam_of(settings, shape, encoder, file)

    layout = layout_of(arrays, encoder, beam > 0)
    sizes = {PARTS[arity]: _attributes(stored, PARTS[arity], file) for arity in layout.arities}
    found = array_specs.unpack(arrays, chain_specs(layout, arrays), chain_sizes(shape, sizes), file)
    allowed = Transitions(*(found[f"allowed.{name}"] for name in Transitions._fields))
    for arity, form in layout.forms:
        A = sizes[PARTS[arity]]
        if not (layout.exact or as_lists(found, arity, form, shape, A)):
            check_growth(found, PARTS[arity], row_bytes(shape, arity, A), file)
    indexes = {arity: unpack_index(found, PARTS[arity], sizes[PARTS[arity]]) for arity in layout.arities}
    names = {arity: unpack_names(found, PARTS[arity], index, file) for arity, index in indexes.items()}
    make, chain = _unpack_kind(found, layout, shape, allowed, stored, file)
    _check_helpers(helpers, encoder, file)
    return make(
        stored.labels,
        shape,
        allowed,
        stored.scheme,
        encoder,
        indexes,
        chain,
        {arity: own for arity, own in names.items() if own is not None},
        found["vocabulary"] if "vocabulary" in found else found["words"],
        stored.bias,
        label_contexts=unpack_contexts(found, layout, shape, encoder),
        beam=beam,
        settings=settings,
        recombine=beam > 0 and settings.beam is not None and bool(settings.beam.recombine),
        helpers=helpers,
        **STORE.training(stored, found),
    )


def _unpack_kind(
    found: Arrays, layout: Layout, shape: Shape, allowed: Transitions, stored: ChainMeta, file: str
) -> tuple[Callable[..., ChainModel], Chain]:
    """What makes the model, and its chain."""
    if layout.exact:
        if not isinstance(stored.imported, Imported):
            raise ModelError("damaged model: weights of 64 bits, and no tool that they come from", file=file)
        from palmette.structures.chain.imported.model import ImportedModel
        from palmette.structures.chain.imported.stored import exact_chain, unpack_exact

        chain = exact_chain(shape, allowed, layout, file)
        return partial(ImportedModel, exact=unpack_exact(found, layout, stored.imported.tool)), chain
    return ChainModel, unpack_chain_weights(found, layout, shape, allowed, stored.sizes)


def _check_names(stored: ChainMeta, file: str) -> None:
    """What the types of the metadata do not express."""
    if len(set(stored.labels)) != len(stored.labels):
        raise ModelError("damaged model: a label occurs twice", file=file)
    model_file.check_text(stored.labels, "a label", file)
    if isinstance(stored.label_numbers, LabelNumbers):
        try:
            stored.label_numbers.numbers_of(stored.labels)
        except ValueError as error:
            raise ModelError(f"damaged model: {error}", file=file) from None
    for label, value in stored.bias.items():
        if label not in stored.labels or not abs(value) <= MOST_BIAS:
            raise ModelError(f"damaged model: a bias of {value} for the label {label!r}", file=file)
    if stored.scheme is not None:
        try:
            scheme_named(stored.scheme)
        except UsageError as error:
            raise ModelError(f"damaged model: {error}", file=file) from None


def _unpack_shape(stored: StoredShape, n_labels: int, file: str) -> Shape:
    if stored.n_labels != n_labels or len(stored.states) not in (0, n_labels):
        raise ModelError("damaged model: its shape does not fit its labels", file=file)
    if any(count > stored.per for count in stored.states):
        raise ModelError("damaged model: a label has more states than there is room for", file=file)
    history = checked_automaton(stored.history, n_labels, file)
    if history is not None and history.counts != (stored.states or (stored.per,) * n_labels):
        raise ModelError("damaged model: its states are not those of its label histories", file=file)
    return Shape(
        n_labels, stored.order, stored.ends, stored.transitions, stored.triples, stored.per, stored.states, history,
        stored.local,
    )  # fmt: skip


def _beam_of(settings: ChainSettings, shape: Shape, encoder: Encoder | None, file: str) -> int:
    """The width of the beam; 0: exact search."""
    beam = settings.beam
    if beam is not None and shape.local:
        raise ModelError("damaged model: its search is a beam, which maxent does not allow", file=file)
    if beam is None and encoder is not None and LABEL_CONTEXT in encoder.programs:
        raise ModelError("damaged model: its templates read earlier labels, and its search is exact", file=file)
    return 0 if beam is None else beam.width


def _attributes(stored: ChainMeta, part: str, file: str) -> int:
    if part not in stored.sizes:
        raise ModelError(f"damaged model: its metadata lacks the number of attributes of {part!r}", file=file)
    return stored.sizes[part]


# --- helpers ------------------------------------------------------------------------------------------------
# Models that make the columns which the input lacks, each with its place before the names of its arrays: `1/label.low`.

MARK = "/"


def _with_helpers(
    arrays: dict[str, np.ndarray], meta: dict[str, Any], helpers: Sequence[ChainModel]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    about = []
    for place, helper in enumerate(helpers, 1):
        own, of_helper = chain_parts(helper)
        arrays |= {f"{place}{MARK}{name}": array for name, array in own.items()}
        about.append(of_helper)
    return arrays, meta | {"helpers": about} if about else meta


def _unpack_helpers(arrays: Arrays, stored: ChainMeta, file: str) -> tuple[Arrays, tuple[ChainModel, ...]]:
    """The arrays without those of helpers, and the helpers."""
    if not isinstance(stored.helpers, list):
        return arrays, ()
    made = []
    for place, about in enumerate(stored.helpers, 1):
        if "helpers" in about:
            raise ModelError("damaged model: a helper has helpers", file=file)
        head = f"{place}{MARK}"
        own = {name.removeprefix(head): array for name, array in arrays.items() if name.startswith(head)}
        arrays = {name: array for name, array in arrays.items() if not name.startswith(head)}
        made.append(chain_from_parts(own, about, file))
    return arrays, tuple(made)


def _check_helpers(helpers: Sequence[ChainModel], encoder: Encoder | None, file: str) -> None:
    """Each helper reads the columns before the one that it makes."""
    if helpers and (encoder is None or encoder.n_columns != len(helpers) + 1):
        raise ModelError("damaged model: its helpers are not those of its columns", file=file)
    for place, helper in enumerate(helpers, 1):
        if helper.encoder is None or not 1 <= helper.encoder.n_columns <= place:
            raise ModelError("damaged model: a helper reads other columns than it gets", file=file)


# --- weights in the forms that kernels read -----------------------------------------------------------------


def unpack_chain_weights(
    arrays: Arrays, layout: Layout, shape: Shape, allowed: Transitions, sizes: dict[str, int]
) -> Chain:
    """The chain of a file, whose weights stay as they are there."""
    blank, forms = new_chain(shape, {}, allowed, {}), dict(layout.forms)
    rows, stored = {arity: no_weights() for arity in ARITIES}, dict(zip(ARITIES, blank.stored, strict=True))
    for arity in layout.arities:
        if arity == LABEL_CONTEXT:
            continue
        part = PARTS[arity]
        if arity not in forms:
            rows[arity] = _unpack_weights(arrays, part)
        elif arity > 1 and as_lists(arrays, arity, forms[arity], shape, sizes[part]):
            rows[arity] = _unpack_lists(arrays, part, forms[arity], shape.block(arity))
        else:
            stored[arity] = read_rows(arrays, part, forms[arity], shape, arity)
    ends, pairs, triples = (TransitionWeights(table, no_sums(), no_state()) for table in from_stored(arrays, "bare."))
    return blank._replace(
        transitions=(ends, pairs, triples), weights=(rows[1], rows[2], rows[3]),
        stored=(stored[1], stored[2], stored[3]),
    )  # fmt: skip


def _unpack_weights(arrays: Arrays, part: str) -> FeatureWeights:
    w = arrays[f"{part}.weights"]
    if f"{part}.slot" in arrays:
        return no_weights()._replace(slot=arrays[f"{part}.slot"], used=np.array([w.shape[0]], np.int64), w=w)
    if f"{part}.seen" in arrays:
        first = np.concatenate(([0], np.cumsum(arrays[f"{part}.seen"], dtype=np.int64)))
        combo = arrays[f"{part}.ngram"].astype(np.int32)
    else:
        first, combo = arrays[f"{part}.first"], arrays[f"{part}.combo"]
    return no_weights()._replace(slot=np.diff(first).astype(np.int32), first=first, combo=combo, w=w)


def _unpack_lists(arrays: Arrays, part: str, form: Form, block: int) -> FeatureWeights:
    count, state, value = (arrays[f"{part}.{name}"] for name in ENTRIES)
    if form.scaled:
        value = value * np.repeat(arrays[f"{part}.scale"], count)
    return from_entries(block, count, state, value)


def as_lists(arrays: Arrays, arity: int, form: Form, shape: Shape, A: int) -> bool:
    """Whether stored weights become lists: those of many labels, and sparse weights of label pairs and triples if their
    rows would take far more memory than the file."""
    if arity == 1 or not form.sparse:
        return form.sparse and not form.scaled and shape.n_labels >= MANY_LABELS
    stored = stored_bytes(arrays, PARTS[arity])
    return not shape.latent and row_bytes(shape, arity, A) > EMPTY + FEW * stored


def row_bytes(shape: Shape, arity: int, A: int) -> int:
    """The memory of dense rows."""
    return 4 * (A + 1) * shape.width(arity)


def unpack_contexts(
    arrays: Arrays, layout: Layout, shape: Shape, encoder: Encoder | None
) -> LabelContextWeights | None:
    if not layout.beam:
        return None
    from palmette.structures.chain.label_context import no_context_weights, stored_context_weights

    if LABEL_CONTEXT in layout.arities:
        names = ("past.template", "past.owner", "past.code", "past.weights")
        return stored_context_weights(encoder, *(arrays[name] for name in names))
    return no_context_weights(stride_of(shape.n_states))
