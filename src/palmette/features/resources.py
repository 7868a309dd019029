"""Lexicons and word clusters: knowledge about words beyond the training data.

A `Lexicon` is a list of phrases with classes. Its file has one phrase per line, `phrase TAB class`; the words of
a phrase are separated by spaces, as they are tokens in the corpus. Without a class the name of the lexicon is
the class, so that a plain list of cities can be called `city`. A phrase with several classes gets them all,
`city+person`. There are no comments: `#` may be a word.

`Clusters` give each word one class. There are two formats, recognised by the first line: Brown paths,
`path TAB word TAB count` with a path of 0 and 1, and `word TAB class`.

Templates name them: `%x[0,0,lexicon:city]` gives `B-city` on the first token of the longest phrase, `I-city`
inside, and is absent elsewhere; `%x[0,0,cluster:brown]` gives the class, `%x[0,0,cluster:brown:4]` its first
four characters. Both are saved with the model, so that tagging needs no other file.
"""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.text import CONVERT, NFC, check_utf8, in_form, read_text, write_text
from palmette.errors import DataError, ModelError, UsageError, counted

# Observations of a hidden Markov model: a word that it knows, or the class of an unknown one.
#
# The classes of a word, from the narrowest to the widest:
#
#     <form:suffix>   the class of `orthography` (lower, initial, acronym, number, ...) and a suffix of 1 to 3 letters
#     <form>          without the suffix
#     <unknown>       for all others
#
# A word gets the first of these that exists. Templates refer to it by `%x[0,0,observed:words]`. The known words and the
# existing classes come from training (see lab/hmm/tables.py) and are saved with the model.

UNKNOWN = "<unknown>"
SUFFIXES = (3, 2, 1)


def word_classes(word: str) -> Iterator[str]:
    """The classes of a word, from the narrowest to the widest."""
    from palmette.features.wordforms import orthography

    form = orthography(word)
    for n in SUFFIXES:
        suffix = word[-n:].lower()
        if len(word) > n and suffix.isalpha():
            yield f"<{form}:{suffix}>"
    yield f"<{form}>"
    yield UNKNOWN


class Observed(msgspec.Struct, frozen=True, dict=True):
    """The possible observations. Without classes the vocabulary is closed: no other word can be observed."""

    name: str
    known: list[str]
    classes: list[str] = []

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.known)

    @cached_property
    def _classes(self) -> frozenset[str]:
        return frozenset(self.classes)

    def find(self, word: str) -> str | None:
        """The word if it is known, else its class; None: it cannot be observed."""
        if word in self._known:
            return word
        return next((name for name in word_classes(word) if name in self._classes), None)


_NAME = re.compile(r"[^\s:,\]]+")  # it must fit between the brackets of a macro

MOST_WORDS = 256  # of a phrase: at each token so many are looked at
CLASS = None  # the key of a phrase's class in a node

Node = dict[str | None, Any]
"""Words that may follow, each with a node; and the class of the phrase that ends here."""


class Lexicon(msgspec.Struct, frozen=True, dict=True):
    """Phrases (words joined by one space) with their classes; `fold`: case does not matter."""

    name: str
    classes: dict[str, str]
    fold: bool = False

    @cached_property
    def by_first_word(self) -> dict[str, list[str]]:
        """The phrases that begin with a word."""
        found: dict[str, list[str]] = {}
        for phrase in self.classes:
            if phrase.count(" ") >= MOST_WORDS:
                raise DataError(f"the lexicon {self.name} has {_too_many_words(phrase)}")
            found.setdefault(phrase.partition(" ")[0], []).append(phrase)
        return found

    @cached_property
    def _trees(self) -> dict[str, tuple[Node, int]]:
        return {}

    def after(self, first: str) -> tuple[Node, int]:
        """What may follow a word that begins a phrase, a tree of words that is made when the word is met; and the
        number of words of the longest phrase."""
        if first not in self._trees:
            root: Node = {}
            longest = 1
            for phrase in self.by_first_word[first]:
                words = phrase.split(" ")
                longest = max(longest, len(words))
                node = root
                for word in words[1:]:
                    node = node.setdefault(word, {})
                node[CLASS] = self.classes[phrase]
            self._trees[first] = root, longest
        return self._trees[first]


