"""Ways to change a valid model file. All but those of bytes keep the checksum right, as an attacker would."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.fuzz.models import Model

Rng = np.random.Generator
Arrays = dict[str, np.ndarray]
DTYPES = {
    "u8": "U64", "i8": "I64", "f8": "F64", "f4": "F32", "u4": "U32", "i4": "I32", "u2": "U16", "i2": "I16", "i1": "I8",
    "u1": "U8", "b1": "BOOL",
}  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 7, 8, 100, 255, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63), 2**63 - 1)
FLOATS = (0.0, -0.0, 1.0, 1e-40, 1e30, -1e38, 3e38, np.inf, -np.inf, np.nan, 1e308)
STRINGS = (
    "", "x", "O", "B-NP", "1", "\ud800", "\0", "a b", "a\nb", "[/x]", "[/x]", "x" * 5000, "U400000000", 
    "(1000000000,)i1", "iob2", "bigram", "run:O:2", "custom", "crf", "seen", "beam",
)  # fmt: skip
JSON_NUMBERS = (
    0, 1, -1, 2, 3, 7, 64, 560, 4096, 5000, 2**31, 2**40, 10**30, 10**400, 0.0, 0.5, 1.0, -1.0, 1e308, 1e-308,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
CONTAINERS: tuple[Any, ...] = (
    [], {}, [None], [[1]], [0], [1.0], [5], [float("inf")], [[float("inf")]], ["x"], {"x": 1}, {"[/x]": 1.0}, 
    {"O": "x"}, {"O": 1e39}, {"kind": "crf"}, {"kind": "beam"}, {"kind": 1},
)  # fmt: skip
VALUES: tuple[Any, ...] = (None, True, False, *STRINGS, *JSON_NUMBERS, *CONTAINERS)
KEYS = ("x", "", "kind", "a\nb", "\ud800", "[/x]", "checkpoint", "history")
LINES = (
    "U0:%x[0,0]", "U9:%x[0,99]", "U8:%x[-1000000,0]", "U7:%y[-1]", "B", "T", "B2:%x[0,0]", "T2:%x[0,0]", "*9:%x[0,1]",
    "U6:%x[0,0,lexicon:none]", "U5:%x[0,0,suffix999]", "#", "s0.w s1.w", "q3.t", "s0.f:Case", "u:%m[0,0,\"a*b\"]",
)  # fmt: skip


def built(arrays: Arrays, meta: Any, *, checksum: bool = True) -> bytes:
    """A model file, written without any of the checks of `model_file.save`."""
    return assembled(*described(arrays, meta, checksum=checksum))


def described(arrays: Arrays, meta: Any, *, checksum: bool = True) -> tuple[dict[str, Any], bytes]:
    """The header and the data of a model file."""
    placed = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    text = json.dumps(meta, separators=(",", ":"))
    parts = [np.ascontiguousarray(array).tobytes() for _, array in placed]
    data = b"".join(parts)
    about = {"format": "palmette", "version": "2", "meta": text}
    if checksum:
        about["crc32"] = f"{zlib.crc32(data, zlib.crc32(text.encode())):08x}"
    header: dict[str, Any] = {"__metadata__": about}
    at = 0
    for (name, array), part in zip(placed, parts, strict=True):
        spelt = {"dtype": DTYPES[array.dtype.str[1:]], "shape": list(array.shape)}
        header[name] = spelt | {"data_offsets": [at, at + len(part)]}
        at += len(part)
    return header, data


def assembled(header: Any, data: bytes) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text + data


def one_of(rng: Rng, items: Any) -> Any:
    """One item of a sequence, as it is (`Generator.choice` would make an array of them)."""
    return items[int(rng.integers(len(items)))]


# --- bytes and header ---------------------------------------------------------------------------------------


def mutated(data: bytes, rng: Rng) -> bytes:
    """Some bytes changed, dropped, doubled or inserted, or the rest cut off."""
    work = bytearray(data)
    for _ in range(int(rng.integers(1, 8))):
        if not work:
            break
        at = int(rng.integers(len(work)))
        kind = int(rng.integers(6))
        if kind == 0:
            work[at] = int(rng.integers(256))
        elif kind == 1:
            del work[at : at + int(rng.integers(1, 9))]
        elif kind == 2:
            work[at:at] = work[at : at + int(rng.integers(1, 40))]
        elif kind == 3:
            work[at:at] = bytes(rng.choice(list(b'\t\n\r :\\|#%[]{}",0_-.'), int(rng.integers(1, 4))).tolist())
        elif kind == 4:
            del work[at:]
        else:
            work[at:at] = rng.bytes(int(rng.integers(1, 6)))
    return bytes(work)


def change_bytes(model: Model, rng: Rng, other: Model) -> bytes:
    return mutated(model.data, rng)


def flip_bytes(model: Model, rng: Rng, other: Model) -> bytes:
    """Some bytes changed, the size kept, without a checksum: every number has to be checked."""
    work = bytearray(built(model.arrays, model.meta, checksum=False))
    for _ in range(int(rng.integers(1, 6))):
        work[int(rng.integers(len(work)))] = int(rng.integers(256))
    return bytes(work)


def change_header(model: Model, rng: Rng, other: Model) -> bytes:
    header, data = described(model.arrays, model.meta)
    name = one_of(rng, list(header))
    kind = int(rng.integers(5))
    if kind == 0:
        header = changed_json(header, rng)
    elif kind == 1:
        header[one_of(rng, [name, "", "x", "label.rows", "__metadata__", "n" * 300])] = header.pop(name)
    elif name == "__metadata__":
        header[name][one_of(rng, list(header[name]))] = one_of(rng, (*VALUES, "1", "3", "0", "99999999999"))
    elif kind == 2:
        header[name]["dtype"] = one_of(rng, (*DTYPES.values(), "F16", "", None, 1))
    elif kind == 3:
        header[name]["shape"] = [int(one_of(rng, NUMBERS)) for _ in range(int(rng.integers(4)))]
    else:
        header[name]["data_offsets"][int(rng.integers(2))] += int(one_of(rng, NUMBERS))
    return assembled(header, data)


# --- metadata -----------------------------------------------------------------------------------------------


def changed_json(value: Any, rng: Rng) -> Any:
    """A copy with one value somewhere in it replaced, left out, doubled, or put another way."""
    out: Any = json.loads(json.dumps(value))
    within = out
    while True:
        key = one_of(rng, list(within)) if isinstance(within, dict) else int(rng.integers(len(within)))
        inner = within[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.75:
            within = inner
            continue
        kind = rng.random()
        if kind < 0.15:
            del within[key]
        elif kind < 0.25 and isinstance(within, dict):
            within[one_of(rng, KEYS)] = one_of(rng, VALUES)
        elif kind < 0.25:
            within.insert(key, inner)
        else:
            within[key] = _another(inner, rng)
        return out


def _another(value: Any, rng: Rng) -> Any:
    """Another value: any, one of the same type, or one that is made from it."""
    kind = rng.random()
    if kind < 0.3:
        return one_of(rng, VALUES)
    if kind < 0.6 and isinstance(value, str | int | float):
        return one_of(rng, STRINGS if isinstance(value, str) else JSON_NUMBERS)
    if isinstance(value, bool):
        return one_of(rng, (not value, int(value), None))
    if isinstance(value, int | float):
        other = float(value) if abs(value) < 1e300 else value  # a whole number may be larger than any float
        return one_of(rng, (other, value + 1, value - 1, -value, str(value), [value], 1000 * value))
    if isinstance(value, str):
        line = one_of(rng, LINES)
        return one_of(rng, (value + "\n" + line, line, value[:-1], value * 2, value.upper(), [value], len(value)))
    if isinstance(value, list | tuple):
        return one_of(rng, (value[:-1], [*value, *value], value[::-1], {"0": value}, [value], 300 * list(value)))
    if isinstance(value, dict):
        return one_of(rng, (list(value), dict(list(value.items())[1:]), [value], {**value, "x": 1}))
    return one_of(rng, VALUES)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def change_metadata(model: Model, rng: Rng, other: Model) -> bytes:
    meta: Any = model.meta
    if rng.random() < 0.01:
        meta = meta | {one_of(rng, list(meta)): nested(int(one_of(rng, (50, 300))))}
    for _ in range(int(rng.choice((1, 1, 1, 2, 3)))):
        meta = changed_json(meta, rng) if meta else meta
    return built(model.arrays, meta)


# --- arrays -------------------------------------------------------------------------------------------------


def change_contents(model: Model, rng: Rng, other: Model) -> bytes:
    """Some numbers changed, swapped, repeated or moved; names, types and shapes as they were."""
    arrays = dict(model.arrays)
    for _ in range(int(rng.choice((1, 1, 2)))):
        name = one_of(rng, list(arrays))
        arrays[name] = _other_contents(arrays[name].copy(), rng)
    return built(arrays, model.meta)


def _other_contents(array: np.ndarray, rng: Rng) -> np.ndarray:
    if not array.size:
        return array
    flat = array.reshape(-1)
    kind, (a, b) = int(rng.integers(9)), np.sort(rng.integers(array.size, size=2)).tolist()
    if kind == 0:
        flat[[a, b]] = flat[[b, a]]
    elif kind == 1:
        flat[a] = flat[b]
    elif kind == 2:
        flat[a : b + 1] = flat[a : b + 1][::-1]
    elif kind == 3:
        flat[a : b + 1] = _number(array.dtype, rng)
    elif kind == 4:
        array[...] = np.roll(array, 1)
    elif kind == 5:
        flat[a] += np.array(1, array.dtype)
    elif kind == 6:
        array[...] = rng.permutation(flat).reshape(array.shape)
    elif kind == 7:  # at the border of what is there
        flat[a] = flat.max() + np.array(int(rng.integers(2)), array.dtype)
    else:
        flat[a] = _number(array.dtype, rng)
    return array


def _number(dtype: np.dtype[Any], rng: Rng) -> Any:
    """A number that is likely to be at a border, as the type has it."""
    if dtype.kind == "f":
        return np.array(one_of(rng, FLOATS)).astype(dtype)[()]
    return np.array(one_of(rng, NUMBERS), np.int64).astype(dtype)[()]


def change_forms(model: Model, rng: Rng, other: Model) -> bytes:
    """Arrays of another type, shape or name, left out, added, or exchanged."""
    arrays = dict(model.arrays)
    for _ in range(int(rng.choice((1, 1, 2, 3)))):
        if arrays:
            _another_form(arrays, one_of(rng, list(arrays)), rng)
    return built(arrays, model.meta)


def _another_form(arrays: Arrays, name: str, rng: Rng) -> None:
    array, kind = arrays[name], int(rng.integers(9))
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = array.astype(one_of(rng, list(DTYPES)))
    elif kind == 2:
        axis = int(rng.integers(array.ndim))
        arrays[name] = _resized(array, axis, max(0, array.shape[axis] + int(one_of(rng, (-1, 1, -2, 8, 100)))))
    elif kind == 3:
        arrays[name] = one_of(rng, (array.reshape(-1), array[None], array.T, array[:0], array.reshape(-1)[:1]))
    elif kind == 4:
        other = one_of(rng, list(arrays))
        arrays[name], arrays[other] = arrays[other], array
    elif kind == 5:
        arrays[_renamed(name, rng)] = arrays.pop(name)
    elif kind == 6:
        arrays[_renamed(name, rng)] = array.copy()
    elif kind == 7:
        arrays[name] = array.copy().view(f"{array.dtype.str[0]}i{array.dtype.itemsize}")
    else:  # one whole part in the place of another
        part, other = name.partition(".")[0], one_of(rng, PARTS)
        for own in [own for own in arrays if own.startswith(part + ".")]:
            arrays[other + own[len(part) :]] = arrays[own]


PARTS = ("label", "pair", "triple", "past", "bare", "checkpoint", "small", "attribute", "hmm")
ENDS = (
    "weights", "slot", "first", "combo", "seen", "ngram", "rows", "count", "state", "value", "scale", "keys", "numbers",
    "bucket", "low", "rest", "names", "name_size", "name_offset", "packed_names", "owner", "code", "template", "pair",
)  # fmt: skip


def _renamed(name: str, rng: Rng) -> str:
    part, _, end = name.partition(".")
    return one_of(rng, (f"{one_of(rng, PARTS)}.{end}", f"{part}.{one_of(rng, ENDS)}", one_of(rng, ENDS), name + "x"))


def _resized(array: np.ndarray, axis: int, length: int) -> np.ndarray:
    """The array with another length of one axis: cut, or its items from the start again."""
    if not array.shape[axis]:
        return np.zeros([length if k == axis else n for k, n in enumerate(array.shape)], array.dtype)
    return array.take(np.arange(length) % array.shape[axis], axis=axis)


def change_size(model: Model, rng: Rng, other: Model) -> bytes:
    """One size changed everywhere: in all shapes, in all numbers of the metadata, in all lists of that length."""
    sizes = sorted({n for array in model.arrays.values() for n in array.shape if 0 < n < 60})
    old = one_of(rng, sizes or [1])
    new = int(one_of(rng, (0, 1, 2, old + 1, old - 1, 2 * old, old + 7, 200)))
    arrays = dict(model.arrays)
    for name, array in arrays.items():
        for axis in range(array.ndim):
            if array.shape[axis] == old and array.size * max(1, new) < 200_000:
                array = _resized(array, axis, new)
        arrays[name] = array
    return built(arrays, _with_size(model.meta, old, new, rng))


def _with_size(value: Any, old: int, new: int, rng: Rng) -> Any:
    if type(value) is int and value == old and rng.random() < 0.8:
        return new
    if isinstance(value, dict):
        return {key: _with_size(inner, old, new, rng) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        items = [_with_size(inner, old, new, rng) for inner in value]
        if len(items) != old:
            return items
        strings = all(isinstance(item, str) for item in items)
        more = [f"L{k}" if strings else items[k % old] for k in range(old, new)]
        return [*items[:new], *more]
    return value


def graft(model: Model, rng: Rng, other: Model) -> bytes:
    """Some arrays and some entries of the metadata are those of another model: of a part, of a checkpoint, or any."""
    arrays, meta = dict(model.arrays), dict(model.meta)
    if rng.random() < 0.7:
        name = one_of(rng, list(other.arrays))
        head = name.partition(".")[0] + "." if rng.random() < 0.7 else name
        if rng.random() < 0.5:
            arrays = {own: array for own, array in arrays.items() if not own.startswith(head)}
        arrays |= {theirs: array for theirs, array in other.arrays.items() if theirs.startswith(head)}
    for _ in range(int(rng.integers(3))):
        key = one_of(rng, list(other.meta))
        if isinstance(meta.get(key), dict) and isinstance(other.meta[key], dict) and other.meta[key]:
            inner = one_of(rng, list(other.meta[key]))
            meta[key] = {**meta[key], inner: other.meta[key][inner]}
        else:
            meta[key] = other.meta[key]
    return built(arrays, meta)


WAYS: dict[str, tuple[float, Callable[[Model, Rng, Model], bytes]]] = {
    "bytes": (0.04, change_bytes),
    "no checksum": (0.08, flip_bytes),
    "header": (0.08, change_header),
    "metadata": (0.30, change_metadata),
    "contents": (0.22, change_contents),
    "forms": (0.18, change_forms),
    "sizes": (0.10, change_size),
    "graft": (0.10, graft),
}
"""Each way with its share of the cases. It gets a model, a generator, and another model of the same task."""
