"""`palmette explain`: why a sentence got its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from palmette.cli.options import Flag, Helpers, Json, MaybeFile, Repeated, biases, load_tagger, pairs
from palmette.cli.telling import print_json
from palmette.errors import DataError, UsageError

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus
    from palmette.estimators.tagger import Tagger

Sentence = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


def explain(
    model: str,
    text: Sentence = None,
    /,
    *,
    data: MaybeFile = None,
    sentence: int = 1,
    format: str | None = None,
    unit: str | None = None,
    penn_quotes: Flag = False,
    with_: Helpers = None,
    bias: Repeated = None,
    top: int = 15,
    json: Json = False,
) -> None:
    """Show the best label sequence of a sentence, the runner-up, and the attributes that tipped the balance.

    Parameters
    ----------
    model: str
        The model file.
    text: str
        The sentence, typed.
    data: str
        A file to take the sentence from instead, such as one with several columns; `-` is standard input.
    sentence: int
        Which sentence of that file, from 1.
    format: str
        Of that file: columns, conllu, attributes, jsonl, text or plain. Default: as in training.
    unit: str
        What a token of a typed sentence is: word, or char for models of characters.
    penn_quotes: bool
        Turn the quotes of a typed sentence into `` and '', as the Penn Treebank writes them.
    with_: list[str]
        NAME=MODEL: a column that the sentence lacks comes from another model, such as pos=pos.palm; repeatable.
    bias: list[str]
        LABEL=NUMBER added to a label's score; repeatable.
    top: int
        How many contributions to show; the others are added up.
    json: bool
        Print one JSON object, with all contributions.
    """
    if (text is None) == (data is None):
        raise UsageError('give either a sentence, palmette explain MODEL "a sentence", or a file: --data FILE')
    if data is not None and (unit or penn_quotes):
        raise UsageError("--unit and --penn-quotes are for a typed sentence")
    if text is not None and (format or sentence != 1):
        raise UsageError("--format and --sentence are for a file: --data FILE")
    if top < 1 or sentence < 1:
        raise UsageError(f"--{'top' if top < 1 else 'sentence'}: a number from 1 on")
    tagger = load_tagger(model, quiet=False)
    helpers = [load_tagger(path, quiet=False) for path in pairs(with_, "--with").values()]
    from palmette.reports.explanation import explanation, print_explanation
    from palmette.structures.chain.explain import explain as weigh

    if text is not None:
        from palmette.reports.sentence import typed_sentence

        corpus = typed_sentence(tagger, helpers, text, unit=unit or "word", penn_quotes=penn_quotes)
    else:
        corpus = _from_file(tagger, helpers, data or "-", format, sentence)
    found = weigh(tagger.model_, corpus, biases(bias))
    if json:
        print_json(explanation(found))
    else:
        print_explanation(found, top)


def _from_file(tagger: Tagger, helpers: list[Tagger], data: str, format: str | None, number: int) -> Corpus:
    """One sentence of a file, which is read no further than that."""
    import numpy as np

    from palmette.cli.options import reading_from
    from palmette.data.formats.registry import stream_corpus
    from palmette.data.subset import take
    from palmette.structures.chain.files import with_columns

    reading = tagger.reading_for(data)
    if format is not None:
        reading = reading.overridden(reading_from(format, "auto", None, None))
    before = 0
    for corpus in stream_corpus(data, reading):
        if number <= before + corpus.n_sentences:
            return with_columns(
                take(corpus, np.array([number - 1 - before])), [helper.model_ for helper in helpers], tagger.model_
            )
        before += corpus.n_sentences
    raise DataError(f"there is no sentence {number}: it has {before:,}", file=data)