def _too_many_words(phrase: str) -> str:
    return f"a phrase of {phrase.count(' ') + 1:,} words, and at most {MOST_WORDS} are possible: {phrase[:40]!r} ..."


class Clusters(msgspec.Struct, frozen=True):
    """Word -> class; `paths`: the classes are Brown paths, whose prefixes are coarser classes. `counts`: how often a
    word occurs in the text that the clusters were learnt from, where that is known; models do not keep it."""

    name: str
    classes: dict[str, str] = {}
    paths: bool = False
    packed: bytes = b""  # in a model file: the classes, compressed
    counts: dict[str, int] = {}

    def __post_init__(self) -> None:
        if self.packed:
            self.classes.update(_unpacked(self.packed, self.name))

    def find(self, word: str) -> str | None:
        """The class of the word, else that of its lower-cased form: many cluster files have only those."""
        found = self.classes.get(word)
        return found if found is not None else self.classes.get(word.lower())

    def members(self) -> dict[str, list[str]]:
        """The words of each class, in the order of the file; learnt clusters have the most frequent words first."""
        found: dict[str, list[str]] = {}
        for word, label in self.classes.items():
            found.setdefault(label, []).append(word)
        return found

    def examples(self, label: str, n: int) -> list[str]:
        """The first words of a class, or of all classes whose paths begin with it."""
        within = str.startswith if self.paths else str.__eq__
        return list(islice((word for word, own in self.classes.items() if within(own, label)), n))

    def in_form(self, unicode: str) -> Clusters:
        """The clusters with words in that form. If two of them become equal, the one that was in that form keeps its
        class, else the first one."""
        same = dict(zip(self.classes, in_form(self.classes, unicode), strict=True))
        merged = {same[word]: label for word, label in reversed(self.classes.items())}
        merged |= {word: label for word, label in self.classes.items() if same[word] == word}
        return Clusters(self.name, {word: merged[word] for word in dict.fromkeys(same.values())}, self.paths)

    def save(self, path: FilePath) -> None:
        """Write a text file: `path TAB word TAB count` (0 if the count is unknown), as Brown clusters are written, or
        `word TAB class`."""
        rows = (
            f"{label}\t{word}\t{self.counts.get(word, 0)}\n" if self.paths else f"{word}\t{label}\n"
            for word, label in self.classes.items()
        )
        with write_text(path) as out:
            out.write("".join(rows).encode())

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, many classes compressed."""
        about = {"name": self.name, "paths": self.paths}
        if len(self.classes) < MANY:
            return about | {"classes": self.classes}
        return about | {"packed": base64.b64encode(self.compressed()).decode()}

    def compressed(self) -> bytes:
        """The classes in some 5 bytes per word: a line for each class, the class first."""
        rows = ("\t".join((label, *words)) for label, words in self.members().items())
        text = "\n".join(rows).encode()
        return len(text).to_bytes(8, "little") + zlib.compress(text, 9)


MANY = 1000  # words, from which on clusters are compressed in model files
MOST_RATIO = 64  # of classes to their compressed bytes: a small file cannot unpack to all memory


def _unpacked(packed: bytes, name: str) -> dict[str, str]:
    """The classes of `compressed`; ModelError if they are not that."""
    size = int.from_bytes(packed[:8], "little")
    try:
        if size > MOST_RATIO * len(packed):
            raise ValueError("they are larger than compression allows")
        text = zlib.decompressobj().decompress(packed[8:], size + 1)
        if len(text) != size:
            raise ValueError("their size is another one")
        rows = [line.split("\t") for line in text.decode().split("\n")]
    except (zlib.error, ValueError) as error:
        raise ModelError(f"damaged model: its clusters {name!r} cannot be read ({error})") from None
    found: dict[str, str] = {}
    for label, *words in rows:
        found.update(dict.fromkeys(words, label))
    return found


class Resources(msgspec.Struct, frozen=True):
    """All lexicons, clusters and vocabularies, by name."""

    lexicons: dict[str, Lexicon] = {}
    clusters: dict[str, Clusters] = {}
    observed: dict[str, Observed] = {}  # from training data

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, for the model file."""
        plain: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(self, clusters={}))
        return plain | {"clusters": {name: own.to_dict() for name, own in self.clusters.items()}}

    @staticmethod
    def from_dict(plain: object) -> Resources:
        try:
            resources = msgspec.convert(plain, Resources)
        except msgspec.ValidationError as error:
            raise ModelError(f"the lexicons, clusters or words of the model cannot be read: {error}") from None
        if not all(own.classes for own in resources.clusters.values()):
            raise ModelError("the lexicons, clusters or words of the model cannot be read: clusters without words")
        resources.check_names()
        return resources

    def check_names(self) -> None:
        """ModelError unless each resource is filed under its own name, which templates can use."""
        for table in (self.lexicons, self.clusters, self.observed):
            if any(key != value.name or not _NAME.fullmatch(key) for key, value in table.items()):
                raise ModelError("the lexicons, clusters or words of the model have wrong names")


