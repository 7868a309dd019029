"""A file of any size through a chain model, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.files import FilePath, write_whole
from palmette.data.formats.confidence import ConfidenceOutput, check_tellable, write_confidence
from palmette.data.formats.write import Writer
from palmette.data.labels.mask import mask_from_column
from palmette.data.read import FormatSpec, stream
from palmette.data.threads import in_order
from palmette.errors import UsageError
from palmette.structures.chain.model import CAP, ChainModel, Decoded
from palmette.structures.chain.posteriors import confidence_of


class Tagging(NamedTuple):
    """What to write of each sentence, and how to find it."""

    bias: dict[str, float] | None = None
    helpers: Sequence[ChainModel] = ()  # they make the columns that the input lacks
    known: bool = False  # the label's column tells what is known: a label, `A|B`, or `?`
    states: bool = False  # the latent state instead of the label
    decode: str = "viterbi"
    cap: int = CAP  # paths that the exact search looks at
    tell: ConfidenceOutput = ConfidenceOutput()


class Tagged(NamedTuple):
    """How much was tagged, and of how many sentences the exact search has a proof."""

    tokens: int
    proven: int
    sentences: int


def tag_file(
    model: ChainModel, source: FilePath, target: FilePath, reading: FormatSpec, how: Tagging, *, output: str | None,
    scores: bool, threads: int, progress: Callable[[int], None] | None,
) -> Tagged:  # fmt: skip
    """Block by block; the target is written whole or not at all."""
    model.with_bias(how.bias or {})
    names = model.shape.state_names(model.labels) if how.states else model.labels
    writer = Writer(reading.resolved(source).format, output, names, scores=scores)
    _check(model, how)
    check_tellable(writer, how.tell)

    def work(corpus: Corpus) -> tuple[int, bytes, np.ndarray | None]:
        return _tagged(model, writer, with_columns(corpus, how.helpers, model), how)

    tokens = proven = sentences = 0
    with write_whole(target) as out:
        for n, data, sure in in_order(work, stream(source, reading), threads):
            out.write(data)
            tokens += n
            if sure is not None:
                proven, sentences = proven + int(sure.sum()), sentences + sure.size
            if progress is not None:
                progress(tokens)
    return Tagged(tokens, proven, sentences)


def _check(model: ChainModel, how: Tagging) -> None:
    if how.states and model.shape.per == 1:
        raise UsageError("the model has no states to show; train it with --latent or --label-history")
    if how.states and how.decode != "viterbi":
        raise UsageError("the states are those of the best path: --show-states goes with --decode viterbi")
    if how.states and any(how.tell):
        raise UsageError("confidences are those of labels: leave --show-states out")


def _tagged(model: ChainModel, writer: Writer, corpus: Corpus, how: Tagging) -> tuple[int, bytes, np.ndarray | None]:
    """A block: its tokens, what is written of it, and the proofs."""
    facts = mask_from_column(corpus, model.labels) if how.known and corpus.n_tokens else None
    if how.states:
        found = Decoded(*model.tag(corpus, how.bias, facts, states=True), None)
    else:
        found = model.decode(corpus, how.decode, how.bias, facts, how.cap)
    if not any(how.tell):
        return corpus.n_tokens, writer.write(corpus, found.labels, found.scores), found.proven
    marginals, whole = how.tell.marginals, how.tell.confidence
    sure = confidence_of(model, corpus, found.labels, how.bias, facts, marginals=marginals, whole=whole)
    return (
        corpus.n_tokens, write_confidence(writer, corpus, found.labels, found.scores, sure, how.tell), found.proven,
    )  # fmt: skip


def with_columns(corpus: Corpus, helpers: Sequence[ChainModel], reader: ChainModel) -> Corpus:
    """The corpus with a column more for each helper, made by it, for a reader that lacks them."""
    encoder = reader.encoder
    if helpers and corpus.n_tokens and encoder is not None and len(corpus.columns) >= encoder.n_columns:
        raise UsageError(
            f"the model reads {encoder.n_columns} columns and the input has {len(corpus.columns)}: there is nothing "
            "for --with to add; choose those of the input with --columns"
        )
    for model in helpers:
        ids, _ = model.tag(corpus)
        corpus.columns = [*corpus.columns, column_of_types(ids, model.labels)]
    return corpus
