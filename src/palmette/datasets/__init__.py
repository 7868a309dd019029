"""Small data sets that are part of the package, for examples, documentation and first experiments."""

from __future__ import annotations

import random
from importlib.resources import files
from typing import TYPE_CHECKING

from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.data.treebank import Treebank

PARTS = ("train", "dev", "test")
HELD_OUT = 5  # every fifth vowel, phrase and tree is for testing
Sentences = list[list[tuple[str, str]]]


def _text(name: str) -> str:
    return (files("palmette") / "datasets" / "files" / name).read_text(encoding="utf-8")


def demo_text(part: str) -> str:
    """The text of one part: `word POS chunk` per line, a blank line between sentences."""
    if part not in PARTS:
        raise UsageError(f"the demo corpus has no part {part!r}; it has {', '.join(PARTS)}")
    return _text(f"{part}.txt")


def load_demo(part: str = "train") -> tuple[Sentences, list[list[str]]]:
    """Sentences of (word, POS) tuples, and their chunk tags."""
    rows = [[line.split(" ") for line in block.split("\n")] for block in demo_text(part).strip().split("\n\n")]
    words = [[(word, pos) for word, pos, _ in sentence] for sentence in rows]
    return words, [[chunk for _, _, chunk in sentence] for sentence in rows]


def load_vowels(part: str = "train") -> tuple[list[list[float]], list[str]]:
    """Made-up vowels: rows of two formants in kHz, and which vowel each is."""
    rows = [line.split() for line in _part("vowels.txt", part)]
    return [[float(f1) / 1000, float(f2) / 1000] for _, f1, f2 in rows], [vowel for vowel, _, _ in rows]


def load_acronyms(part: str = "train") -> tuple[list[list[str]], list[list[str]]]:
    """Phrases as lists of letters (`_` for a space), and which letters are in the acronym (I) and which are not (O)."""
    phrases = _part("acronyms.txt", part)
    letters = [["_" if letter == " " else letter.lower() for letter in phrase] for phrase in phrases]
    return letters, [["I" if letter.isupper() else "O" for letter in phrase] for phrase in phrases]


def load_grammaticality(part: str = "train") -> tuple[Sentences, list[str]]:
    """Sentences of (word, POS) tuples and their classes: those of the demo corpus are 1, and each is followed by the
    same with a few neighbours exchanged, which is 0."""
    sentences, _ = load_demo(part)
    rng = random.Random(PARTS.index(part))
    X = [each for sentence in sentences for each in (sentence, _exchanged(sentence, rng))]
    return X, ["1", "0"] * len(sentences)


def _exchanged(sentence: list[tuple[str, str]], rng: random.Random) -> list[tuple[str, str]]:
    """The sentence with about every fourth token exchanged with the next one; the last one stays."""
    made = list(sentence)
    for _ in range(max(1, len(made) // 4)):
        k = rng.randrange(max(1, len(made) - 2))
        made[k : k + 2] = reversed(made[k : k + 2])
    return made


def _part(name: str, part: str) -> list[str]:
    return _shares(_text(name).splitlines(), part)


def _shares(lines: list[str], part: str) -> list[str]:
    if part not in ("train", "test"):
        raise UsageError(f"this data has no part {part!r}; it has train, test")
    return [line for k, line in enumerate(lines) if (k % HELD_OUT == HELD_OUT - 1) == (part == "test")]


def example_files(name: str) -> dict[str, str]:
    """Data as files to train and test on: name -> text."""
    texts = {
        "vowels": _vowel_text, "acronyms": _acronym_text, "sentences": _sentence_text,
        "grammaticality": _grammaticality_text, "trees": tree_text,
    }  # fmt: skip
    if name not in texts:
        raise UsageError(f"there is no data {name!r}; choose one of {', '.join(texts)}")
    ending = "conllu" if name == "trees" else "txt"
    return {f"{name}.{ending}": texts[name]("train"), f"{name}_test.{ending}": texts[name]("test")}


def load_trees(part: str = "train") -> Treebank:
    """Short sentences with dependency trees."""
    from palmette.data.formats.conllu import parse_treebank

    return parse_treebank(tree_text(part).encode(), f"trees, {part}")


def tree_text(part: str) -> str:
    """Short sentences with dependency trees, as CoNLL-U."""
    return "".join(f"{sentence}\n\n" for sentence in _shares(_text("trees.conllu").strip().split("\n\n"), part))


def _vowel_text(part: str) -> str:
    """Ready-made attributes with values, in sentences of one token."""
    rows = zip(*load_vowels(part), strict=True)
    return "\n\n".join(f"{vowel}\tf1:{f1:g}\tf2:{f2:g}\tbias" for (f1, f2), vowel in rows) + "\n"


def _acronym_text(part: str) -> str:
    """Columns: a letter and its label, a blank line between phrases."""
    pairs = [zip(*both, strict=True) for both in zip(*load_acronyms(part), strict=True)]
    return "\n\n".join("\n".join(f"{letter} {label}" for letter, label in own) for own in pairs) + "\n"


def _grammaticality_text(part: str) -> str:
    """A class, words and parts of speech per line."""
    lines = []
    for sentence, label in zip(*load_grammaticality(part), strict=True):
        words, pos = zip(*sentence, strict=True)
        lines.append(f"{label}\t{' '.join(words)}\t{' '.join(pos)}\n")
    return "".join(lines)


def _sentence_text(part: str) -> str:
    """The words of the demo corpus, in lower case, one sentence per line."""
    rows = [[word.lower() for word, _ in sentence] for sentence in load_demo(part)[0]]
    return "".join(" ".join(row) + "\n" for row in rows)
