"""Slow twin of the encoder's templates: one attribute string at a time, straight from the definition."""

from __future__ import annotations

from palmette.features import Lexicon, Resources, atom_function, lexicon_name, outside
from palmette.features.templates import Template

Sentence = list[list[str]]  # a token is its cells


def expand(
    template: Template, syntax: str, sentence: Sentence, i: int, resources: Resources | None = None
) -> str | None:
    """The attribute's string at token `i`, None when an atom is absent there."""
    pieces = [template.literals[0]]
    for macro, literal in zip(template.macros, template.literals[1:], strict=True):
        value = _value(macro.position(i, len(sentence)), macro.column, macro.atom, syntax, sentence, resources)
        if value is None:
            return None
        pieces += [value, literal]
    return "".join(pieces)


def _value(at: int, column: int, atom: str, syntax: str, sentence: Sentence, resources: Resources | None) -> str | None:
    lexicon = lexicon_name(atom)
    inside = 0 <= at < len(sentence)
    if lexicon is not None:
        assert resources is not None
        words = [cells[column] for cells in sentence]
        if inside:
            return phrases(resources.lexicons[lexicon], words)[at]
    if inside:
        return atom_function(atom, resources)(sentence[at][column])
    distance = at if at < 0 else at - len(sentence) + 1
    return outside(syntax, distance, str if lexicon is not None else atom_function(atom, resources))


def phrases(lexicon: Lexicon, words: list[str]) -> list[str | None]:
    """B-class and I-class of the longest phrases, left to right."""
    if lexicon.fold:
        words = [word.casefold() for word in words]
    found: list[str | None] = []
    while len(found) < len(words):
        start = len(found)
        ends = [end for end in range(start + 1, len(words) + 1) if " ".join(words[start:end]) in lexicon.classes]
        if not ends:
            found.append(None)
            continue
        label = lexicon.classes[" ".join(words[start : ends[-1]])]
        found += [f"B-{label}", *[f"I-{label}"] * (ends[-1] - start - 1)]
    return found
