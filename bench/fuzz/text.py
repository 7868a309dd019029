"""A fuzz of the readers of data, templates, word lists and tables: any bytes give something or an error of ours."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.fuzz.mutate import mutated
from palmette import HMM, LanguageModel
from palmette.data import FormatSpec, read_treebank
from palmette.data.formats.registry import read_corpus
from palmette.errors import PalmetteError
from palmette.features.resources import read_clusters, read_lexicon
from palmette.features.templates import parse
from palmette.parsing.templates import compile_templates

COLUMNS = b"The DT B-NP\nold JJ I-NP\nship NN I-NP\n\n-DOCSTART- X O\n\nsails VBZ B-VP\n. . O\n\n"
CONLLU = (
    b"# a = b\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n2\tb\tb\tY\tY\t_\t1\tdep\t_\t_\n\n"
)
ATTRIBUTES = b"@weight:2\nB\tw=a\tv:2.5\tx\\:y\nI\tw=b:1\n\nO\tw=c\n\n"
JSONL = b'{"tokens": ["a", "b"], "tags": ["X", "Y"], "more": {"k": [1, 2.5, null]}}\n{"tokens": [], "tags": []}\n'
TEXT = "Mr. Smith didn't pay $3.50 (see http://a.b/c). \u201cWhy?\u201d \u6f22\u5b57 \U0001f600...\n".encode()
TEMPLATES = b"U00:%x[0,0]\nU01:%x[-1,0,lower.suffix3]/%x[0,1]\n*02:%x[1,0]\nU3:%y[-1]\nB\nT\n"
WAPITI = b'u:%x[0,0]\nu:t=%t[-1,0,"^\\u"]\n*m=%M[@1,1,"\\d*"]\nb\n'
PARSER = b"s0.wt s1.t\ns0.l.rel s0.t\nq0.f:Case\ns0.vl # comment\ndistance\n"
LEXICON = b"# words\nNew York\tcity\nParis\tcity\nParis\tperson\n"
CLUSTERS = b"0010\tboat\t12\n0011\tlake\t3\n01\tthe\t99\n"
ARPA = (
    b"\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-1.0\t<unk>\n-99\t<s>\t-0.3\n-0.5\t</s>\n-0.4\ta\t-0.2\n\n"
    b"\\2-grams:\n-0.3\t<s> a\n\n\\end\\\n"
)
TABLES = (
    b'{"start": {"D": 0.5, "N": 0.5}, "transition": {"D": {"N": 1.0}, "N": {"D": 0.5, "N": 0.5}}, '
    b'"emission": {"D": {"the": 1.0}, "N": {"boat": 0.5, "lake": 0.5}}}'
)


class Reader(NamedTuple):
    """What is fuzzed: a valid input, and what reads a file of it."""

    valid: bytes
    read: Callable[[Path], object]


def _corpus(format: str) -> Callable[[Path], object]:
    return lambda path: read_corpus(path, FormatSpec(format=format))


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


READERS = {
    "columns": Reader(COLUMNS, _corpus("columns")),
    "conllu": Reader(CONLLU, _corpus("conllu")),
    "treebank": Reader(CONLLU, read_treebank),
    "attributes": Reader(ATTRIBUTES, _corpus("attributes")),
    "jsonl": Reader(JSONL, _corpus("jsonl")),
    "text": Reader(TEXT, _corpus("text")),
    "plain": Reader(TEXT, _corpus("plain")),
    "templates": Reader(TEMPLATES, lambda path: parse(_text(path))),
    "wapiti": Reader(WAPITI, lambda path: parse(_text(path), syntax="wapiti")),
    "parser templates": Reader(PARSER, lambda path: compile_templates(_text(path), "templates")),
    "lexicon": Reader(LEXICON, read_lexicon),
    "clusters": Reader(CLUSTERS, lambda path: read_clusters(path, "clusters")),
    "arpa": Reader(ARPA, LanguageModel.load),
    "hmm tables": Reader(TABLES, HMM.load_tables),
}


def fuzz_text(folder: Path, seconds: float, seed: int = 0) -> int:
    """Mutate valid inputs for so many seconds; print the counts, and return the number of exceptions not ours."""
    rng = np.random.default_rng(seed)
    path, end, faults = folder / "input", time.monotonic() + seconds, 0
    counts: Counter[tuple[str, str]] = Counter()
    while time.monotonic() < end:
        kind = str(rng.choice(list(READERS)))
        bad = mutated(READERS[kind].valid, rng)
        path.write_bytes(bad)
        try:
            READERS[kind].read(path)
            counts[kind, "read"] += 1
        except PalmetteError:
            counts[kind, "refused"] += 1
        except Exception:
            counts[kind, "traceback"] += 1
            faults += 1
            print(f"{kind}: {bad!r}\n{traceback.format_exc()}", flush=True)
    print(f"{'reader':20}{'read':>10}{'refused':>10}{'traceback':>10}")
    for kind in READERS:
        print(f"{kind:20}" + "".join(f"{counts[kind, how]:>10,}" for how in ("read", "refused", "traceback")))
    return faults
