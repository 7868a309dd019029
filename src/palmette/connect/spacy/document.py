"""A pipeline's document as spaCy's `Doc`, whose text is that of the document, character by character.

spaCy's tokens are those of the text. A multi-word token has the annotations of that of its words which depends on none
of the others; white space that is not one blank is a token of its own, as spaCy has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.parts_of_speech import IDS
from spacy.tokens import Doc
from spacy.vocab import Vocab

from palmette.connect.spacy.tree import OF_WHITESPACE
from palmette.data.tree_checks import UNKNOWN
from palmette.data.treebank import NOTHING

if TYPE_CHECKING:
    from palmette.pipeline.document import Document


def spacy_doc(document: Document, vocab: Vocab) -> Doc:
    """The document with sentences, tags, features, lemmas and trees, as far as it has them."""
    split = document.split
    words, spaces, places = _tokens(split.tokens(), split.between())
    chosen = _chosen_words(document)
    fields: dict[str, Any] = {
        "tags": _spread(document, "xpos", chosen, places, len(words)),
        "pos": [cell if cell in IDS else "" for cell in _spread(document, "upos", chosen, places, len(words))],
        "morphs": _spread(document, "feats", chosen, places, len(words)),
        "lemmas": _spread(document, "lemma", chosen, places, len(words)),
    }
    if split.n_tokens and (document.treebank.heads != UNKNOWN).all():
        fields |= _trees(document, chosen, places, len(words))
    else:
        starts = np.full(len(words), -1)
        starts[places[split.sentence[:-1]]] = 1
        starts[:1] = 1
        fields["sent_starts"] = starts.tolist()
    return Doc(vocab, words=words, spaces=spaces, **fields)


def _tokens(tokens: list[str], between: list[str]) -> tuple[list[str], list[bool], np.ndarray]:
    """spaCy's tokens, whether a blank follows each of them, and the place of each of ours among them."""
    words: list[str] = []
    spaces: list[bool] = []
    places = np.zeros(len(tokens), np.int64)
    for t, gap in enumerate(between):
        if t:
            places[t - 1] = len(words)
            words.append(tokens[t - 1])
            spaces.append(gap.startswith(" "))
            gap = gap.removeprefix(" ")
        if gap:
            words.append(gap)
            spaces.append(False)
    return words, spaces, places


def _chosen_words(document: Document) -> np.ndarray:
    """i64[T]: the word whose annotations a token gets: the first that depends on no other word of the token."""
    split, heads = document.split, document.treebank.heads
    chosen = split.first_word[:-1].copy()
    for t in np.flatnonzero(np.diff(split.first_word) > 1).tolist():
        lo, hi = int(split.first_word[t]), int(split.first_word[t + 1])
        before = _sentence_start(document, lo)
        free = [i for i in range(lo, hi) if not lo <= before + int(heads[i]) - 1 < hi or heads[i] <= 0]
        chosen[t] = free[0] if free else lo
    return chosen


def _sentence_start(document: Document, word: int) -> int:
    offset = document.split.offset
    return int(offset[np.searchsorted(offset, word, side="right") - 1])


def _spread(document: Document, field: str, chosen: np.ndarray, places: np.ndarray, n: int) -> list[str]:
    """The cells of the chosen words at their tokens' places; nothing at white space."""
    column = document.treebank.column(field)
    made = [""] * n
    for place, k in zip(places.tolist(), column.ids[chosen].tolist(), strict=True):
        cell = column.types[k]
        made[place] = "" if cell == NOTHING and field != "lemma" else cell
    return made


def _trees(document: Document, chosen: np.ndarray, places: np.ndarray, n: int) -> dict[str, list[Any]]:
    """Heads as places of spaCy's tokens, and relations. White space hangs on the token before it, or at the start on
    the first one."""
    split, bank = document.split, document.treebank
    start = np.repeat(split.offset[:-1], np.diff(split.offset))
    parent = np.where(bank.heads > 0, start + bank.heads - 1, np.arange(split.n_words))[chosen]
    heads = np.maximum(np.searchsorted(places, np.arange(n), side="right") - 1, 0)
    heads = places[heads]
    heads[places] = places[document.token_of[parent]]
    relations = [OF_WHITESPACE] * n
    for place, word in zip(places.tolist(), chosen.tolist(), strict=True):
        relations[place] = bank.relations.types[bank.relations.ids[word]]
    return {"heads": heads.tolist(), "deps": relations}
