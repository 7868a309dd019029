"""The sentences that the page begins with: those of a file that the server was started with, or else words that the
model knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from palmette.classification.files import stream_classified
from palmette.data.formats.attributes import escaped
from palmette.data.formats.conllu import stream_treebank
from palmette.data.formats.raw import token_spans
from palmette.data.formats.registry import stream_corpus
from palmette.data.subset import take
from palmette.errors import DataError, UsageError
from palmette.reports.inspection import top_attributes
from palmette.serve.model_files import pool_spec
from palmette.serve.page.lines import attribute_rows, example_lines
from palmette.serve.page.models import PageModel
from palmette.structures.chain.explain import attribute_words
from palmette.structures.chain.files import spec_for
from palmette.structures.chain.model import ChainModel

FILES = ("test", "pool", "dev", "train")  # in this order
SENTENCES = 3
SIZES = range(4, 31)  # tokens of a sentence that is easy to look at
LOOKED = 200  # sentences among which there may be one
WORDS = 12
_CLOSING = frozenset((".", ",", ";", ":", "!", "?", ")", "]", "}", "%", "n't", "n’t", "...", "…"))
_OPENING = frozenset(("(", "[", "{", "$", "#"))
_OWN = ("word[0]=", "lower[0]=", "char[0]=")  # attributes that name the word itself


def example_of(shown: PageModel) -> str:
    """A text, or lines for a model that reads more than words; empty if there is nothing to begin with."""
    for name in FILES:
        if name in shown.files:
            try:
                found = _of_file(shown, shown.files[name], name != "pool")
            except (DataError, UsageError, OSError):
                continue  # the data is of another model
            if found:
                return found
    if shown.kind == "tagger":
        chain = shown.chain()
        return example_lines(chain) if chain.encoder is None else _known_words(shown, chain)
    return ""


def _of_file(shown: PageModel, path: str, labelled: bool) -> str:
    if shown.kind == "tagger":
        return _of_corpus(shown, path, labelled)
    if shown.kind == "classifier":
        blocks = stream_classified(path, labelled=labelled)
        words = [list(one.words) if labelled else list(one.tokens) for one in next(blocks, [])]
        return _text([[w if isinstance(w, str) else w[0] for w in words[k]] for k in _chosen(map(len, words))])
    bank = next(stream_treebank(path, labelled=False), None)
    if bank is None:
        return ""
    return _text([[row[0] for row in bank.corpus.sentence(s)] for s in _chosen(np.diff(bank.offset).tolist())])


def _of_corpus(shown: PageModel, path: str, labelled: bool) -> str:
    chain = shown.chain()
    corpus = next(
        stream_corpus(path, spec_for(chain, path, labelled=True) if labelled else pool_spec(chain, path)), None
    )
    if corpus is None or not corpus.n_tokens:
        return ""
    chosen = _chosen(np.diff(corpus.offset).tolist())
    if chain.encoder is None:
        rows = attribute_rows(take(corpus, np.array(chosen[:1])))
        return "\n".join("\t".join(map(escaped, row)) for row in rows or [])
    n = chain.encoder.n_columns
    sentences = [corpus.sentence(s) for s in chosen]
    if n > 1 + len(shown.helpers):
        return "\n\n".join("\n".join(" ".join(row[:n]) for row in rows) for rows in sentences)
    words = [[row[0] for row in rows] for rows in sentences]
    return "\n".join("".join(one) for one in words) if shown.unit() == "char" else _text(words)


def _chosen(sizes: Iterable[int]) -> list[int]:
    """The numbers of some of the first sentences, of a good size if there are such."""
    first = [size for _, size in zip(range(LOOKED), sizes, strict=False)]
    good = [s for s, size in enumerate(first) if size in SIZES]
    return (good or [s for s, size in enumerate(first) if size])[:SENTENCES]


def _text(sentences: Sequence[Sequence[str]]) -> str:
    """Sentences of words as lines of a text, written so that it has the same words again."""
    return "\n".join(map(written, sentences))


def written(words: Sequence[str]) -> str:
    """The words of a sentence with spaces as people write them, if that has the same words."""
    made = ""
    for k, word in enumerate(words):
        near = word in _CLOSING or (word[:1] in "'’" and word[1:].isalpha()) or (k and words[k - 1] in _OPENING)
        made += word if near or not k else f" {word}"
    same = [made[a:b] for a, b in token_spans(made)] == list(words)
    return made if same else " ".join(words)


def _known_words(shown: PageModel, chain: ChainModel) -> str:
    """Words by which the model knows its labels best."""
    if 1 not in chain.names or chain.encoder is None or chain.encoder.n_columns > 1 + len(shown.helpers):
        return ""
    in_words, made = attribute_words(chain), []
    for label in chain.labels:
        for one in top_attributes(chain, label, 40):
            name = in_words(str(one["attribute"]))
            start = next((start for start in _OWN if name.startswith(start)), None)
            word = "" if start is None else name.removeprefix(start).partition(" (")[0]
            if one["weight"] > 0 and word.isalnum() and word not in made:
                made.append(word)
                break
    return ("" if shown.unit() == "char" else " ").join(made[:WORDS])
