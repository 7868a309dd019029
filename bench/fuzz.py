"""A long fuzz of everything that reads: `python -m bench fuzz` mutates valid files and models for a while.

Whatever the bytes, a reader gives a corpus or an error of ours, and a tampered model is refused or tags without harm.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from palmette import FormatSpec, Tagger
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


UNCHECKED = "model, no checksum"


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


def bench_fuzz(seconds: float, seed: int = 0) -> None:
    """Fuzz for so many seconds; any exception that is not ours ends it, with the input kept."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        targets = _targets(folder)
        counts: Counter[str] = Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kind = str(rng.choice(list(targets)))
            data, work = targets[kind]
            bad = flipped(data, rng) if kind == UNCHECKED else mutated(data, rng)
            try:
                work(bad)
                counts[f"{kind}: read"] += 1
            except PalmetteError:
                counts[f"{kind}: refused"] += 1
            except Exception:
                Path(f"fuzz-{kind.partition(',')[0]}.bin").write_bytes(bad)
                print(f"{kind}: an exception that is not ours; the input is kept beside")
                raise
    for kind, n in sorted(counts.items()):
        print(f"{kind:24}{n:>9,}")


def _targets(folder: Path) -> dict[str, tuple[bytes, Callable[[bytes], object]]]:
    file = folder / "input"

    def reader(format: str) -> Callable[[bytes], object]:
        def read(data: bytes) -> object:
            file.write_bytes(data)
            return read_corpus(file, FormatSpec(format=format))

        return read

    model = folder / "model.palm"
    (folder / "train.txt").write_bytes(COLUMNS)
    (folder / "templates.txt").write_bytes(TEMPLATES)
    Tagger(template=folder / "templates.txt", passes=2).fit_file(folder / "train.txt").save(model)

    def tagged(data: bytes) -> object:
        (folder / "bad.palm").write_bytes(data)
        return Tagger.load(folder / "bad.palm").predict([[("old", "JJ"), ("ship", "NN")]])

    formats = {
        "columns": COLUMNS,
        "conllu": CONLLU,
        "attributes": ATTRIBUTES,
        "jsonl": JSONL,
        "text": TEXT,
        "plain": TEXT,
    }
    targets = {name: (data, reader(name)) for name, data in formats.items()}
    targets["templates"] = (TEMPLATES, lambda data: parse(data.decode(errors="replace")))
    targets["wapiti"] = (WAPITI, lambda data: parse(data.decode(errors="replace"), syntax="wapiti"))
    targets["model"] = (model.read_bytes(), tagged)
    # A hostile file would come without a checksum: then every number has to be checked.
    targets[UNCHECKED] = (model.read_bytes().replace(b"crc32", b"crc__"), tagged)
    return targets
