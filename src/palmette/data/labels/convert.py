"""Labels of one tag scheme in another, through spans."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple, cast, overload

from palmette.data.labels.notation import HYPHEN, Bare, Grobid, Lettered
from palmette.data.labels.schemes import SPELLINGS, Span, from_spans, reading, scheme_named, spans, spans_in
from palmette.errors import UsageError, counted

logger = logging.getLogger(__name__)


@overload
def convert_labels(labels: Sequence[str], to: str = "iobes", source: str | None = None) -> list[str]: ...
@overload
def convert_labels(labels: Sequence[list[str]], to: str = "iobes", source: str | None = None) -> list[list[str]]: ...
def convert_labels(
    labels: Sequence[str] | Sequence[list[str]], to: str = "iobes", source: str | None = None
) -> list[str] | list[list[str]]:
    """The labels of a sentence, or of several sentences, in another tag scheme, whose name also chooses the letters
    (iobes: E and S; bilou: L and U). Any scheme is read; ill-formed input is read by conlleval's rules. `source`: the
    scheme of the labels, which only `bare` must name. A warning counts chunks that the new labels cannot express.

    >>> convert_labels(["B-NP", "I-NP", "O"])
    ['B-NP', 'E-NP', 'O']
    >>> convert_labels(["I-<day>", "<day>", "I-<other>"], "iob2")
    ['B-day', 'I-day', 'O']
    """
    if isinstance(labels, str):
        raise UsageError("labels are a list of strings, or a list of such lists")
    single = all(isinstance(label, str) for label in labels)
    sentences = [cast(Sequence[str], labels)] if single else cast(Sequence[Sequence[str]], labels)
    made, lost = convert_sentences(sentences, to, source)
    if lost:
        logger.warning("%s", lost_said(len(lost), to))
    return made[0] if single else made


class Converted(NamedTuple):
    """Sentences in another scheme, and the chunks (with the number of their sentence) that it cannot express."""

    labels: list[list[str]]
    lost: list[tuple[int, Span]]


def convert_sentences(sentences: Sequence[Sequence[str]], to: str, source: str | None = None) -> Converted:
    """As `convert_labels`, and which chunks are lost: those that reading the new labels does not give back. Only bare
    labels lose some: neighbours of equal type, and the type O; GROBID's labels lose the type other."""
    notation = reading({label for sentence in sentences for label in sentence}, source) or HYPHEN
    letters = scheme_named(source).letters if source else "BIESO"
    spelling = SPELLINGS.get(to.upper(), {})
    made, lost = [], []
    for s, sentence in enumerate(sentences):
        chunks = spans_in(sentence, notation, letters)
        labels = from_spans(chunks, len(sentence), to)
        if scheme_named(to).notation != Lettered.kind:
            kept = set(spans(labels, to))
            lost += [(s, chunk) for chunk in chunks if chunk not in kept]
        made.append([spelling.get(label[0], label[0]) + label[1:] for label in labels] if spelling else labels)
    return Converted(made, lost)


def lost_said(n: int, to: str) -> str:
    """What is reported of lost chunks."""
    why = {
        Bare.kind: "neighbours of equal type become one, and O is outside",
        Grobid.kind: "<other> is outside",
    }[scheme_named(to).notation]
    return f"{counted(n, 'chunk')} cannot be expressed by {to} labels: {why}"
