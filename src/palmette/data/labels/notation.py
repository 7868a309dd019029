"""How a label is written: which part of it is the letter, which the type.

Three notations exist. Letters: a letter, a separator and a type ("B-NP", "B_NP"), a bare letter if there is only one
type, and "O" outside. GROBID's: "I-<day>" begins a field and "<day>" continues it; every token is in a field, and the
tokens of "<other>" are those that others call outside. Bare: the label is the type itself ("StreetName"), and a run of
equal labels is a span; "O" is outside. Which of the first two a set of labels has can be seen; bare labels look like
word classes, so that they must be asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping

from palmette.errors import UsageError

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
