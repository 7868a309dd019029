"""Every declaration of a stored array is broken in every way it can be, and each time the file is refused."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_models import COMPACT_PARSER, FILES, FORMS, unpacked

from palmette.classification.serialise import classifier_sizes, classifier_specs, is_averaged, load_classifier
from palmette.data import (
    AddsUpTo,
    ArraySpec,
    CheckedArrays,
    Offsets,
    OneOwnerPerRow,
    RisingWithin,
    ZeroRow,
    array_specs,
    model_file,
)
from palmette.data.array_specs import HashTable, RisingInGroups, size_of
from palmette.errors import ModelError
from palmette.lab.hmm.estimator import load_hmm, table_specs
from palmette.lab.lm.files import (
    ByOrder,
    NeverBegins,
    OneWordShorter,
    StoredWords,
    WordsFirst,
    lm_sizes,
    lm_specs,
)
from palmette.lab.lm.files import load as load_lm
from palmette.lab.lm.files import save as save_lm
from palmette.parsing.serialise import (
    ActionWeights,
    FeatureLists,
    ListBuckets,
    TrainedLists,
    load_parser,
    parser_specs,
)
from palmette.structures import load_chain
from palmette.structures.chain.array_specs import LabelCodes, chain_sizes, chain_specs, layout_of
from palmette.structures.stored import Buckets

Arrays = dict[str, np.ndarray]
OPTIONAL = (".rest", ".packed_names")  # a file may lack them, and `seen` of a language model
Damage = Callable[[Arrays, ArraySpec, Any], None]
LOADERS: dict[str, Callable[[Path], Any]] = {
    "chain": lambda path: load_any_chain(path), "parse": load_parser, "classify": load_classifier, "lm": load_lm,
}  # fmt: skip


def load_any_chain(path: Path) -> Any:
    """A chain, and the tables of an HMM if it has some."""
    model = load_chain(path)
    if "counting" in model.meta:
        load_hmm(path)
    return model


def fields_of(rule: object) -> list[Any]:
    """The values that a rule was declared with."""
    names = getattr(rule, "__struct_fields__", None)
    return [getattr(rule, name) for name in (vars(rule) if names is None else names)]


def declarations(path: Path) -> tuple[tuple[ArraySpec, ...], dict[str, int]]:
    """The specs of a model file, and the sizes that follow from its metadata."""
    arrays, meta = model_file.load(path)
    model = LOADERS[meta["task"]](path)
    if meta["task"] == "chain":
        layout = layout_of(arrays, model.encoder, model.label_contexts is not None)
        tables, sizes = (), chain_sizes(model.shape, meta["sizes"])
        if "counting" in meta:
            tables = table_specs(meta["counting"]["order"], meta["counting"]["ends"])
            sizes |= {"V": len(load_hmm(path).model.vocabulary)}
        return (*chain_specs(layout, arrays), *tables), sizes
    if meta["task"] == "classify":
        return classifier_specs(arrays, is_averaged(model.settings)), classifier_sizes(model.packed, meta["attributes"])
    if meta["task"] == "parse":
        return parser_specs(arrays, model.settings), {"actions": len(meta["actions"])}
    return lm_specs(tuple(meta["sizes"]), meta.get("share", 1) < 1, arrays), lm_sizes(meta["sizes"])


def bound_sizes(arrays: Arrays, specs: Sequence[ArraySpec], sizes: dict[str, int]) -> dict[str, int]:
    found = dict(sizes)
    for spec in specs:
        for size, length in zip(spec.shape, arrays[spec.name].shape, strict=True):
            if isinstance(size, str) and "+" not in size:
                found.setdefault(size, length)
    return found


# --- damages of form and range ------------------------------------------------------------------------------


def mentions(spec: ArraySpec, size: str) -> bool:
    """Whether the length of an array, or a rule of it, depends on a size. A bound does not: more is right."""
    name = size.partition("+")[0]
    own = [str(other).partition("+")[0] for other in spec.shape]
    return name in own or any(name in fields_of(rule) for rule in spec.rules)


def form_damages(
    arrays: Arrays, spec: ArraySpec, specs: Sequence[ArraySpec], sizes: dict[str, int]
) -> Iterator[tuple[Arrays, set[str]]]:
    """Arrays with a wrong presence, dtype or shape of one, and the names of arrays one of which is to be named."""
    array, own = arrays[spec.name], {spec.name}
    if spec.name != "seen" and not spec.name.endswith(OPTIONAL):
        # without its first array, a form looks like another one, which is then reported to lack an array
        instead = {spec.name.replace("name_offset", "name_size"), spec.name.replace(".rows", ".weights")}
        instead |= {"words": {"vocabulary"}, "small.lists": {"entry"}}.get(spec.name, set())
        yield {name: a for name, a in arrays.items() if name != spec.name}, own | instead
    other = np.float64 if array.dtype != np.float64 else np.float32
    yield arrays | {spec.name: array.astype(other)}, own
    yield arrays | {spec.name: array[None]}, own
    for axis, size in enumerate(spec.shape):
        others = own if isinstance(size, int) else own | {s.name for s in specs if mentions(s, size)}
        if isinstance(size, str) and size.partition("+")[0] not in sizes and others == own:
            continue  # any length is right
        if array.shape[axis]:
            longer = np.concatenate((array, array.take([-1], axis=axis)), axis=axis)
            shorter = array.take(range(array.shape[axis] - 1), axis=axis)
            for changed in (longer, shorter):
                yield arrays | {spec.name: np.ascontiguousarray(changed)}, others


def range_damages(arrays: Arrays, spec: ArraySpec, sizes: dict[str, int]) -> Iterator[np.ndarray]:
    """Values outside of the declared range, in the last place of an array."""
    array = arrays[spec.name]
    wrong: list[Any] = []
    if spec.low is not None:
        low = size_of(spec.low, sizes) if isinstance(spec.low, str) else spec.low
        wrong.append(low - 1)
    if spec.high is not None:
        wrong.append(size_of(spec.high, sizes) if isinstance(spec.high, str) else spec.high)
    if array.dtype.kind == "f" and (spec.low is not None or spec.high is not None or spec.finite):
        wrong.append(np.nan)
    if spec.finite:
        wrong += [np.inf, -np.inf]
    for value in wrong:
        if array.size:
            changed = array.copy()
            changed.reshape(-1)[-1] = value
            yield changed


# --- damages of rules ---------------------------------------------------------------------------------------


def at(place: Any, value: Any) -> Damage:
    def damage(arrays: Arrays, spec: ArraySpec, rule: Any) -> None:
        arrays[spec.name][place] = value

    return damage


def _falling(arrays: Arrays, spec: ArraySpec, rule: Any) -> None:
    offsets = arrays[spec.name]
    k = next(k for k in range(1, offsets.size - 1) if offsets[k] > 0)
    offsets[k] = offsets[-1] if offsets[k] < offsets[-1] else 0


def _group(arrays: Arrays, spec: ArraySpec, rule: RisingWithin) -> int:
    """The first place of a group of two or more."""
    first = arrays[rule.offsets]
    return int(next(a for a, b in itertools.pairwise(first) if b - a > 1))


def _equal(arrays: Arrays, spec: ArraySpec, rule: RisingWithin) -> None:
    k = _group(arrays, spec, rule)
    arrays[spec.name][k + 1] = arrays[spec.name][k]


def _swapped(arrays: Arrays, spec: ArraySpec, rule: RisingWithin) -> None:
    k = _group(arrays, spec, rule)
    arrays[spec.name][[k, k + 1]] = arrays[spec.name][[k + 1, k]]


def _groups(arrays: Arrays, rule: RisingInGroups) -> int:
    """The first place of a group of two or more."""
    sizes = arrays[rule.sizes].astype(np.int64)
    large = int(next(k for k, size in enumerate(sizes) if size > 1))
    return int(sizes[:large].sum())


def _equal_in_group(arrays: Arrays, spec: ArraySpec, rule: RisingInGroups) -> None:
    k = _groups(arrays, rule)
    arrays[spec.name][k + 1] = arrays[spec.name][k]


def _swapped_in_group(arrays: Arrays, spec: ArraySpec, rule: RisingInGroups) -> None:
    k = _groups(arrays, rule)
    arrays[spec.name][[k, k + 1]] = arrays[spec.name][[k + 1, k]]


def _one_more(arrays: Arrays, spec: ArraySpec, rule: AddsUpTo) -> None:
    arrays[spec.name][0] += 1


def _odd_buckets(arrays: Arrays, spec: ArraySpec, rule: ListBuckets) -> None:
    arrays[spec.name] = np.concatenate((arrays[spec.name], arrays[spec.name][-1:]))


def _one_bucket(arrays: Arrays, spec: ArraySpec, rule: ListBuckets) -> None:
    arrays[spec.name] = arrays[spec.name][[0, -1]]


def _two_owners(arrays: Arrays, spec: ArraySpec, rule: Any) -> None:
    slot = arrays[spec.name]
    a, b = np.flatnonzero(slot)[:2]
    slot[a] = slot[b]


def _no_owner(arrays: Arrays, spec: ArraySpec, rule: Any) -> None:
    slot = arrays[spec.name]
    slot[np.flatnonzero(slot)[0]] = 0


def _no_empty_place(arrays: Arrays, spec: ArraySpec, rule: HashTable) -> None:
    keys = arrays[spec.name]
    keys[keys == 0] = 1


def _not_a_power(arrays: Arrays, spec: ArraySpec, rule: HashTable) -> None:
    for name in (spec.name, rule.numbers):
        arrays[name] = np.concatenate((arrays[name], arrays[name][-1:]))


def _too_many_keys(arrays: Arrays, spec: ArraySpec, rule: HashTable) -> None:
    keys = arrays[spec.name]
    keys[np.flatnonzero(keys == 0)[0]] = 1


def _no_number(arrays: Arrays, spec: ArraySpec, rule: HashTable) -> None:
    arrays[rule.numbers][np.flatnonzero(arrays[spec.name])[0]] = -1


def _same_number(arrays: Arrays, spec: ArraySpec, rule: HashTable) -> None:
    a, b = np.flatnonzero(arrays[spec.name])[:2]
    arrays[rule.numbers][a] = arrays[rule.numbers][b]


def _many_labels(arrays: Arrays, spec: ArraySpec, rule: LabelCodes) -> None:
    arrays[spec.name][0] |= 1 << 60


def _strange_label(arrays: Arrays, spec: ArraySpec, rule: LabelCodes) -> None:
    arrays[spec.name][0] |= (1 << 15) - 1


def _pair_twice(arrays: Arrays, spec: ArraySpec, rule: LabelCodes) -> None:
    for name in (spec.name, rule.owner):
        arrays[name][0] = arrays[name][1]


def _full_table(arrays: Arrays, spec: ArraySpec, rule: FeatureLists) -> None:
    keys = arrays[spec.name][::2]
    keys[keys == 0] = 1


def _list_without_feature(arrays: Arrays, spec: ArraySpec, rule: FeatureLists) -> None:
    table = arrays[spec.name]
    table[2 * int(np.flatnonzero(table[::2] == 0)[0]) + 1] = 1 << 40


def _beyond_the_end(arrays: Arrays, spec: ArraySpec, rule: FeatureLists) -> None:
    table = arrays[spec.name]
    table[2 * int(np.flatnonzero(table[::2])[0]) + 1] |= np.uint64(1 << 39)


def _shared_lists(arrays: Arrays, spec: ArraySpec, rule: FeatureLists) -> None:
    """All features have the longest list: as many rows as features, in a file that has one of them."""
    table = arrays[spec.name]
    places, features = table[1::2], table[::2] != 0
    places[features] = max(places[features], key=lambda place: int(place) >> 40)


def _list_too_long(arrays: Arrays, spec: ArraySpec, rule: ListBuckets) -> None:
    lists = arrays[spec.name]
    lists[1 + 2 * int(lists[0])] = 126  # the head of the first list


def _other_count(arrays: Arrays, spec: ArraySpec, rule: ListBuckets) -> None:
    arrays[spec.name][0] += 1


def _no_such_action(arrays: Arrays, spec: ArraySpec, rule: ListBuckets) -> None:
    lists = arrays[spec.name]
    lists[1 + 3 * int(lists[0])] = 255  # of the first entry


def _empty_bucket(arrays: Arrays, spec: ArraySpec, rule: ListBuckets) -> None:
    arrays[rule.start] = np.concatenate((arrays[rule.start], arrays[rule.start][-1:]))


def _late_bucket(arrays: Arrays, spec: ArraySpec, rule: ListBuckets) -> None:
    arrays[rule.start][0] = 1


def _shifted_list(arrays: Arrays, spec: ArraySpec, rule: TrainedLists) -> None:
    """Two lists of the same length change places."""
    table = arrays[spec.name]
    lists = table[1::2] >> np.uint64(40)
    a, b = np.flatnonzero(lists == 2)[:2]
    table[[2 * a + 1, 2 * b + 1]] = table[[2 * b + 1, 2 * a + 1]]


def _action_twice(arrays: Arrays, spec: ArraySpec, rule: TrainedLists) -> None:
    table, action = arrays[spec.name], arrays[rule.actions]
    place = table[1::2][np.flatnonzero(table[1::2] >> np.uint64(40) > 1)[0]]
    start = int(place & np.uint64((1 << 40) - 1))
    action[start + 1] = action[start]


def _odd(arrays: Arrays, spec: ArraySpec, rule: Any) -> None:
    arrays[spec.name] = arrays[spec.name][:-1].copy()


def _half(arrays: Arrays, spec: ArraySpec, rule: FeatureLists) -> None:
    arrays[spec.name] = arrays[spec.name][:-2].copy()


def _no_number_as_weight(arrays: Arrays, spec: ArraySpec, rule: ActionWeights) -> None:
    arrays[spec.name].view(np.float32)[1] = np.nan


def _other_word(arrays: Arrays, spec: ArraySpec, rule: StoredWords) -> None:
    arrays[spec.name][0] = ord("x")


def _word_twice(arrays: Arrays, spec: ArraySpec, rule: StoredWords) -> None:
    text, offset = arrays[spec.name], arrays[rule.offset]
    lengths = np.diff(offset)
    a, b = next((a, b) for b in range(len(lengths)) for a in range(3, b) if lengths[a] == lengths[b])
    text[offset[a] : offset[a + 1]] = text[offset[b] : offset[b + 1]]


DAMAGES: dict[type, list[Damage]] = {
    Offsets: [at(0, 1), at(-1, 0), _falling],
    RisingWithin: [_equal, _swapped],
    RisingInGroups: [_equal_in_group, _swapped_in_group],
    AddsUpTo: [_one_more],
    Buckets: [at(0, 1), at(-1, 0), _falling, _odd_buckets, _one_bucket],
    ZeroRow: [at((0, 0), 1)],
    OneOwnerPerRow: [_two_owners, _no_owner],
    HashTable: [_no_empty_place, _not_a_power, _too_many_keys, _no_number, _same_number],
    LabelCodes: [_many_labels, _strange_label, _pair_twice],
    FeatureLists: [_full_table, _list_without_feature, _beyond_the_end, _odd, _half, _shared_lists],
    ListBuckets: [_list_too_long, _other_count, _no_such_action, _empty_bucket, _late_bucket],
    TrainedLists: [
        _full_table,
        _list_without_feature,
        _beyond_the_end,
        _odd,
        _half,
        _shifted_list,
        _action_twice,
    ],
    ActionWeights: [at(0, -1), at(0, 1 << 20), _no_number_as_weight, _odd],
    WordsFirst: [at(slice(2), [1, 0])],
    ByOrder: [at(0, 10**6), at(-1, 10**6), at(5, 0)],
    OneWordShorter: [at(0, 1), at(-1, -1), at(-1, 0)],
    NeverBegins: [at(1, 0.5)],
    StoredWords: [_other_word, _word_twice, at(0, 0xFF)],
}


# --- all of them --------------------------------------------------------------------------------------------


def refused(path: Path, arrays: Arrays, meta: dict[str, Any], names: set[str]) -> None:
    """Assert that loading raises a ModelError that names the file and one of the arrays."""
    model_file.save(path, arrays, meta)
    with pytest.raises(ModelError) as caught:
        LOADERS[meta["task"]](path)
    message = str(caught.value)
    assert message.startswith(f"{path}: damaged model: array "), message
    assert any(repr(name) in message for name in names), (message, names)


def test_every_declaration_is_checked(tmp_path: Path) -> None:
    """Each declaration that a file shows is broken in every way, once."""
    done: set[Any] = set()
    for name in FORMS:
        path = unpacked(name, tmp_path)
        arrays, meta = model_file.load(path)
        specs, sizes = declarations(path)
        everything = bound_sizes(arrays, specs, sizes)
        bad = tmp_path / f"bad-{name}.palm"
        for spec in specs:
            if spec in done or not arrays[spec.name].size:
                continue
            done.add(spec)
            for changed, names in form_damages(arrays, spec, specs, sizes):
                refused(bad, changed, meta, names)
            for array in range_damages(arrays, spec, everything):
                refused(bad, arrays | {spec.name: array}, meta, {spec.name})
            for rule, damage in rule_damages(spec):
                if (damaged := damaged_by(damage, arrays, spec, rule)) is not None:
                    refused(
                        bad,
                        damaged,
                        meta,
                        {spec.name, *map(str, fields_of(rule))},
                    )
                    done.add((type(rule), damage))
    never = [(rule.__name__, k) for rule, all_ in DAMAGES.items() for k, d in enumerate(all_) if (rule, d) not in done]
    assert never == []


def rule_damages(spec: ArraySpec) -> list[tuple[Any, Damage]]:
    return [(rule, damage) for rule in spec.rules for damage in DAMAGES[type(rule)]]


def damaged_by(damage: Damage, arrays: Arrays, spec: ArraySpec, rule: Any) -> Arrays | None:
    """A damaged copy; None if the arrays of this file are too small to be damaged like that."""
    changed = {key: array.copy() for key, array in arrays.items()}
    try:
        damage(changed, spec, rule)
    except (StopIteration, IndexError, ValueError):
        return None
    return changed


@pytest.mark.parametrize("name", FORMS)
def test_every_array_has_a_declaration(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    arrays, _ = model_file.load(path)
    specs, sizes = declarations(path)
    names = {spec.name for spec in specs}
    assert len(names) == len(specs)
    assert names <= arrays.keys()
    assert arrays.keys() <= names
    packed = array_specs.pack({n: arrays[n] for n in names}, specs, sizes)
    assert packed.keys() == names


@pytest.mark.parametrize("name", FILES)
def test_what_is_loaded_is_saved_as_it_was(name: str, tmp_path: Path) -> None:
    """But for settings, which lose options that are gone."""
    path, again = unpacked(name, tmp_path), tmp_path / "again.palm"
    arrays, meta = model_file.load(path)
    model = LOADERS[meta["task"]](path)
    if meta["task"] == "lm":
        save_lm(model, again)
    else:
        model.save(str(again))
    found, found_meta = model_file.load(again)
    assert found_meta | {"settings": None} == meta | {"settings": None}
    assert found.keys() == arrays.keys()
    for key, array in arrays.items():
        assert (found[key].dtype, found[key].tobytes()) == (array.dtype, array.tobytes())


# --- the declarations themselves ----------------------------------------------------------------------------


def test_packing_what_is_not_declared_is_an_error_of_ours() -> None:
    specs = (ArraySpec("x", np.int32, ("A", 2)),)
    good = np.zeros((3, 2), np.int32)
    assert array_specs.pack({"x": good}, specs, {"A": 3})["x"] is good
    for parts, message in [
        ({"x": good, "y": good}, "without a declaration: y"), ({}, "'x' is missing"),
        ({"x": good.astype(np.int64)}, "int64, expected int32"),
        ({"x": good[:2]}, r"shape \(2, 2\), expected \(3, 2\)"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            array_specs.pack(parts, specs, {"A": 3})


def test_groups_rise_strictly_only_inside() -> None:
    found = CheckedArrays({"first": np.array([0, 2, 2, 3, 5])}, {})
    for good in ([1, 4, 0, 2, 3], [0, 1, 1, 0, 9]):
        assert RisingWithin("first").fault(np.array(good), found) is None
    for bad in ([4, 1, 0, 2, 3], [1, 4, 0, 2, 2], [1, 1, 0, 2, 3]):
        assert RisingWithin("first").fault(np.array(bad), found) is not None
    empty = CheckedArrays({"first": np.array([0, 0])}, {})
    assert RisingWithin("first").fault(np.zeros(0, np.int32), empty) is None


def test_sizes_are_compared_before_anything_is_allocated(tmp_path: Path) -> None:
    """560 labels of 64 states each: their pairs alone would take 5 GB, and the file has 0.9 MB."""
    path = unpacked("latent", tmp_path)
    arrays, meta = model_file.load(path)
    n = 560
    allowed = {"start": np.ones(n, np.bool_), "pair": np.ones((n, n), np.bool_), "end": np.ones(n, np.bool_)}
    changed = arrays | {f"allowed.{name}": array for name, array in allowed.items()}
    shape = meta["shape"] | {"n_labels": n, "per": 64, "order": 2, "states": []}
    model_file.save(path, changed, meta | {"labels": [f"L{k}" for k in range(n)], "shape": shape})
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    with pytest.raises(ModelError, match=r"array 'bare\.end' has shape"):
        load_chain(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_an_arity_has_one_form(tmp_path: Path) -> None:
    """Seen label bigrams beside rows: their checkpoint would be of another shape than what it is copied to."""
    path = unpacked("seen_checkpoint", tmp_path)
    arrays, meta = model_file.load(path)
    A, cells = meta["sizes"]["pair"], len(meta["labels"]) ** 2
    model_file.save(path, arrays | {"pair.rows": np.zeros((A, cells), np.float32)}, meta)
    with pytest.raises(ModelError, match=r"array 'checkpoint\.2\.\w+' has shape"):
        load_chain(path)


def test_few_bits_of_words_are_saved_again(tmp_path: Path) -> None:
    """Compact models have them, and so may any file."""
    path = unpacked("chain_order1", tmp_path)
    arrays, meta = model_file.load(path)
    words = np.unique(arrays.pop("vocabulary") >> np.uint64(32)).astype(np.uint32)
    model_file.save(path, arrays | {"words": words}, meta)
    load_chain(path).save(str(tmp_path / "again.palm"))
    assert np.array_equal(model_file.load(tmp_path / "again.palm")[0]["words"], words)


def test_weights_of_seen_label_bigrams_are_for_pairs_and_triples(tmp_path: Path) -> None:
    """Arity 1 has a weight per label, whatever arrays there are besides."""
    path = unpacked("seen_checkpoint", tmp_path)
    arrays, meta = model_file.load(path)
    places, part = arrays["label.weights"].shape[0], meta["sizes"]["label"]
    more = {"label.first": np.zeros(part + 1, np.int64), "label.combo": np.zeros(places, np.int32)}
    without = {name: array for name, array in arrays.items() if name != "label.slot"}
    refused(tmp_path / "bad.palm", without | more, meta, {"label.slot"})
    model_file.save(tmp_path / "both.palm", arrays | more, meta)
    again = load_chain(tmp_path / "both.palm").chain.weights[0]
    assert again.first.size == 0
    assert np.array_equal(again.slot, arrays["label.slot"])


# --- metadata -----------------------------------------------------------------------------------------------


def edited(meta: dict[str, Any], place: Sequence[Any], value: Any) -> dict[str, Any]:
    """A copy with another value at a place; ... removes it."""
    copy = json.loads(json.dumps(meta))
    within = copy
    for key in place[:-1]:
        within = within[key]
    if value is ...:
        del within[place[-1]]
    else:
        within[place[-1]] = value
    return copy


def places_of(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places of a JSON value, the first item of a list for all."""
    if place:
        yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places_of(inner, (*place, key))
    elif isinstance(value, list) and value:
        yield from places_of(value[0], (*place, 0))


