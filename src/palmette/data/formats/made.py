"""Files made from the cells of any corpus, with its labels or without: what `palmette convert` writes.

columns     the columns and the label, separated by TAB, with a blank line after each sentence
jsonl       an object per sentence: `tokens` and `tags`; of raw and annotated text also `text` and `offsets`
conllu      the words numbered, the label as UPOS; of raw and annotated text also `# text` and `SpaceAfter=No`
attributes  the label, and of each column its number and its cell: `0=Time`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.formats.attributes import escaped
from palmette.data.formats.jsonl import TAGS
from palmette.data.formats.labelling import BREAKING, Labelling, cell_rows, token_records
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError
from palmette.options.spelling import named

NOTHING = "_"


def _columns(given: Labelling, labelled: bool) -> bytes:
    rows, between = cell_rows(given.corpus, given.labels)
    if labelled:
        rows = [row + between + tag.encode() for row, tag in zip(rows, given.tags(), strict=True)]
    marks = given.corpus.offset.tolist()
    return b"".join(b"\n".join([*rows[first:end], b"", b""]) for first, end in pairwise(marks))


def check_words(corpus: Corpus, name: str) -> None:
    """DataError if the tokens have no words, which a format must have."""
    if corpus.n_tokens and not corpus.columns:
        raise DataError(
            f"there are only labels, and {name} has words", file=corpus.source, hint=f"see {named(FormatSpec, 'label')}"
        )


def _jsonl(given: Labelling, labelled: bool) -> bytes:
    check_words(given.corpus, "a JSON line")
    tags = given.tags()
    made = []
    for (fields, _), (first, end) in zip(
        token_records(given.corpus), pairwise(given.corpus.offset.tolist()), strict=True
    ):
        made.append(msgspec.json.encode(fields | {TAGS: tags[first:end]} if labelled else fields) + b"\n")
    return b"".join(made)


def _conllu(given: Labelling, labelled: bool) -> bytes:
    corpus, tags = given.corpus, given.tags()
    check_words(corpus, "CoNLL-U")
    words = corpus.columns[0].cells() if corpus.columns else []
    if broken := next((word for word in words if not word or BREAKING.search(word)), None):
        raise DataError(f"the word {broken[:20]!r} cannot be a word of CoNLL-U", file=corpus.source, hint="write jsonl")
    glued = _glued(corpus)
    made: list[str] = []
    for s, (first, end) in enumerate(pairwise(corpus.offset.tolist())):
        if corpus.surface is not None:
            made.append(f"# text = {' '.join(corpus.surface.sentences[s].split())}")
        for i in range(first, end):
            tag = tags[i] if labelled else NOTHING
            misc = "SpaceAfter=No" if glued[i] else NOTHING
            fields = [str(i - first + 1), words[i], NOTHING, tag, *[NOTHING] * 5, misc]
            made.append("\t".join(fields))
        made.append("")
    return "".join(f"{line}\n" for line in made).encode()


def _glued(corpus: Corpus) -> list[bool]:
    """After which tokens the next one of the sentence follows without a space."""
    made = [False] * corpus.n_tokens
    if corpus.surface is not None:
        places = corpus.surface.span.tolist()
        for first, end in pairwise(corpus.offset.tolist()):
            for i in range(first, end - 1):
                made[i] = places[i][1] == places[i + 1][0]
    return made


def _attributes(given: Labelling, labelled: bool) -> bytes:
    if not labelled:
        raise UsageError("a file of attributes begins with labels, and the input has none")
    cell_rows(given.corpus, given.labels)  # checks the cells
    labels = [escaped(label) for label in given.labels]
    columns = [
        [f"{number}={escaped(cell)}" for cell in column.types] for number, column in enumerate(given.corpus.columns)
    ]
    ids = [column.ids.tolist() for column in given.corpus.columns]

    def lines() -> Iterator[str]:
        for first, end in pairwise(given.corpus.offset.tolist()):
            for i in range(first, end):
                cells = [names[own[i]] for names, own in zip(columns, ids, strict=True)]
                yield "\t".join([labels[given.ids[i]], *cells])
            yield ""

    return "".join(f"{line}\n" for line in lines()).encode()


MADE: dict[str, Callable[[Labelling, bool], bytes]] = {
    "columns": _columns,
    "jsonl": _jsonl,
    "conllu": _conllu,
    "attributes": _attributes,
}
