"""`palmette eval`: a model against gold labels, or a file that has both gold and guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.cli.options import Columns, Flag, Helpers, Json, MaybeFile, Repeated, biases, load_tagger, pairs
from palmette.cli.telling import print_json
from palmette.errors import DataError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from palmette.data.formats.columns_light import Guesses

    # What the figures are called, at which temperature, and the tables
    Calibrated = tuple[str, float, Any]

STYLES = ("table", "conlleval", "seqeval", "json")


def evaluate(
    model: str | None = None,
    data: MaybeFile = None,
    /,
    *,
    guess: MaybeFile = None,
    style: Annotated[str, Parameter(name="--style")] = "table",
    strict: Flag = False,
    label: str | None = None,
    columns: Columns = None,
    format: str | None = None,
    separator: str = "auto",
    with_: Helpers = None,
    bias: Repeated = None,
    partial: Annotated[bool | None, Parameter(negative="--no-partial")] = None,
    decode: str = "viterbi",
    search: str | None = None,
    beam: int | None = None,
    errors: int = 10,
    calibration: Flag = False,
    picture: MaybeFile = None,
    json: Json = False,
) -> None:
    """Score a model on gold labels, or a file that has gold and guess in its last two columns.

    Parameters
    ----------
    model: str
        The model file.
    data: str
        Labelled sentences.
    guess: str
        Instead of a model: a file whose last two columns are gold and guess, as for conlleval.
    style: str
        table, conlleval (its text, digit for digit), seqeval (its report) or json.
    strict: bool
        Count spans as seqeval's strict mode does, instead of conlleval's way.
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
    bias: list[str]
        LABEL=NUMBER added to a label's score; repeatable.
    partial: bool
        Gold labels may be partly known (`?`, `A|B`): such tokens are left out and counted. Default as in training.
    decode: str
        viterbi (the default), marginal or exact; see `palmette tag --help`.
    search: str
        viterbi (exact) or beam; default as in training.
    beam: int
        How many prefixes a beam keeps; default as in training.
    errors: int
        How many of the most frequent errors to show in the table.
    calibration: bool
        Tell whether the model is right as often as its confidences say: a reliability table and the expected
        calibration error, for tokens, spans and sentences.
    picture: str
        With --calibration: a PNG file to draw the reliability diagram into (needs matplotlib).
    json: bool
        Print one JSON object; figures are fractions of 1.
    """
    if style not in STYLES:
        raise UsageError(f"--style {style}: choose {', '.join(STYLES)}")
    style = "json" if json else style
    if picture is not None and not calibration:
        raise UsageError("--picture draws what --calibration finds: say both")
    if calibration and (guess is not None or style not in ("table", "json")):
        raise UsageError("--calibration needs a model, and is told in the table or in JSON")
    if guess is not None:
        if model is not None:
            raise UsageError("give a model and a file, or --guess FILE, not both")
        if any(option is not None for option in (label, columns, format, with_, bias, search, beam)):
            raise UsageError("--guess scores the last two columns of a file: leave the options of a model out")
        from palmette.data.formats.columns_light import certain_only, read_guesses

        tagged = read_guesses(guess, separator)
        _show(style, strict, guess, certain_only(tagged) if partial else tagged, None, errors)
    elif model is None or data is None:
        raise UsageError("give a model and a labelled file, or --guess FILE")
    else:
        given = (format, separator, columns, label)
        tagged, unseen, found = _with_model(
            model, data, given, pairs(with_, "--with"), biases(bias), partial, decode, calibration, (search, beam)
        )
        _show(style, strict, data, tagged, unseen, errors, found)
        if found is not None and picture is not None:
            from palmette.reports.reliability import draw_reliability

            draw_reliability(found[2], found[0], picture)


def _with_model(
    model: str,
    data: str,
    given: tuple[str | None, str, str | None, str | None],
    helpers: dict[str, str],
    bias: dict[str, float] | None,
    partial: bool | None,
    decode: str,
    calibration: bool,
    searching: tuple[str | None, int | None],
) -> tuple[Guesses, np.ndarray | None, Calibrated | None]:
    """Gold and guess of a labelled file, which tokens were not seen in training, and how reliable confidences are."""
    from palmette.cli.options import reading_from
    from palmette.data.formats.columns_light import Guesses
    from palmette.data.formats.registry import read_corpus
    from palmette.structures.chain.files import with_columns

    tagger = load_tagger(model, False, *searching)
    corpus = read_corpus(data, tagger.reading_for(data, labelled=True).overridden(reading_from(*given)))
    corpus = with_columns(corpus, [load_tagger(path, False).model_ for path in helpers.values()], tagger.model_)
    gold, guess, labels = tagger.gold_and_guess(corpus, bias, partial, decode)
    words = corpus.columns[0].cells() if corpus.columns else []
    found: Calibrated | None = None
    if calibration:
        from palmette.structures.chain.calibrate import reliability_on
        from palmette.structures.chain.posteriors import named

        tables = reliability_on(tagger.model_, corpus, guess, bias)
        found = named(tagger.model_, bias), tagger.temperature_, tables
    return Guesses(gold, guess, corpus.offset, labels, words, tagger.certain(corpus)), tagger.unseen(corpus), found


def _show(
    style: str, strict: bool, file: str, tagged: Guesses, unseen: np.ndarray | None, n_errors: int,
    calibrated: Calibrated | None = None,
) -> None:  # fmt: skip
    import numpy as np

    from palmette.data.labels.schemes import are_chunk_labels, recognise
    from palmette.evaluation.scores import errors, score

    gold, guess, offset, labels, words, known = tagged
    sequences = gold if known is None else np.where(known, gold, len(labels))
    scheme = recognise(labels, sequences, offset) if strict else None
    if strict and scheme is None:
        raise DataError("the gold labels follow no tag scheme: strict span scores need one", file=file)
    if style in ("conlleval", "seqeval"):
        if not are_chunk_labels(labels):
            raise UsageError(f"--style {style} scores spans, and these labels are none; use the table or json")
        print(_span_text(style, scheme, tagged), end="")
        return
    found = score(gold, guess, offset, labels, unseen, scheme, strict=strict, known=known)
    mistakes = errors(gold, guess, offset, labels, words or None, known=known, most=max(0, n_errors))
    if style == "json":
        import msgspec

        about: dict[str, Any] = found.to_dict() | {"errors": msgspec.to_builtins(mistakes)}
        if calibrated is not None:
            from palmette.reports.reliability import calibration_data

            called, temperature, tables = calibrated
            about["calibration"] = calibration_data(tables, called, temperature)
        print_json(about)
        return
    from palmette.reports.evaluation import print_scores

    print_scores(found, mistakes, words, offset)
    if calibrated is not None:
        from palmette.reports.reliability import print_reliability

        called, temperature, tables = calibrated
        print_reliability(tables, called, temperature)


def _span_text(style: str, scheme: str | None, tagged: Guesses) -> str:
    from palmette.evaluation.scores import whole_sentences
    from palmette.evaluation.spans import ChunkTables, span_counts, strict_span_counts
    from palmette.evaluation.styles import conlleval_text, seqeval_text

    gold, guess, offset, labels, _, known = tagged
    if known is not None:
        gold, guess, offset = whole_sentences(gold, guess, offset, known)
    if scheme is not None:
        counts = strict_span_counts(gold, guess, offset, labels, scheme)
    else:
        counts = span_counts(gold, guess, offset, ChunkTables.of(labels))
    return conlleval_text(counts) if style == "conlleval" else seqeval_text(counts)
