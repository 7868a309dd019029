"""The small corpus that ships with palmette, for examples, documentation and first experiments."""

from __future__ import annotations

from importlib.resources import files

from palmette.errors import UsageError

PARTS = ("train", "dev", "test")
Sentences = list[list[tuple[str, str]]]


def demo_text(part: str) -> str:
    """The text of one part: `word POS chunk` a line, a blank line between sentences."""
    if part not in PARTS:
        raise UsageError(f"the demo corpus has no part {part!r}; it has {', '.join(PARTS)}")
    return (files("palmette") / "data" / f"{part}.txt").read_text(encoding="utf-8")


def load_demo(part: str = "train") -> tuple[Sentences, list[list[str]]]:
    """Sentences of (word, POS) tuples, and their chunk tags."""
    rows = [[line.split(" ") for line in block.split("\n")] for block in demo_text(part).strip().split("\n\n")]
    words = [[(word, pos) for word, pos, _ in sentence] for sentence in rows]
    return words, [[chunk for _, _, chunk in sentence] for sentence in rows]
