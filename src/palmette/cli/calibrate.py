"""`palmette calibrate`: a temperature for a model's scores, so that its confidences are probabilities."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from palmette.cli.options import Columns, File, Helpers, Json, Quiet, load_tagger, pairs, say
from palmette.cli.telling import Ticker, print_json


def calibrate(
    model: str,
    data: File,
    /,
    *,
    output: Annotated[str, Parameter(name=["--output", "-o"])],
    label: str | None = None,
    columns: Columns = None,
    format: str | None = None,
    separator: str = "auto",
    with_: Helpers = None,
    partial: Annotated[bool | None, Parameter(negative="--no-partial")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a temperature on labelled data, so that a model's confidences are probabilities. Its labels stay the same.

    All scores are divided by the temperature that makes the gold label sequences of the data most probable.

    Parameters
    ----------
    model: str
        The model file.
    data: str
        Labelled sentences that the model was not trained on, such as development data.
    output: str
        The model file to write; may be the same.
    label: str
        The gold label's column; default as in training.
    columns: str
        Columns that the model's templates see as 0, 1, ...; default as in training.
    format: str
        columns, conllu, attributes or jsonl; default as in training.
    separator: str
        auto, tab, space (runs of them), comma, semicolon, bar, or one character.
    with_: list[str]
        NAME=MODEL: a column that the data lacks comes from another model; repeatable.
    partial: bool
        Gold labels may be partly known (`?`, `A|B`): what is known counts. Default as in training.
    json: bool
        Print one JSON object; errors are fractions of 1.
    quiet: bool
        No progress and no messages.
    """
    from palmette.cli.options import reading_from
    from palmette.data.formats.registry import read_corpus
    from palmette.structures.chain.files import with_columns

    tagger = load_tagger(model, quiet)
    reading = tagger.reading_for(data, labelled=True).overridden(reading_from(format, separator, columns, label))
    corpus = read_corpus(data, reading)
    corpus = with_columns(
        corpus, [load_tagger(path, quiet).model_ for path in pairs(with_, "--with").values()], tagger.model_
    )
    found = tagger.calibrate_corpus(corpus, None if quiet else Watch(), partial=partial)
    tagger.save(output)
    if json:
        print_json(found)
    elif not quiet:
        from palmette.reports.reliability import print_calibration

        print_calibration(found)
    left_out = corpus.n_sentences - found.sentences
    if left_out:
        say(quiet)(f"left out: {left_out:,} sentences with labels that the model does not have or does not allow")
    say(quiet)(f"wrote {output}: its confidences are probabilities now")


class Watch(Ticker):
    """Which temperatures were tried."""

    def __call__(self, temperature: float, loss: float) -> None:
        if self.due():
            self.tell(f"temperature {temperature:.4g}: negative log-likelihood {loss:.5f} a token")
