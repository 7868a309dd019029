"""A long fuzz of everything that reads: `python -m bench fuzz` mutates valid files and models for a while.

Whatever the bytes, a reader gives a corpus or an error of ours, and a tampered model is refused or used without harm.
Models are those of tests/fixtures/v1, one of every kind: their bytes are mutated (with the checksum and without), and
their arrays and metadata, which then have a right checksum, so that only what is declared of them can refuse them.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from palmette import Classifier, FormatSpec, LanguageModel, Parser, Tagger
from palmette.data import model_file
from palmette.data.formats.registry import read_corpus
from palmette.errors import PalmetteError
from palmette.features.templates import parse

COLUMNS = b"The DT B-NP\nold JJ I-NP\nship NN I-NP\n\n-DOCSTART- X O\n\nsails VBZ B-VP\n. . O\n\n"
CONLLU = (
    b"# a = b\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n2\tb\tb\tY\tY\t_\t1\tdep\t_\t_\n\n"
)
ATTRIBUTES = b"@weight:2\nB\tw=a\tv:2.5\tx\\:y\nI\tw=b:1\n\nO\tw=c\n\n"
JSONL = b'{"tokens": ["a", "b"], "tags": ["X", "Y"], "more": {"k": [1, 2.5, null]}}\n{"tokens": [], "tags": []}\n'
TEXT = "Mr. Smith didn't pay $3.50 (see http://a.b/c). \u201cWhy?\u201d \u6f22\u5b57 \U0001f600...\n".encode()
TEMPLATES = b"U00:%x[0,0]\nU01:%x[-1,0,lower.suffix3]/%x[0,1]\n*02:%x[1,0]\nB\nT\n"
WAPITI = b'u:%x[0,0]\nu:t=%t[-1,0,"^\\u"]\n*m=%M[@1,1,"\\d*"]\nb\n'

MODELS = Path(__file__).parents[1] / "tests" / "fixtures" / "v1"
MORE = ([[("Rain", "NN"), ("stopped", "VBD"), ("twice", "RB")]], [["B-NP", "B-VP", "B-ADVP"]])  # to learn from
NUMBERS = (0, 1, -1, 2, 7, 100, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62, 1e30)
VALUES: tuple[Any, ...] = (None, True, 0, 1, -1, 2**40, 0.5, "", "x", "\ud800", [], {}, [None], [[1]])


class Target(NamedTuple):
    """What is fuzzed: how to make a bad input, and what reads it."""

    make: Callable[[np.random.Generator], bytes]
    read: Callable[[bytes], object]


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, dropped, doubled or moved."""
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


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, the size kept: what gets past the checks of the container."""
    work = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        work[int(rng.integers(len(work)))] = int(rng.integers(256))
    return bytes(work)


def changed_arrays(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A few arrays changed in a place, an order, a shape or a type, or left out."""
    out = dict(arrays)
    for name in rng.choice(list(arrays), int(rng.integers(1, 3))).tolist():
        array, kind = out.get(name, arrays[name]).copy(), int(rng.integers(8))
        if kind == 0:
            out.pop(name, None)
            continue
        if kind == 1:
            array = array.astype(rng.choice(["f4", "f8", "i4", "i8", "u8"]), copy=False)
        elif kind == 2 and array.ndim:
            array = np.concatenate((array, array[-1:]))
        elif kind == 3:
            array = array[:-1]
        elif array.size:
            flat = array.reshape(-1)
            a, b = rng.integers(array.size, size=2)
            if kind == 4:
                flat[[a, b]] = flat[[b, a]]
            elif kind == 5:
                flat[a] = flat[b]
            else:
                flat[a] = np.array([rng.choice(NUMBERS)]).astype(array.dtype)[0]
        out[name] = array
    return out