def test_any_metadata_gives_a_model_or_a_model_error(tmp_path: Path) -> None:
    """Never a KeyError or a TypeError, whatever a file says of itself. Each place of each kind of model once."""
    done: set[Any] = set()
    messages: list[str] = []
    for name in FILES:
        path = unpacked(name, tmp_path)
        arrays, meta = model_file.load(path)
        for place in places_of(meta):
            if (meta["task"], place) not in done:
                done.add((meta["task"], place))
                messages += refusals(arrays, meta, place, tmp_path / "bad.palm")
    assert len(messages) > 1000
    assert all(message.startswith(f"{tmp_path / 'bad.palm'}: ") for message in messages)


def refusals(arrays: Arrays, meta: dict[str, Any], place: tuple[Any, ...], path: Path) -> list[str]:
    """The messages of ModelErrors for other values at a place of the metadata; any other exception is a fault."""
    found = []
    for value in (..., None, 1.0, 7, -1, True, "x", "", "\ud800", [], {}, [None], {"\ud800": 1}):
        model_file.save(path, arrays, edited(meta, place, value))
        try:
            LOADERS[meta["task"]](path)
        except ModelError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize(
    ("name", "place", "value", "said"),
    [
        ("chain_order1", ("shape", "order"), 1.0, r"Expected `int`, got `float` - at `\$.shape.order`"),
        ("chain_order1", ("shape", "order"), 3, r"\$.shape.order"),
        ("chain_order1", ("shape", "per"), 65, r"\$.shape.per"),
        ("chain_order1", ("shape", "ends"), 1, r"\$.shape.ends"),
        ("chain_order1", ("labels", 0), "", r"\$.labels"),
        ("chain_order1", ("labels", 0), "\ud800", "a label is not valid Unicode"),
        ("chain_order1", ("labels", 0), "O", "a label occurs twice"),
        ("chain_order1", ("scheme",), "IOB9", "unknown tag scheme"),
        ("chain_order1", ("settings", "passes"), "many", "passes"),
        ("chain_order1", ("history", 0, "wrong"), None, r"\$.history\[0\].wrong"),
        ("chain_order1", ("sizes", "label"), ..., "number of attributes of 'label'"),
        ("calibrated", ("calibration", "temperature"), -1.0, r"\$.calibration.temperature"),
        ("label_history", ("shape", "history", 0, 0), [], "label histories"),
        ("beam_past", ("settings", "search", "width"), 0, "width: 0 is not a whole number"),
        ("resources", ("resources", "lexicons", "place", "name"), "city", "wrong names"),
        ("parser", ("settings", "merge"), None, "merge"),
        ("parser", ("actions", 0), [0], r"\$.actions"),
        ("parser", ("actions",), [[0, ""]], "no action makes an arc"),
        ("parser", ("actions",), [[float("inf")]], r"\$.actions"),
        (COMPACT_PARSER, ("actions",), [[0, ""]], "no action makes an arc"),
        ("parser", ("root",), 3, r"\$.root"),
        ("parser", ("ignored",), ["colour"], "ignores fields that a treebank does not have"),
        ("classifier", ("attributes",), 3.0, r"\$.attributes"),
        ("classifier", ("classes",), ["a", "a"], "same name"),
        ("classifier", ("settings", "views"), ["iob3"], "iob3"),
        ("language_model", ("order",), 3.0, r"\$.order"),
        ("language_model", ("sizes",), [], r"\$.sizes"),
        ("language_model", ("order",), 2, "do not fit its order"),
        ("language_model", ("discounts",), [5], r"\$.discounts"),
        ("chain_order1", ("bias",), {"O": "x"}, r"\$.bias"),
        ("chain_order1", ("bias",), {"O": float("inf")}, "a bias of inf for the label 'O'"),
        ("chain_order1", ("bias",), {"O": 1e30}, "a bias of 1e[+]30 for the label 'O'"),
        ("chain_order1", ("bias",), {"Q": 1.0}, "a bias of 1.0 for the label 'Q'"),
        ("chain_order1", ("settings",), {"learner": {"kind": ["crf"]}}, "is none of"),
        ("chain_order1", ("settings",), {"learner": {"kind": "mira", "nbest": 10**400}}, "nbest"),
        ("chain_order0", ("templates", "text"), "U:%x[0,0]\nB:%x[0,0]", "of a higher order than its states"),
        ("classifier", ("settings", "views"), 5, "choose all, or some of"),
        ("classifier", ("settings", "types"), [["x"]], "types"),
        ("classifier", ("settings", "types"), 1.5, "types"),
        ("tables 1", ("counting", "smoothing"), float("inf"), "smoothing"),
        ("tables 1", ("counting", "dictionary"), -5, "dictionary"),
        ("mixture", ("share",), 1.5, r"\$.share"),
        ("language_model", ("share",), 0.5, "'lower.p' is missing"),
    ],
)
def test_metadata_is_read_strictly(name: str, place: tuple[Any, ...], value: Any, said: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    arrays, meta = model_file.load(path)
    model_file.save(path, arrays, edited(meta, place, value))
    with pytest.raises(ModelError, match=said) as caught:
        LOADERS[meta["task"]](path)
    assert str(caught.value).startswith(f"{path}: ")


def test_metadata_to_save_is_declared(tmp_path: Path) -> None:
    model = load_chain(unpacked("chain_order1", tmp_path))
    model.meta["note"] = "mine"
    with pytest.raises(ValueError, match="undeclared \\['note'\\]"):
        model.save(str(tmp_path / "m.palm"))
