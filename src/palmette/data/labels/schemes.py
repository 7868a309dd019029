"""Tag schemes: how a chunking is written as one label per token, and how it is read back.

A label is a letter and a type, written in one of three notations: "B-NP", "B" if there is only one type, "O"; in
GROBID's notation "I-<day>" is a B and "<day>" an I. A scheme defines which letters exist, which letter a token of a
chunk gets, and which neighbours a letter needs; each scheme is one row of `SCHEMES` or `FIELD_SCHEMES`. From those
rows follow the transitions that a search may take, the scheme that a corpus is written in, and the conversion from
one scheme to another, always through spans (convert.py).

BILOU, BMES and the like are IOBES in other letters: L is E, U and W are S, M is I.
Y is the number of labels, N of tokens, S of sentences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError

# How a label is written: which part of it is the letter, which the type.
#
# Three notations exist. Letters: a letter, a separator and a type ("B-NP", "B_NP"), a bare letter if there is only
# one type, and "O" outside. GROBID's: "I-<day>" begins a field and "<day>" continues it; every token is in a field,
# and the tokens of "<other>" are those that others call outside. Bare: the label is the type itself ("StreetName"),
# and a run of equal labels is a span; "O" is outside. Which of the first two a set of labels has can be seen; bare
# labels look like word classes, so that they must be asked for.

# How a letter is written -> the letter it stands for.
LETTERS: Mapping[str, str] = {
    "B": "B", "I": "I", "O": "O", "E": "E", "S": "S",
    "M": "I", "L": "E", "U": "S", "W": "S",
}  # fmt: skip
SEPARATORS = "-_/:."  # "-" first: it is also that of bare letters


class Notation(ABC):
    """A way of writing letter and type as one label."""

    kind: str  # which schemes are written so: `Scheme.notation`
    example: str
    outside: str | None = None  # the type of fields that stand for no field

    @abstractmethod
    def split(self, label: str) -> tuple[str, str]:
        """Letter (B, I, O, E or S) and type; no letter and the label itself if it is not written so."""

    @abstractmethod
    def join(self, letter: str, kind: str) -> str:
        """The label of a letter and a type."""

    @abstractmethod
    def writes(self, labels: Collection[str]) -> bool:
        """Whether a set of labels, O left out, is surely written so."""

    def reads(self, labels: Iterable[str]) -> bool:
        """Whether every label has a letter."""
        return all(self.split(label)[0] for label in labels)


class Lettered(Notation):
    """A letter, a separator, a type: "B-NP"; or only the letter."""

    kind = "letters"

    def __init__(self, separator: str = "-") -> None:
        self.separator = separator
        self.example = f"B{separator}X"

    def split(self, label: str) -> tuple[str, str]:
        written, separator, kind = label.partition(self.separator)
        letter = LETTERS.get(written, "")
        if not letter or (letter == "O" and separator):
            return "", label
        return letter, kind

    def join(self, letter: str, kind: str) -> str:
        return f"{letter}{self.separator}{kind}" if kind and letter != "O" else letter

    def writes(self, labels: Collection[str]) -> bool:
        """A set of bare letters, or with a separator other than "-", needs a B or an I, so that a small set of word
        classes is not taken for chunks."""
        parts = [self.split(label) for label in labels]
        if not all(letter for letter, _ in parts):
            return False
        if self.separator == "-":
            return any("-" in label for label in labels) or not {"B", "I"}.isdisjoint(labels)
        return all(kind for _, kind in parts) and any(label[0] in "BI" for label in labels)


class Grobid(Notation):
    """I-<type> begins a field, <type> continues it."""

    kind = "grobid"
    example = "I-<x> <x>"
    outside = "other"

    def split(self, label: str) -> tuple[str, str]:
        begins = label.startswith("I-<")
        field = label[2:] if begins else label
        if len(field) < 3 or field[0] != "<" or field[-1] != ">":
            return "", label
        return "B" if begins else "I", field[1:-1]

    def join(self, letter: str, kind: str) -> str:
        if not kind:
            raise UsageError("GROBID's labels have a type, I-<x>; this chunk has none")
        return f"I-<{kind}>" if letter == "B" else f"<{kind}>"

    def writes(self, labels: Collection[str]) -> bool:
        return self.reads(labels) and any(label.startswith("I-<") for label in labels)


class Bare(Notation):
    """The label is the type."""

    kind = "bare"
    example = "x"

    def split(self, label: str) -> tuple[str, str]:
        return ("O", "") if label == "O" else ("I", label)

    def join(self, letter: str, kind: str) -> str:
        if letter != "O" and not kind:
            raise UsageError("a bare label is the type of a chunk; this chunk has none")
        return "O" if letter == "O" else kind

    def writes(self, labels: Collection[str]) -> bool:
        return False  # word classes look the same


HYPHEN, GROBID, BARE = Lettered(), Grobid(), Bare()
FOUND = (GROBID, *map(Lettered, SEPARATORS))  # in the order in which they are tried


def notation_of(labels: Iterable[str]) -> Notation | None:
    """The notation of a set of labels, if they are surely chunk labels."""
    names = set(labels)
    chunks = names - {"O"}
    if not chunks:
        return None
    among = FOUND[1:] if "O" in names else FOUND  # in GROBID's every token is in a field
    return next((each for each in among if each.writes(chunks)), None)


class Scheme(NamedTuple):
    """A row of the table: how chunks are written, and which neighbours each letter needs.

    Inside a chunk the letter is I. `only_beside` ("previous" or "next"): the first or last letter is written
    only if the chunk touches one of the same type on that side, otherwise it is I too.
    `before`: a letter -> the letters of the same type one of which must precede it; `after`: a letter -> those one of
    which must follow it. Start and end of a sentence count as O. `notation`: the kind that it is written in.
    """

    letters: str
    single: str
    first: str
    last: str
    only_beside: str = ""
    before: Mapping[str, str] = {}
    after: Mapping[str, str] = {}
    notation: str = Lettered.kind


# Strictest first: `recognise` takes the first row that fits.
SCHEMES: Mapping[str, Scheme] = {
    "IOBES": Scheme("BIESO", "S", "B", "E", before={"I": "BI", "E": "BI"}, after={"B": "IE", "I": "IE"}),
    "IOB2": Scheme("BIO", "B", "B", "I", before={"I": "BI"}),
    "IOE2": Scheme("IEO", "E", "I", "E", after={"I": "IE"}),
    "IOB1": Scheme("BIO", "B", "B", "I", only_beside="previous", before={"B": "BI"}),
    "IOE1": Scheme("IEO", "E", "I", "E", only_beside="next", after={"E": "IE"}),
}
# Those with a notation of their own. BARE fits any labels, so that it is never recognised.
FIELD_SCHEMES: Mapping[str, Scheme] = {
    "GROBID": Scheme("BI", "B", "B", "I", before={"I": "BI"}, notation=Grobid.kind),
    "BARE": Scheme("IO", "I", "I", "I", notation=Bare.kind),
}
_EVERY = {**SCHEMES, **FIELD_SCHEMES}
_OTHER_NAMES = {
    "BIO": "IOB2", "BIOES": "IOBES", "BILOU": "IOBES", "BILUO": "IOBES",
    "BMES": "IOBES", "BMEWO": "IOBES", "O+C": "IOBES",
}  # fmt: skip
# Letters of these schemes that are not those of IOBES
SPELLINGS = {
    "BILOU": {"E": "L", "S": "U"}, "BILUO": {"E": "L", "S": "U"}, "BMES": {"I": "M"}, "BMEWO": {"I": "M", "S": "W"},
}  # fmt: skip


class Transitions(NamedTuple):
    """The allowed transitions between labels."""

    start: np.ndarray  # bool[Y]: may open a sentence
    pair: np.ndarray  # bool[Y, Y]: (previous, current)
    end: np.ndarray  # bool[Y]: may close a sentence


class Span(NamedTuple):
    """A chunk: its type ("" with bare letters), its first token, and the token after its last."""

    type: str
    start: int
    end: int


def scheme_named(name: str) -> Scheme:
    """The row of a scheme, also by its other names (BIO, BIOES, BILOU, ...)."""
    row = _EVERY.get(_OTHER_NAMES.get(name.upper(), name.upper()))
    if row is None:
        known = ", ".join([*_EVERY, *_OTHER_NAMES])
        raise UsageError(f"unknown tag scheme {name!r}; the schemes are {known}")
    return row


def split_label(label: str) -> tuple[str, str]:
    """Letter (B, I, O, E or S) and type: "B-NP" -> ("B", "NP"), "U-PER" -> ("S", "PER"), "B" -> ("B", "").

    Other labels ("NN", "O-x") have no letter: ("", "NN"). The type may itself contain "-". It reads one label in the
    usual notation; `reading` finds the notation of several.
    """
    return HYPHEN.split(label)


def reading(labels: Iterable[str], scheme: str | None = None) -> Notation | None:
    """How labels are split into letter and type: as their scheme is written if it is given, otherwise as the labels
    show; None if they are no chunk labels."""
    kind = scheme_named(scheme).notation if scheme else None
    if kind in (Bare.kind, Grobid.kind):
        return BARE if kind == Bare.kind else GROBID
    found = notation_of(labels)
    return found if kind is None or isinstance(found, Lettered) else HYPHEN


def are_chunk_labels(labels: Iterable[str], scheme: str | None = None) -> bool:
    """Whether labels encode chunks: all are of the form letter-type (or another notation), bare letter or O, and some
    label is not O. Bare labels do so only if the scheme is given.

    A set of bare letters needs a B or an I, so that a small set of one-letter word classes is not
    taken for chunks.
    """
    return reading(labels, scheme) is not None


def unseen_scheme(scheme: str | None) -> str | None:
    """Return the scheme for scores if labels do not show it: that of bare labels."""
    return scheme if scheme is not None and scheme_named(scheme).notation == Bare.kind else None


def schemes_of(labels: Iterable[str]) -> list[str]:
    """The schemes that are written as these labels are, the strictest first."""
    found = reading(labels)
    return [] if found is None else [name for name, row in _EVERY.items() if row.notation == found.kind]


def scheme_shown(labels: Iterable[str], scheme: str) -> str:
    """The name of a scheme for people, with the notation if it is not the usual one: "IOB2, written B_X"."""
    found = reading(labels, scheme)
    usual = found is None or found.kind != Lettered.kind or found.example == HYPHEN.example
    return scheme if usual or found is None else f"{scheme}, written {found.example}"


def with_boundaries(ids: np.ndarray, offset: np.ndarray, outside: int) -> np.ndarray:
    """`ids` (i32[N]) with the mark `outside` before, between and after the sentences: i64[N + S + 1].

    Neighbours in the result are then all pairs (previous, current), those at the edges included.
    """
    lengths = np.diff(offset)
    if len(offset) == 0 or offset[0] != 0 or offset[-1] != len(ids) or (lengths < 0).any():
        raise UsageError(f"sentence offsets must rise from 0 to the number of tokens, {len(ids)}")
    if len(ids) and not (ids.min() >= 0 and ids.max() < outside):
        raise UsageError(f"label ids must be between 0 and {outside - 1}; found {ids.min()} to {ids.max()}")
    marked = np.full(len(ids) + len(offset), outside, dtype=np.int64)
    marked[np.arange(len(ids)) + np.repeat(np.arange(1, len(offset)), lengths)] = ids
    return marked


def recognise(labels: Sequence[str], ids: np.ndarray | None = None, offset: np.ndarray | None = None) -> str | None:
    """The strictest scheme that fits; None if none does (word classes, ill-formed chunks).

    `ids` (i32[N]; from Y on: not known) and `offset` (i64[S+1]) are the label sequences: a scheme fits only if every
    one of them is well-formed in it, so that no gold path is ever forbidden. Without them only the letters
    decide: IOB1 is then recognised only if a type has no B, and IOE1 never.
    """
    if not are_chunk_labels(labels):
        return None
    if (ids is None) != (offset is None):
        raise UsageError("label sequences are given by both `ids` and `offset`, or by neither")
    return next((name for name in schemes_of(labels) if fits(labels, name, ids, offset)), None)


def fits(labels: Sequence[str], scheme: str, ids: np.ndarray | None = None, offset: np.ndarray | None = None) -> bool:
    """Whether label sequences (as for `recognise`) are well-formed in a scheme. If some labels are unknown, unseen
    pairs prove little, so every label must also have a use in the scheme."""
    if not _letters_fit(labels, scheme):
        return False
    seen = None if ids is None or offset is None else _seen_pairs(ids, offset, labels)
    unsure = ids is not None and bool((ids >= len(labels)).any())
    if (seen is None or unsure) and not every_label_usable(labels, scheme):
        return False
    return seen is None or _every_pair_allowed(seen, labels, scheme)


def recognise_pairs(labels: Sequence[str], seen: np.ndarray) -> str | None:
    """The scheme that `recognise` finds for label sequences of which only the pairs of neighbours are known: seen
    bool[Y+1, Y+1], index Y = outside of the sentence. All labels are fully known."""
    if not are_chunk_labels(labels):
        return None
    is_chunk = np.array([label != "O" for label in labels] + [False])
    for name in schemes_of(labels):
        if not _letters_fit(labels, name):
            continue
        if _every_pair_allowed(seen, labels, name) if seen[:, is_chunk].any() else fits(labels, name):
            return name
    return None


def _letters_fit(labels: Sequence[str], scheme: str) -> bool:
    notation = reading(labels, scheme) or HYPHEN
    return {notation.split(label)[0] for label in labels} <= set(scheme_named(scheme).letters)


def seen_pairs(ids: np.ndarray, offset: np.ndarray, n_labels: int) -> np.ndarray:
    """bool[Y+1, Y+1]: which labels follow each other in sentences, index Y = outside of the sentence."""
    marked = with_boundaries(np.minimum(ids, n_labels), offset, n_labels + 1)
    seen = np.zeros((n_labels + 2, n_labels + 2), dtype=bool)
    seen[marked[:-1], marked[1:]] = True
    return np.delete(
        np.delete(seen, n_labels, axis=0), n_labels, axis=1
    )  # the neighbours of an unknown label are unknown


def _seen_pairs(ids: np.ndarray, offset: np.ndarray, labels: Sequence[str]) -> np.ndarray | None:
    """bool[Y+1, Y+1], index Y = outside of the sentence; None if there is no chunk."""
    seen = seen_pairs(ids, offset, len(labels))
    is_chunk = np.array([label != "O" for label in labels] + [False])
    return seen if seen[:, is_chunk].any() else None


def _every_pair_allowed(seen: np.ndarray, labels: Sequence[str], scheme: str) -> bool:
    start, pair, end = allowed_transitions(labels, scheme)
    wrong = (seen[:-1, :-1] & ~pair).any() or (seen[-1, :-1] & ~start).any() or (seen[:-1, -1] & ~end).any()
    return not wrong


def every_label_usable(labels: Sequence[str], scheme: str) -> bool:
    """Whether each label can occur in some well-formed sentence: in IOB2 an I-NP needs a B-NP, for example."""
    row, notation = scheme_named(scheme), reading(labels, scheme) or HYPHEN
    of_type: dict[str, set[str]] = {}
    for label in labels:
        letter, kind = notation.split(label)
        of_type.setdefault(kind, set()).add(letter)
    for letters in of_type.values():
        for needs in (row.before, row.after):
            for letter in letters & needs.keys():
                # A chain of requirements (I after I after I) must end in a letter that requires nothing.
                if letters.isdisjoint(set(needs[letter]) - needs.keys()):
                    return False
    return True


def allowed_transitions(labels: Sequence[str], scheme: str) -> Transitions:
    """The transitions between `labels` that keep a sentence well-formed in `scheme`."""
    row, notation = scheme_named(scheme), reading(labels, scheme) or HYPHEN
    parts = [notation.split(label) for label in labels]
    for label, (letter, _) in zip(labels, parts, strict=True):
        if not letter or letter not in row.letters:
            raise UsageError(f"label {label!r} does not belong to {scheme}, {letters_of(row)}")
    letters = np.array([letter for letter, _ in parts], dtype="U1")
    types = np.array([kind for _, kind in parts], dtype=str)
    same = types[:, None] == types[None, :]  # bool[Y, Y]
    start, end = np.ones(len(labels), dtype=bool), np.ones(len(labels), dtype=bool)
    pair = np.ones((len(labels), len(labels)), dtype=bool)
    for letter, needed in row.before.items():
        who = letters == letter
        start &= ~who
        pair &= ~who[None, :] | (same & np.isin(letters, list(needed))[:, None])
    for letter, needed in row.after.items():
        who = letters == letter
        end &= ~who
        pair &= ~who[:, None] | (same & np.isin(letters, list(needed))[None, :])
    return Transitions(start, pair, end)


def letters_of(row: Scheme) -> str:
    """Describe the labels of a scheme for an error message."""
    return "whose labels are I-<x> and <x>" if row.notation == Grobid.kind else f"whose letters are {row.letters}"


def spans(labels: Sequence[str], scheme: str | None = None) -> list[Span]:
    """The chunks of one sentence by conlleval's rules, which read all schemes.

    Ill-formed sequences are read as conlleval does: an I after O or after another type opens a chunk. GROBID's
    `<other>` is no chunk. `scheme`, if given, checks that the letters are its own; bare labels are read only with it.
    Other labels are an error.
    """
    return spans_in(labels, reading(labels, scheme) or HYPHEN, scheme_named(scheme).letters if scheme else "BIESO")


def spans_in(labels: Sequence[str], notation: Notation, letters: str) -> list[Span]:
    """The chunks of one sentence in a known notation; other letters are an error."""
    found: list[Span] = []
    start = 0
    before, before_type = "O", ""
    for i, (letter, kind) in enumerate([*map(notation.split, labels), ("O", "")]):
        if (not letter or letter not in letters) and i < len(labels):
            raise UsageError(
                f"the label {labels[i]!r} of token {i} is not a chunk label: expected O, or a letter of {letters} and "
                "a type, such as B-NP"
            )
        # One test closes the chunk on the left and opens the one on the right.
        if before in "OES" or letter in "OBS" or before_type != kind:
            if before != "O" and before_type != notation.outside:
                found.append(Span(before_type, start, i))
            start = i
        before, before_type = letter, kind
    return found


def from_spans(chunks: Iterable[Span], n: int, scheme: str) -> list[str]:
    """The labels of a sentence of `n` tokens with these chunks, which may come in any order. Neighbours of equal type
    become one span in bare labels."""
    row = scheme_named(scheme)
    notation = reading((), scheme) or HYPHEN
    ordered = sorted((Span(*chunk) for chunk in chunks), key=lambda chunk: chunk.start)
    labels = [""] * n
    for i, chunk in enumerate(ordered):
        earliest = ordered[i - 1].end if i else 0
        if not earliest <= chunk.start < chunk.end <= n:
            raise UsageError(f"{chunk} is empty, overlaps another chunk or leaves the {n} tokens")
        beside = {
            "previous": i > 0 and _touch(ordered[i - 1], chunk),
            "next": i + 1 < len(ordered) and _touch(chunk, ordered[i + 1]),
        }
        marked = beside.get(row.only_beside, True)
        letters = _letters(chunk.end - chunk.start, row) if marked else "I" * (chunk.end - chunk.start)
        labels[chunk.start : chunk.end] = [notation.join(letter, chunk.type) for letter in letters]
    return _filled(labels, notation)


def _filled(labels: list[str], notation: Notation) -> list[str]:
    """The labels with those of tokens outside of chunks, which are empty so far."""
    if notation.outside is None:
        return [label or "O" for label in labels]
    first, further = (notation.join(letter, notation.outside) for letter in "BI")
    before = [False, *(not label for label in labels)]
    return [label or (further if inside else first) for label, inside in zip(labels, before, strict=False)]


def letter_at(scheme: str, starts: bool, ends: bool, after: bool, before: bool) -> str:
    """The letter of a token that starts or ends its chunk; the chunk may touch one of the same type that ends before
    this token (`after`) or starts after it (`before`)."""
    row = scheme_named(scheme)
    if not {"previous": after, "next": before}.get(row.only_beside, True):
        return "I"
    return row.single if starts and ends else row.first if starts else row.last if ends else "I"


def _touch(left: Span, right: Span) -> bool:
    return left.end == right.start and left.type == right.type


def _letters(length: int, row: Scheme) -> str:
    return row.single if length == 1 else row.first + "I" * (length - 2) + row.last