# --- reading ------------------------------------------------------------------------------------------------


def read_lexicon(path: FilePath, name: str | None = None, *, fold: bool = False, unicode: str = NFC) -> Lexicon:
    """Read `phrase TAB class` or `phrase` lines; the name is that of the file without its ending. `unicode`: the form
    of the phrases, which is that of the words they are compared with."""
    name = _resource_name(path, name)
    same: Callable[[str], str] = str.casefold if fold else str
    found: dict[str, set[str]] = {}
    for line, fields in _rows(path):
        if len(fields) > 2:
            raise DataError(
                f"{counted(len(fields), 'field')} separated by TAB, expected a phrase or a phrase and its class",
                file=shown(path),
                line=line,
                hint="write `phrase TAB class`, the words of the phrase separated by spaces",
            )
        (phrase,) = in_form([" ".join(fields[0].split())], unicode)
        label = fields[1].strip() if len(fields) == 2 else name
        if not phrase or not label:
            missing = "class" if phrase else "phrase"
            raise DataError(f"the {missing} is empty", file=shown(path), line=line, hint="remove the TAB")
        if phrase.count(" ") >= MOST_WORDS:
            hint = "a lexicon has one phrase per line"
            raise DataError(_too_many_words(phrase), file=shown(path), line=line, hint=hint)
        found.setdefault(same(phrase), set()).add(label)
    if not found:
        raise DataError("no phrase found", file=shown(path), hint="a lexicon has one phrase per line")
    return Lexicon(name, {phrase: "+".join(sorted(labels)) for phrase, labels in found.items()}, fold)


def read_clusters(path: FilePath | Clusters, name: str | None = None, *, unicode: str = NFC) -> Clusters:
    """Read Brown paths (`path TAB word TAB count`) or `word TAB class`, or take clusters that were learnt. `unicode`:
    the form of the words; if that makes two of them equal, the one that was in that form keeps its class, else the
    first one."""
    if isinstance(path, Clusters):
        return msgspec.structs.replace(path, name=_resource_name(path.name, name)).in_form(unicode)
    name = _resource_name(path, name)
    classes: dict[str, str] = {}
    n_fields = 0
    for line, fields in _rows(path):
        n_fields = n_fields or len(fields)
        word, label = _cluster_row(fields, n_fields, shown(path), line)
        if classes.setdefault(word, label) != label:
            raise DataError(
                f"{word!r} has a second class {label!r}, the first was {classes[word]!r}",
                file=shown(path),
                line=line,
                hint="a word has one cluster: remove one of the lines",
            )
    if not classes:
        raise DataError("no word found", file=shown(path), hint="write `path TAB word TAB count` or `word TAB class`")
    return Clusters(name, classes, paths=n_fields == 3).in_form(unicode)


