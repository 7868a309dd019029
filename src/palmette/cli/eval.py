"""`palmette eval`: score a tagger on gold labels, or a file that has both gold and guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import (
    DECODINGS,
    BiasOptions,
    HelperOptions,
    PartialOptions,
    SearchOptions,
    ThreadOptions,
    biases,
    check_order,
    format_spec,
    input_spec,
    load_tagger,
)
from palmette.cli.output import print_json
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    import numpy as np

    from palmette.data.formats.columns_light import Guesses

STYLES = {
    "table": "tables",
    "conlleval": "the text of conlleval, digit for digit",
    "seqeval": "the report of seqeval",
    "json": "a JSON object",
}


class Calibrated(NamedTuple):
    """How reliable confidences are: what the figures are called, the temperature, and the tables."""

    called: str
    temperature: float
    tables: Any


class Tagged(NamedTuple):
    """Gold and guess of a file, and what else is known about it."""

    file: str
    guesses: Guesses
    unseen: np.ndarray | None = None  # bool[N]: words that were not in the training data
    calibrated: Calibrated | None = None
    scheme: str | None = None  # that the model has for bare labels


class Eval(HelperOptions, BiasOptions, SearchOptions, PartialOptions, ThreadOptions, JsonOptions, Command):
    """Score a tagger on gold labels, or a file that has gold and guess in its last two columns. The data is
    read as the training data was, unless the options of the data say otherwise. Figures in JSON are fractions of 1."""

    examples = ("eval chunk.palm test.txt", "eval --guess tagged.txt")
    owners = (FormatSpec,)
    hidden = ("unit", "penn-quotes")
    common = (
        "guess", "format", "label", "decode", "errors", "calibration", "picture", "with", "threads", "json", "quiet",
    )  # fmt: skip

    model: str | None = option(default=None, argument=True, path="input", help="The model file.")
    data: str | None = option(default=None, argument=True, path="input", help="Labelled sentences.")
    guess: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Instead of a model: a file whose last two columns are gold and guess, as for conlleval.",
    )  # fmt: skip
    style: str = option(default="table", choices=STYLES, help="How scores are printed.")
    strict: bool = option(
        default=False, help="Count spans as seqeval does in strict mode, instead of as conlleval does."
    )
    scheme: str | None = option(
        default=None, metavar="SCHEME",
        help="Tag scheme of the labels (default: seen in them). Must be given for bare labels, of which each run is a "
        "span: bare.",
    )  # fmt: skip
    decode: str = option(
        default="viterbi", choices=DECODINGS, group="model", help="How labels of latent models are found."
    )
    errors: int = option(default=10, group="output", help="Number of the most frequent errors to show in the table.")
    calibration: bool = option(
        default=False, group="output",
        help="Print how often the model is right for each level of confidence: a reliability table and the expected "
        "calibration error, for tokens, spans and sentences.",
    )  # fmt: skip
    picture: str | None = option(
        default=None, metavar="FILE", group="output", path="output",
        help="With --calibration: a PNG file for the reliability diagram (needs matplotlib).",
    )  # fmt: skip

    def run(self) -> None:
        self._check()
        found = self._from_file(self.guess) if self.guess is not None else self._from_model()
        self._show(found)
        if found.calibrated is not None and self.picture is not None:
            from palmette.reports.reliability import draw_reliability

            draw_reliability(found.calibrated.tables, found.calibrated.called, self.picture)

    @property
    def shown(self) -> str:
        """The style in effect."""
        return "json" if self.json else self.style

    def _check(self) -> None:
        if self.picture is not None and not self.calibration:
            raise UsageError("--picture draws what --calibration computes: give both")
        if self.calibration and (self.guess is not None or self.shown not in ("table", "json")):
            raise UsageError("--calibration needs a model, and is printed in the table or in JSON")
        if self.guess is None and (self.model is None or self.data is None):
            raise UsageError("give a model and a labelled file, or --guess FILE")
        if self.guess is None:
            return
        if self.model is not None:
            raise UsageError("give a model and a file, or --guess FILE, not both")
        of_models = (self.with_, self.bias, self.search, self.beam, self.recombine, self.threads)
        if any(value is not None for value in of_models) or self.given("label", "columns", "format", "tag_names"):
            raise UsageError("--guess scores the last two columns of a file: leave the options of a model out")

    def _from_file(self, guess: str) -> Tagged:
        from palmette.data.formats.columns_light import certain_only, read_guesses

        spec = format_spec(self.params(FormatSpec))
        found = read_guesses(guess, spec.separator, spec, spec.ragged)
        return Tagged(guess, certain_only(found) if self.partial else found)

    def _from_model(self) -> Tagged:
        """Gold and guess of a labelled file, and how reliable confidences are."""
        from palmette.data.formats.columns_light import Guesses
        from palmette.data.labels.schemes import unseen_scheme
        from palmette.evaluation.scores import CellTexts
        from palmette.structures.chain.files import TagRequest, decoded_file
        from palmette.structures.chain.gold import certain, gold_and_guess, unseen

        assert self.model is not None
        assert self.data is not None
        check_order(self)
        tagger = load_tagger(self.model, self)
        bias = biases(self.bias)
        request = TagRequest(
            spec=input_spec(self, tagger, self.data, labelled=True),
            helpers=[helper.model_ for helper in self.helpers()], bias=bias, decode=self.decode,
        )  # fmt: skip
        corpus, guess = decoded_file(tagger.model_, self.data, request, threads=self.n_threads)
        gold, guess, labels = gold_and_guess(tagger.model_, corpus, bias, self.partial, guess=guess)
        words = CellTexts(corpus.columns[0].ids, corpus.columns[0].types) if corpus.columns else []
        calibrated = None
        if self.calibration:
            from palmette.structures.chain.calibrate import reliability_on
            from palmette.structures.chain.posteriors import named

            tables = reliability_on(tagger.model_, corpus, guess, bias)
            calibrated = Calibrated(named(tagger.model_, bias), tagger.temperature_, tables)
        guesses = Guesses(gold, guess, corpus.offset, labels, words, certain(corpus))
        return Tagged(
            self.data, guesses, unseen(tagger.model_, corpus), calibrated, unseen_scheme(tagger.model_.scheme)
        )

    def _scheme(self, tagged: Tagged) -> str | None:
        """The tag scheme: as told, as the model has it for bare labels, or as strict scores find it."""
        from palmette.data.labels.schemes import recognise, scheme_named

        if self.scheme is not None:
            scheme_named(self.scheme)
            return self.scheme.upper()
        if tagged.scheme is not None or not self.strict:
            return tagged.scheme
        import numpy as np

        gold, _, offset, labels, _, known = tagged.guesses
        scheme = recognise(labels, gold if known is None else np.where(known, gold, len(labels)), offset)
        if scheme is None:
            raise DataError("the gold labels follow no tag scheme: strict span scores need one", file=tagged.file)
        return scheme

    def _show(self, tagged: Tagged) -> None:
        from palmette.data.labels.schemes import are_chunk_labels
        from palmette.evaluation.scores import errors, score

        gold, guess, offset, labels, words, known = tagged.guesses
        scheme = self._scheme(tagged)
        if self.shown in ("conlleval", "seqeval"):
            if not are_chunk_labels(labels, scheme):
                raise UsageError(
                    f"--style {self.shown} scores spans, and these labels are none; use table or json, or --scheme "
                    "bare if each run of equal labels is a span"
                )
            print(_span_text(self.shown, scheme, self.strict, tagged.guesses), end="")
            return
        found = score(gold, guess, offset, labels, tagged.unseen, scheme, strict=self.strict, known=known)
        mistakes = errors(gold, guess, offset, labels, words or None, known=known, most=max(0, self.errors))
        if self.shown == "json":
            import msgspec

            _print_json(found.to_dict() | {"errors": msgspec.to_builtins(mistakes)}, tagged.calibrated)
            return
        from palmette.reports.tables import print_mistakes, print_scores

        print_scores(found)
        print_mistakes(mistakes, words, offset)
        if tagged.calibrated is not None:
            from palmette.reports.reliability import print_reliability

            called, temperature, tables = tagged.calibrated
            print_reliability(tables, called, temperature)


def _print_json(about: dict[str, Any], calibrated: Calibrated | None) -> None:
    if calibrated is not None:
        from palmette.reports.reliability import calibration_data

        called, temperature, tables = calibrated
        about["calibration"] = calibration_data(tables, called, temperature)
    print_json(about)


def _span_text(style: str, scheme: str | None, strict: bool, tagged: Guesses) -> str:
    from palmette.evaluation.scores import whole_sentences
    from palmette.evaluation.spans import ChunkTables, conlleval_text, seqeval_text, span_counts, strict_span_counts

    gold, guess, offset, labels, _, known = tagged
    if known is not None:
        gold, guess, offset = whole_sentences(gold, guess, offset, known)
    if strict and scheme is not None:
        counts = strict_span_counts(gold, guess, offset, labels, scheme)
    else:
        counts = span_counts(gold, guess, offset, ChunkTables.of(labels, scheme))
    return conlleval_text(counts) if style == "conlleval" else seqeval_text(counts)
