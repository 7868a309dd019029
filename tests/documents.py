"""Hypothesis strategies for annotated texts: emoji, combining marks, line ends of all kinds, spans anywhere."""

from __future__ import annotations

from hypothesis import strategies as st

from palmette.data.annotations.document import Document, TextSpan

CHARACTERS = [
    *"ab.Z é漢\t\n'\"\\", "😀", "👩", "\u200d", "\u0301", "\u2028", "\r\n", "\r", "\u00a0", "n't ",
]  # fmt: skip
WORDS = ["Anna", "Berlin-Mitte", "U.S.", "don't", "e\u0301te\u0301", "👩\u200d🚒", "😀", "x.", "End.", "…", "10:30"]
texts = st.one_of(
    st.lists(st.sampled_from(CHARACTERS), max_size=20).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
)
labels = st.sampled_from(["PER", "LOC", "X-1", "ÄÖ"])


@st.composite
def spans_of(draw: st.DrawFn, text: str, gaps: bool = False) -> TextSpan:
    """A span anywhere in a text, perhaps empty; with `gaps` perhaps in pieces."""
    size = draw(st.sampled_from([2, 2, 2, 4, 6])) if gaps else 2
    places = sorted(draw(st.lists(st.integers(0, len(text)), min_size=size, max_size=size)))
    pieces = tuple((places[k], places[k + 1]) for k in range(0, size, 2))
    return TextSpan(places[0], places[-1], draw(labels), pieces if size > 2 else ())


@st.composite
def documents(draw: st.DrawFn, gaps: bool = False) -> Document:
    text = draw(texts)
    return Document(text, draw(st.lists(spans_of(text, gaps), max_size=5)), place="here")