def _cluster_row(fields: list[str], n_fields: int, file: str, line: int) -> tuple[str, str]:
    if len(fields) != n_fields or n_fields not in (2, 3):
        expected = f"{n_fields} as on the first line" if n_fields in (2, 3) else "2 or 3"
        raise DataError(
            f"{counted(len(fields), 'field')} separated by TAB, expected {expected}",
            file=file,
            line=line,
            hint="write `path TAB word TAB count` (Brown) or `word TAB class` on every line",
        )
    label, word = fields[:2] if n_fields == 3 else fields[::-1]
    if n_fields == 3 and label.strip("01"):
        raise DataError(
            f"{label!r} is not a Brown path of 0 and 1",
            file=file,
            line=line,
            hint="three fields mean `path TAB word TAB count`; otherwise write `word TAB class`",
        )
    if not word or not label:
        raise DataError("a field is empty", file=file, line=line, hint="remove the line or fill the field")
    return word, label


def _resource_name(path: FilePath, name: str | None) -> str:
    name = name or os.path.basename(path).partition(".")[0]
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a lexicon or clusters: templates need a name without space : , ]")
    return name


def _rows(path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """Number (from 1) and TAB-separated fields of each line that is not blank."""
    data = read_text(path)
    check_utf8(data, shown(path), hint=CONVERT)
    for number, line_text in enumerate(data.decode().split("\n"), 1):
        line_text = line_text.removesuffix("\r")
        if line_text.strip():
            yield number, line_text.split("\t")


# --- matching -----------------------------------------------------------------------------------------------


def match(
    lexicon: Lexicon, ids: np.ndarray, offset: np.ndarray, types: list[str]
) -> tuple[np.ndarray, list[str | None]]:
    """Longest phrases of the lexicon, left to right, within each sentence.

    ids: int32[N], the type of each token; offset: int64[S+1], the first token of each sentence; types: their
    strings. Gives int32[N] value ids, and the values: None at id 0 (no phrase), `B-class`, `I-class`.
    """
    words = [word.casefold() for word in types] if lexicon.fold else types
    begins = np.array([word in lexicon.by_first_word for word in words], dtype=np.bool_)
    values: list[str | None] = [None]
    value_ids: dict[str, int] = {}
    found = np.zeros(len(ids), dtype=np.int32)
    if len(ids) == 0:
        return found, values

    # Few tokens begin a phrase: only those are visited in Python.
    candidates = np.flatnonzero(begins[ids])
    sentences = np.searchsorted(offset, candidates, side="right")
    free = 0  # first token after the last match
    for at, end in zip(candidates.tolist(), offset[sentences].tolist(), strict=True):
        if at < free:
            continue
        tree, longest = lexicon.after(words[ids[at]])
        label, n_words = _longest_phrase(tree, [words[i] for i in ids[at + 1 : min(end, at + longest)].tolist()])
        if label is None:
            continue
        if label not in value_ids:
            value_ids[label] = len(values)
            values += [f"B-{label}", f"I-{label}"]
        found[at] = value_ids[label]
        found[at + 1 : at + n_words] = value_ids[label] + 1
        free = at + n_words
    return found, values


def _longest_phrase(tree: Node, tokens: Sequence[str]) -> tuple[str | None, int]:
    """The class of the longest phrase that goes on with these tokens, and its number of tokens, the first included."""
    node = tree
    label, n_words = node.get(CLASS), 1
    for n, token in enumerate(tokens, 2):
        for word in token.split(" "):  # a cell may hold several words
            node = node.get(word, _NOTHING)
        if not node:
            break
        if CLASS in node:
            label, n_words = node[CLASS], n
    return label, n_words


_NOTHING: Node = {}
