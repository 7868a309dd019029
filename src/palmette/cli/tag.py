"""`palmette tag`: a file, standard input or a typed sentence through a model."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from palmette.cli.options import Columns, File, Flag, Helpers, Output, Quiet, Repeated, Text, biases, load_tagger, pairs
from palmette.cli.telling import Meter, tell_rate, tell_where_from
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.data.formats.registry import FormatSpec
    from palmette.estimators.tagger import Tagger


def tag(
    model: str,
    data: File = "-",
    /,
    *,
    output: Output = "-",
    text: Text = None,
    format: str | None = None,
    to: str | None = None,
    columns: Columns = None,
    separator: str = "auto",
    unit: str | None = None,
    penn_quotes: Flag = False,
    with_: Helpers = None,
    known: str | None = None,
    bias: Repeated = None,
    scores: Flag = False,
    nbest: int | None = None,
    show_states: Flag = False,
    decode: str = "viterbi",
    posterior: Flag = False,
    cap: int = 1000,
    confidence: Flag = False,
    marginals: Flag = False,
    search: str | None = None,
    beam: int | None = None,
    threads: int = 1,
    quiet: Quiet = False,
) -> None:
    """Tag a file, standard input or a typed sentence with a model.

    Parameters
    ----------
    model: str
        The model file.
    data: str
        What to tag: columns, CoNLL-U, attributes or JSON lines as in training, or raw text; `-` is standard input.
    output: str
        Where to write; `-` is standard output.
    text: str
        A sentence to tag instead of a file.
    format: str
        columns, conllu, attributes, jsonl, text (a sentence a line) or plain (running text). Default: as in training.
    to: str
        Output: columns or jsonl; default as the input (for text: columns). With --nbest: crfpp (the default: a block
        for each candidate, as CRF++ writes them), columns (labels side by side) or jsonl.
    columns: str
        Columns of the input that the model's templates see as 0, 1, ...
    separator: str
        auto, tab, space (runs of them), comma, semicolon, bar, or one character.
    unit: str
        What a token of raw text is: word, or char for models of characters.
    penn_quotes: bool
        Turn the quotes of raw text into `` and '', as the Penn Treebank writes them.
    with_: list[str]
        NAME=MODEL: a column that the input lacks comes from another model, such as pos=pos.palm; repeatable, in order.
    known: str
        A column of the input that tells what is known: a label, `A|B` for one of several, `?` or `_` for anything.
    bias: list[str]
        LABEL=NUMBER added to a label's score, to trade precision for recall; repeatable.
    scores: bool
        Tell the score of each sentence's best path.
    nbest: int
        Write this many label sequences of each sentence, best first, with scores and (crf, dplvm) probabilities.
    show_states: bool
        Write the state instead of the label: the hidden one of a latent model, as in NP#2, or with what it remembers
        of the labels before (--label-history), as in O#3+.
    decode: str
        For latent models: viterbi (the labels of the best path of states, the default), marginal (of each token the
        label with the largest share of all paths), or exact (the best label sequence; says how many are proven).
    posterior: bool
        The same as --decode marginal.
    cap: int
        Paths that the exact search looks at in a sentence before it gives up the proof.
    confidence: bool
        Tell how sure the model is of each label, of each span and of all labels of a sentence; see docs/confidence.md.
    marginals: bool
        Tell of each token how sure the model is of every label.
    search: str
        viterbi (exact) or beam; default as in training.
    beam: int
        How many prefixes a beam keeps; default as in training.
    threads: int
        Threads to tag with.
    quiet: bool
        No progress and no messages.
    """
    if threads < 1:
        raise UsageError(f"--threads {threads}: at least 1")
    if posterior:
        if decode == "exact":
            raise UsageError("--posterior is --decode marginal: it does not go with --decode exact")
        decode = "marginal"
    if text is not None and ((data, output) != ("-", "-") or format or to or columns or known or scores):
        raise UsageError("--text prints a typed sentence: leave the file and the options for files out")
    if nbest is not None and (show_states or scores or decode != "viterbi" or confidence or marginals):
        raise UsageError(
            "--nbest lists labels with their scores: leave --scores, --show-states, --decode, --posterior, "
            "--confidence and --marginals out"
        )
    tagger = load_tagger(model, quiet, search, beam)
    helpers = [load_tagger(path, quiet) for path in pairs(with_, "--with").values()]
    if confidence or marginals:
        tagger.model_.need_exact("--confidence and --marginals")
        _warn_of_scale(tagger, model, biases(bias), quiet)
    if text is not None:
        from palmette.data.formats.confidence import ConfidenceOutput
        from palmette.reports.sentence import nbest_text, tagged_text

        rest = {"unit": unit or "word", "penn_quotes": penn_quotes}
        if nbest is not None:
            print(nbest_text(tagger, helpers, text, nbest, biases(bias), **rest))
        else:
            tell = ConfidenceOutput(confidence, marginals)
            print(tagged_text(tagger, helpers, text, biases(bias), tell, decode=decode, **rest))
        return
    tell_where_from(data, quiet)
    reading = _reading(tagger, data, format, separator, columns)
    if unit is not None or penn_quotes:
        if reading.resolved(data).format not in ("text", "plain"):
            raise UsageError("--unit and --penn-quotes are for raw text: --format text or plain")
        reading = msgspec.structs.replace(reading, unit=unit or reading.unit, penn_quotes=penn_quotes)
    begun = time.perf_counter()
    shared: dict[str, Any] = {
        "reading": reading, "output": to, "threads": threads, "bias": biases(bias), "add": helpers, "known": known,
        "progress": None if quiet else Meter(),
    }  # fmt: skip
    if nbest is not None:
        n = tagger.nbest_file(data, output, nbest, **shared)
    else:
        n = tagger.tag_file(
            data, output, scores=scores, states=show_states, decode=decode, cap=cap, confidence=confidence,
            marginals=marginals, **shared,
        )  # fmt: skip
    seconds = time.perf_counter() - begun
    if decode == "exact" and not quiet:
        print("proven to be the best: {:,} of {:,} sentences".format(*tagger.proven_), file=sys.stderr)
    if not quiet and output != "-":
        tell_rate(n, "tokens", seconds, [output])


def _warn_of_scale(tagger: Tagger, model: str, bias: dict[str, float] | None, quiet: bool) -> None:
    """Say once that numbers between 0 and 1 are no probabilities, where they are none."""
    from palmette.structures.chain.posteriors import are_probabilities

    if quiet or are_probabilities(tagger.model_, bias):
        return
    if are_probabilities(tagger.model_):
        print("with another bias than its own, a model's confidences are not calibrated", file=sys.stderr)
        return
    print(
        "these confidences are not calibrated: they order guesses, and are no probabilities\n"
        f"  to make them so: palmette calibrate {model} DEV -o calibrated.palm", file=sys.stderr,
    )  # fmt: skip


def _reading(tagger: Tagger, data: str, format: str | None, separator: str, columns: str | None) -> FormatSpec:
    from palmette.cli.options import reading_from

    if format is None and columns is None and separator == "auto":
        return tagger.reading_for(data)
    if format is None:
        format = tagger.reading_for(data).resolved(data).format
    given = reading_from(format, separator, columns, None)
    return tagger.reading_for(data).overridden(given)