def changed_metadata(meta: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """One value somewhere in it replaced or left out."""
    out: dict[str, Any] = json.loads(json.dumps(meta))
    within: Any = out
    while True:
        key = rng.choice(list(within)) if isinstance(within, dict) else int(rng.integers(len(within)))
        if isinstance(within[key], dict | list) and within[key] and rng.random() < 0.7:
            within = within[key]
            continue
        if rng.random() < 0.2:
            del within[key]
        else:
            within[key] = VALUES[int(rng.integers(len(VALUES)))]
        return out


def bench_fuzz(seconds: float, seed: int = 0) -> None:
    """Fuzz for so many seconds; any exception that is not ours ends it, with the input kept."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name, np.errstate(all="ignore"):
        targets = text_targets(Path(name)) | model_targets(Path(name))
        counts: Counter[str] = Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kind = str(rng.choice(list(targets)))
            bad = targets[kind].make(rng)
            try:
                targets[kind].read(bad)
                counts[f"{kind}: read"] += 1
            except PalmetteError:
                counts[f"{kind}: refused"] += 1
            except Exception:
                Path(f"fuzz-{kind.partition(',')[0]}.bin").write_bytes(bad)
                print(f"{kind}: an exception that is not ours; the input is kept beside")
                raise
    for kind, n in sorted(counts.items()):
        print(f"{kind:40}{n:>9,}")


def text_targets(folder: Path) -> dict[str, Target]:
    """Readers of data and templates."""
    file = folder / "input"

    def reader(format: str) -> Callable[[bytes], object]:
        def read(data: bytes) -> object:
            file.write_bytes(data)
            return read_corpus(file, FormatSpec(format=format))

        return read

    formats = {
        "columns": COLUMNS,
        "conllu": CONLLU,
        "attributes": ATTRIBUTES,
        "jsonl": JSONL,
        "text": TEXT,
        "plain": TEXT,
    }
    targets = {name: Target(_bytes_like(data), reader(name)) for name, data in formats.items()}
    targets["templates"] = Target(_bytes_like(TEMPLATES), lambda data: parse(data.decode(errors="replace")))
    wapiti = Target(_bytes_like(WAPITI), lambda data: parse(data.decode(errors="replace"), syntax="wapiti"))
    return targets | {"wapiti": wapiti}


def _bytes_like(data: bytes) -> Callable[[np.random.Generator], bytes]:
    return lambda rng: mutated(data, rng)


def model_targets(folder: Path) -> dict[str, Target]:
    """Model files of every kind. Each is loaded and used."""
    targets = {}
    for packed in sorted(MODELS.glob("*.palm.gz")):
        name, data = packed.name.removesuffix(".palm.gz"), gzip.decompress(packed.read_bytes())
        targets |= {f"{name}, {how}": target for how, target in _model_targets(name, data, folder).items()}
    return targets


def _model_targets(name: str, data: bytes, folder: Path) -> dict[str, Target]:
    path = folder / f"{name}.palm"
    path.write_bytes(data)
    arrays, meta = model_file.load(path)
    # A hostile file would come without a checksum: then every number has to be checked.
    without_checksum = data.replace(b"crc32", b"crc__")

    def saved(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> bytes:
        model_file.save(folder / "made.palm", arrays, meta)
        return (folder / "made.palm").read_bytes()

    def used(bad: bytes) -> object:
        (folder / "bad.palm").write_bytes(bad)
        return _use(meta["task"], folder / "bad.palm", MODELS / f"{name}.input", folder / "out")

    return {
        "bytes": Target(lambda rng: mutated(data, rng), used),
        "no checksum": Target(lambda rng: flipped(without_checksum, rng), used),
        "arrays": Target(lambda rng: saved(changed_arrays(arrays, rng), meta), used),
        "metadata": Target(lambda rng: saved(arrays, changed_metadata(meta, rng)), used),
    }


def _use(task: str, model: Path, source: Path, target: Path) -> object:
    if task == "parse":
        return Parser.load(model).parse_file(source, target)
    if task == "classify":
        return Classifier.load(model).classify_file(source, target)
    if task == "lm":
        return LanguageModel.load(model).sentence_scores(source.read_text().splitlines())
    tagger = Tagger.load(model)
    tagger.tag_file(source, target)
    return tagger.partial_fit(*MORE) if tagger.model_.checkpoint else tagger
