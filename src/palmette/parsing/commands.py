"""`palmette parser`: dependency parsers, from a treebank to trees."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from palmette.cli.change import MOST_LOSS, log_loss, save_and_report
from palmette.cli.command import Command, ForceOptions, JsonOptions, OutputOptions
from palmette.cli.common import (
    OF_FILES,
    EncodingOptions,
    ThreadOptions,
    base_params,
    check_order,
    is_model,
    is_typed,
    load_tagger,
    names_of,
    text_spec,
    with_named_files,
)
from palmette.cli.compare import Comparing, systems_and_gold
from palmette.cli.output import Meter, exit_if_interrupted, print_json, report_rate, report_source
from palmette.cli.training import TrainingCommand
from palmette.data.formats.spec import names_from_text
from palmette.data.text import TextSpec
from palmette.errors import DataError, UsageError, counted
from palmette.options.declare import Options, option
from palmette.options.presets import PARSER_PRESETS, preset_option
from palmette.options.search import MOST_BEAM
from palmette.parsing.options import ParserOptions

if TYPE_CHECKING:
    from palmette.data.formats.conllu_light import DrawnTree
    from palmette.data.treebank import Treebank
    from palmette.evaluation.attachment import HasTrees
    from palmette.evaluation.rivals import Rivals
    from palmette.parsing.compact import ParserCompaction
    from palmette.parsing.parser import Parser
    from palmette.parsing.retag import Preparation

logger = logging.getLogger(__name__)
DRAWN = 20  # sentences that are drawn by default


class ParsingOptions(ThreadOptions):
    """Options of commands that parse with a model."""

    beam: int | None = option(
        default=None, low=1, high=MOST_BEAM, help="States that the search keeps (default: as in training)."
    )
    with_: list | None = option(
        default=None, flag="with", repeat=True, metavar="[FIELD=]MODEL", path="input",
        help="Tag the sentences with a palmette tagger before parsing: MODEL, upos=MODEL or xpos=MODEL; may be given "
        "several times.",
    )  # fmt: skip


class DrawingOptions(Options):
    """Options of commands that draw trees."""

    picture: str | None = option(
        default=None, metavar="FILE", group="output", path="output", help="Draw trees into this file, as SVG."
    )
    sentences: str | None = option(
        default=None, metavar="1,4-6", group="output", help=f"Which sentences to draw (default: the first {DRAWN})."
    )


def load_parser(path: str) -> Parser:
    from palmette.parsing.parser import Parser

    return Parser.load(path)


def taggers_of(given: Sequence[str] | None) -> list[tuple[str, Any]]:
    """The values of --with, `MODEL` or `upos=MODEL`, as pairs of the field that is tagged and the tagger."""
    from palmette.data.treebank import FIELDS
    from palmette.parsing.retag import TAGS, tag_field

    found: list[tuple[str, Any]] = []
    for item in given or ():
        name, equals, path = item.partition("=")
        named = bool(equals) and name in TAGS
        if equals and not named and name in FIELDS:
            raise UsageError(f"--with {item}: a tagger writes {' or '.join(TAGS)}, not {name}")
        tagger = load_tagger(path if named else item)
        field = name if named else tag_field(tagger)
        if field in (known for known, _ in found):
            raise UsageError(f"--with: two taggers write {field}")
        found.append((field, tagger))
    return found


def preparation(parser: Parser, given: Sequence[str] | None) -> Preparation:
    """What happens to sentences before parsing: taggers run, and fields that the training ignored are emptied."""
    from palmette.parsing.retag import Preparation

    return Preparation(taggers_of(given), tuple(parser.model_.meta.get("ignored", ())))


class WarningPreparation:
    """A preparation that warns, once, if the input has no tags and the parser reads them."""

    def __init__(self, parser: Parser, ready: Preparation) -> None:
        self.ready, self.warned = ready, False
        from palmette.parsing.retag import tags_read

        self.needed, self.fields = tags_read(parser, ready), ready.fields

    def __call__(self, treebank: Treebank) -> Treebank:
        if treebank.n_tokens and not self.warned:
            self.warned = True
            lacking = [field for field in self.needed if treebank.column(field).types == ["_"]]
            if lacking:
                names = " and ".join(lacking)
                logger.warning("the input has no %s, which the parser reads: give --with MODEL", names)
        return self.ready(treebank)


def chosen_sentences(given: str | None, n: int) -> list[int]:
    """Which of n sentences to draw, counted from 0: those of the text `1,4-6`, or the first few."""
    if given is None:
        if n > DRAWN:
            logger.info("drawing the first %d of %s sentences; choose others with --sentences", DRAWN, f"{n:,}")
        return list(range(min(n, DRAWN)))
    found: list[int] = []
    for part in given.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdigit() and len(end) < 10 for end in ends):
            raise UsageError(f"--sentences {given}: write numbers and ranges, such as 1,4-6")
        low, high = int(ends[0]), int(ends[1])
        if not 1 <= low <= high <= n:
            raise UsageError(f"--sentences {part.strip()}: there are sentences 1 to {n}")
        found += range(low - 1, high)
    return found


def show_trees(drawings: Sequence[tuple[str, DrawnTree, DrawnTree | None]], svg: str | None, draw: bool) -> None:
    """Draw (title, tree, gold or None) into a file, in the terminal, or both."""
    if svg is not None:
        from palmette.data.files import write_whole
        from palmette.parsing.drawing import svg_of

        with write_whole(svg) as out:
            out.write(svg_of(drawings).encode())
    if draw:
        from palmette.parsing.drawing import draw_trees
        from palmette.reports.tables import OutputConsole

        console = OutputConsole(10_000)
        for text in draw_trees(drawings):
            console.print(text, soft_wrap=True)


# --- train ---------------------------------------------------------------------------------------------------


class TrainParser(TrainingCommand):
    """Train a dependency parser from a treebank."""

    examples = ("parser train train.conllu -o parser.palm --dev dev.conllu",)
    owners = (ParserOptions, TextSpec)
    fixed = ("features", "clusters", "raw")
    kept = "templates and fields"
    common = (
        "output", "dev", "learner", "beam", "update", "passes", "patience", "with", "jackknife", "features",
        "resume", "quiet",
    )  # fmt: skip

    data: str = option(
        argument=True,
        path="input",
        help="Sentences with trees: CoNLL-U or CoNLL-X; `-` is standard input, gzip is fine.",
    )
    dev: str | None = option(
        default=None,
        metavar="FILE",
        path="input",
        help="Development treebank: the pass with the best LAS on it is kept.",
    )
    preset: str | None = preset_option(PARSER_PRESETS)
    with_: list | None = option(
        default=None, flag="with", repeat=True, metavar="[FIELD=]MODEL", group="data", path="input",
        help="Replace tags of the treebanks by those of a palmette tagger: MODEL, upos=MODEL or xpos=MODEL; may be "
        "given several times.",
    )  # fmt: skip
    jackknife: int | None = option(
        default=None, low=2, metavar="FOLDS", group="data",
        help="Tag each part of the training data with taggers trained on the other parts, such as 10, so that the "
        "parser learns from tags as good as those it will read later. Development data is tagged by --with, or by "
        "taggers trained on all training data.",
    )  # fmt: skip
    ignore: tuple | None = option(
        default=None, metavar="FIELD,...", parse=names_from_text, group="data",
        help="Fields that the parser does not read, such as lemma,feats for text without them.",
    )  # fmt: skip
    skip_bad: bool = option(
        default=False, group="data",
        help="Leave out sentences that are not trees (cycles, two roots, heads out of range), and report how many.",
    )  # fmt: skip
    compact: bool = option(
        default=False, group="model",
        help="Write a compact model: weights of 8 or 16 bits, and without weights that the development data does not "
        "miss; see `palmette parser compact`.",
    )  # fmt: skip

    def run(self) -> None:
        self._check()
        from palmette.data.formats.conllu import read_treebank
        from palmette.options.training import available_cores
        from palmette.parsing.parser import Parser
        from palmette.parsing.retag import prepare_training
        from palmette.reports.progress import TrainingDisplay

        begun = self.begin()
        old = Parser.load(self.resume) if self.resume else None
        before = base_params(ParserOptions, self.preset, PARSER_PRESETS, old, self.silent, self.like)
        parser = Parser(**with_named_files(self.params(ParserOptions, before)))
        settings = parser._settings()
        spec = text_spec(self)
        treebank = read_treebank(self.data, skip_bad=self.skip_bad, spec=spec)
        held_out = None if self.dev is None else read_treebank(self.dev, skip_bad=self.skip_bad, spec=spec)
        treebank, held_out, about = prepare_training(
            treebank,
            held_out,
            taggers=taggers_of(self.with_),
            folds=self.jackknife,
            ignored=self.ignore or ([] if old is None else old.model_.meta.get("ignored", [])),
        )
        metric = None if self.dev is None else "LAS"
        with TrainingDisplay(settings.n_passes(), metric, self.silent) as display:
            parser.fit(
                treebank, dev=held_out, resume=None if old is None else old.model_, checkpoint=self.checkpoint,
                threads=self.threads, progress=display, about=about,
            )  # fmt: skip
        if self.compact:
            report = parser.compact(held_out, threads=self.threads or available_cores(), most_loss=MOST_LOSS)
            if not self.silent:
                log_compaction(report)
        parser.save(self.output)
        self.report(parser.outcome_, begun, lambda: _about(parser), "dev LAS")
        exit_if_interrupted(parser.outcome_)

    def _check(self) -> None:
        if self.dev is None and self.given("patience"):
            raise UsageError("--patience needs development data: --dev FILE")
        self.check_resumed(*([] if self.ignore is None else ["ignore"]))
        if self.compact and self.checkpoint:
            raise UsageError("--compact drops what --checkpoint must keep: choose one of them")


def _about(parser: Parser) -> dict[str, Any]:
    from palmette.parsing.inspection import inspect_parser

    return inspect_parser(parser).to_dict()


# --- parse ---------------------------------------------------------------------------------------------------


class Parse(DrawingOptions, ParsingOptions, EncodingOptions, OutputOptions, Command):
    """Parse a file, standard input or a typed sentence with a parser."""

    examples = (
        "parser parse parser.palm input.conllu -o parsed.conllu",
        "parser parse parser.palm input.conllu --draw --sentences 1-3",
    )
    common = ("output", "text", "with", "beam", "nbest", "draw", "picture", "sentences", "threads", "quiet")
    owners = (TextSpec,)

    model: str = option(argument=True, path="input", help="The model file of a parser.")
    data: str = option(
        default="-", argument=True, path="input",
        help="What to parse: CoNLL-U or CoNLL-X with tags; `-` is standard input. Its own heads and relations are not "
        "read.",
    )  # fmt: skip
    output: str = option(
        default="-", short="o", metavar="FILE", path="output",
        help="Where to write CoNLL-U; `-` is standard output. All but heads and relations is written as it was read.",
    )  # fmt: skip
    text: str | None = option(
        default=None,
        help="A sentence to parse instead of a file, which is drawn unless -o names a file; its words need tags by "
        "--with.",
    )
    nbest: int | None = option(
        default=None, low=1, group="output",
        help="Write this many trees per sentence, best first, with comments `# nbest` and `# score`.",
    )  # fmt: skip
    draw: bool = option(
        default=False, group="output",
        help="Draw the trees in the terminal, instead of CoNLL-U unless -o names a file.",
    )  # fmt: skip

    def run(self) -> None:
        if self.text is None and is_typed(self.data):
            self.text, self.data = self.data, "-"
        self._check()
        check_order(self)
        parser = load_parser(self.model)
        ready = preparation(parser, self.with_)
        if self.text is not None:
            self._typed(parser, ready, self.text)
            return
        report_source(self.data, self.quiet, "CoNLL-U ")
        begun, prepare = time.perf_counter(), WarningPreparation(parser, ready)
        if self.draw or self.picture is not None:
            n = self._drawn(parser, prepare)
        elif self.nbest is not None:
            n = parser.nbest_file(
                self.data, self.output, self.nbest, beam=self.beam, prepare=prepare, fields=ready.fields,
                spec=text_spec(self), output_encoding=self.output_encoding,
            )  # fmt: skip
        else:
            n = parser.parse_file(
                self.data, self.output, beam=self.beam, threads=self.n_threads, prepare=prepare, fields=ready.fields,
                spec=text_spec(self), output_encoding=self.output_encoding,
                progress=None if self.quiet else Meter("word"),
            )  # fmt: skip
        seconds = time.perf_counter() - begun
        written = [file for file in (self.output, self.picture) if file is not None and file != "-"]
        if written and not self.quiet:
            report_rate(n, "word", seconds, written)

    def _check(self) -> None:
        if self.nbest is not None and (self.draw or self.picture or self.text is not None):
            raise UsageError("--nbest writes CoNLL-U: leave --draw, --picture and --text out")
        if self.sentences is not None and not (self.draw or self.picture):
            raise UsageError("--sentences chooses what --draw and --picture show: give one of them")
        if self.text is not None and (self.data != "-" or self.given(*OF_FILES)):
            raise UsageError("--text draws a typed sentence: leave the file and the options for files out")

    def _typed(self, parser: Parser, ready: Preparation, text: str) -> None:
        """Draw the tree of a typed sentence, or write it as CoNLL-U if a file is named."""
        from palmette.data.formats.conllu import write_treebank
        from palmette.data.formats.conllu_light import tree_of
        from palmette.data.formats.raw import parse_text
        from palmette.data.text import UTF8
        from palmette.data.treebank import treebank_from_sentences
        from palmette.errors import DataError
        from palmette.parsing.retag import tags_read

        lacking = tags_read(parser, ready)
        if lacking:
            names = " and ".join(lacking)
            raise UsageError(f"the parser reads {names}, which a typed sentence does not have: give --with MODEL")
        words = parse_text(" ".join(text.split()).encode(errors="surrogateescape"), "the text")
        if not words.n_tokens:
            raise DataError("there is no word in the text")
        found = parser.parse(ready(treebank_from_sentences([words.columns[0].cells()])), beam=self.beam)
        field = ready.fields[0] if ready.fields else "upos"
        if self.output != "-":
            write_treebank(self.output, found, encoding=self.output_encoding or UTF8)
        draw = self.draw or (self.output == "-" and self.picture is None)
        show_trees([(" ".join(text.split()), tree_of(found, 0, field), None)], self.picture, draw)

    def _drawn(self, parser: Parser, prepare: WarningPreparation) -> int:
        """Parse a whole file, draw some of its sentences, and write all of them if a file is named."""
        from palmette.data.formats.conllu import TREE, read_treebank, write_treebank
        from palmette.data.formats.conllu_light import tree_of

        treebank = read_treebank(self.data, labelled=False, spec=text_spec(self))
        chosen = chosen_sentences(self.sentences, treebank.n_sentences)
        found = parser.parse(prepare(treebank), beam=self.beam, threads=self.n_threads)
        if self.output != "-" or not self.draw:
            encoding = self.output_encoding or text_spec(self).encoding
            write_treebank(self.output, found, fields=(*TREE, *prepare.fields), encoding=encoding)
        field = prepare.fields[0] if prepare.fields else "upos"
        show_trees([(f"sentence {s + 1}", tree_of(found, s, field), None) for s in chosen], self.picture, self.draw)
        return treebank.n_tokens


# --- eval ----------------------------------------------------------------------------------------------------


WORST = 5  # sentences that are drawn if --picture gives no number


class EvalParser(DrawingOptions, ParsingOptions, JsonOptions, Command):
    """Score a parser on gold trees, or one CoNLL-U file against another.

    The rules are those of the official scorer of Universal Dependencies: all words count, and subtypes of relations
    (nsubj:pass) do not. `Without punctuation` leaves out words that consist of punctuation characters.
    """

    examples = ("parser eval parser.palm test.conllu", "parser eval test.conllu parsed.conllu")
    common = ("with", "beam", "draw", "picture", "sentences", "skip-bad", "threads", "json", "quiet")
    owners = (TextSpec,)

    first: str = option(
        argument=True, path="input", help="The model file of a parser; or the gold file, followed by the guess."
    )
    second: str = option(argument=True, path="input", help="The gold file; or the guess, with the same words.")
    skip_bad: bool = option(
        default=False, help="Leave out sentences of the gold file that are not trees, and report how many."
    )
    draw: int = option(
        default=0, low=0, group="output", help="Draw this many sentences with their errors, most errors first."
    )
    sentences: str | None = option(
        default=None, metavar="1,4-6", group="output",
        help="Which sentences to draw (default: those with the most errors).",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.data.model_file import peek_task
        from palmette.evaluation.attachment import score_trees

        if peek_task(self.first) is not None:
            gold, guess = self._parsed()
        elif self.beam is not None or self.with_ or self.threads is not None or self.skip_bad:
            raise UsageError("--beam, --with, --skip-bad and --threads are for a model: give it before the gold file")
        else:
            from palmette.data.formats.conllu_light import read_trees

            gold, guess = (read_trees(file, text_spec(self)) for file in (self.first, self.second))
        found = score_trees(gold, guess)
        drawings = self._drawings(gold, guess, found.sentences)
        show_trees(drawings, self.picture, draw=False)
        if self.json:
            print_json(found.to_dict())
            return
        from palmette.reports.tables import print_scores

        print_scores(found)
        if drawings and (self.draw or not self.picture):
            print()
            show_trees(drawings, None, draw=True)

    def _parsed(self) -> tuple[Any, Any]:
        """Gold, and what the parser makes of its words."""
        parser = load_parser(self.first)
        from palmette.data.formats.conllu import read_treebank

        gold = read_treebank(self.second, skip_bad=self.skip_bad, spec=text_spec(self))
        if not gold.n_tokens:
            raise DataError("no sentence to score", file=self.second)
        prepare = WarningPreparation(parser, preparation(parser, self.with_))
        return gold, parser.parse(prepare(gold), beam=self.beam, threads=self.n_threads)

    def _drawings(self, gold: HasTrees, guess: HasTrees, n: int) -> list[tuple[str, DrawnTree, DrawnTree | None]]:
        """Title, guess and gold of each sentence that is to be drawn."""
        if not (self.draw or self.picture or self.sentences):
            return []
        from palmette.data.formats.conllu_light import tree_of
        from palmette.parsing.drawing import count_errors

        found: list[tuple[str, DrawnTree, DrawnTree | None]] = []
        worst = self.sentences is None
        for s in _worst(gold, guess, self.draw or WORST) if worst else chosen_sentences(self.sentences, n):
            tree, right = tree_of(guess, s), tree_of(gold, s)
            heads, names = count_errors(tree, right)
            found.append((f"sentence {s + 1}: {heads} wrong heads, {names} more wrong relations", tree, right))
        return found


def _worst(gold: HasTrees, guess: HasTrees, n: int) -> list[int]:
    """The n sentences with the most errors; of equally many, the first ones."""
    import numpy as np

    from palmette.evaluation.attachment import compared
    from palmette.evaluation.tokens import sentence_sums

    wrong = sentence_sums(~compared(gold, guess).arc, gold.offset)
    ranked = np.argsort(-wrong, kind="stable")[:n]
    return [int(s) for s in ranked if wrong[s]]


# --- compare -------------------------------------------------------------------------------------------------


class CompareParsers(ParsingOptions, Comparing):
    """Compare parsers or parsed files on the same gold trees, with significance tests."""

    examples = ("parser compare old.palm new.palm test.conllu",)
    common = ("gold", "with", "beam", "rounds", "seed", "threads", "json", "quiet")
    owners = (TextSpec,)

    files: list = option(
        argument=True, repeat=True, path="input",
        help="Two or more models of parsers or CoNLL-U files with their trees, followed by the gold file.",
    )  # fmt: skip
    gold: str | None = option(
        default=None, metavar="FILE", path="input", help="The gold file, if it is not the last of the files."
    )

    def run(self) -> None:
        systems, gold = systems_and_gold(self.files, self.gold, "parsers or parsed files")
        models = [file for file in systems if is_model(file)]
        if (self.beam is not None or self.with_) and not models:
            raise UsageError("--beam and --with are for models, and there is none")
        from palmette.evaluation.rivals import tree_rivals

        names = names_of(systems)

        def rivals() -> Rivals:
            right, guesses = self._guesses(systems, models, gold)
            return tree_rivals(right, dict(zip(names, guesses, strict=True)))

        self.show(rivals, gold, {"gold": gold, "files": systems})

    def _guesses(self, systems: list[str], models: list[str], gold: str) -> tuple[HasTrees, list[HasTrees]]:
        """Gold and the trees of each system. Parsed files need nothing that is compiled."""
        from palmette.data.formats.conllu_light import read_trees

        spec = text_spec(self)
        right = read_trees(gold, spec)
        words = None
        found: list[HasTrees] = []
        for file in systems:
            if file not in models:
                found.append(read_trees(file, spec))
                continue
            from palmette.data.formats.conllu import read_treebank

            words = words or read_treebank(gold, labelled=False, spec=spec)
            parser = load_parser(file)
            ready = preparation(parser, self.with_)
            found.append(parser.parse(ready(words), beam=self.beam, threads=self.n_threads))
        return right, found


# --- inspect -------------------------------------------------------------------------------------------------


class InspectParser(JsonOptions, Command):
    """Show a parser: settings, sizes, relations, training log."""

    model: str = option(argument=True, path="input", help="The model file.")
    templates: bool = option(default=False, help="Print its templates too, as in a file for --features.")

    def run(self) -> None:
        from palmette.parsing.inspection import inspect_parser, print_parser_inspection
        from palmette.parsing.parser import Parser

        found = inspect_parser(Parser.load(self.model))
        if self.json:
            print_json(found.to_dict())
        else:
            print_parser_inspection(found, self.templates)


# --- compact -------------------------------------------------------------------------------------------------


class CompactParser(ThreadOptions, ForceOptions, JsonOptions, Command):
    """Make a parser small: weights of 8 or 16 bits, and without the weights that development data does not miss. The
    loss on the development data is reported. A compact parser is used like any other."""

    examples = ("parser compact parser.palm -o small.palm --dev dev.conllu",)
    common = ("output", "dev", "most-loss", "with", "skip-bad", "threads", "json", "quiet")
    owners = (TextSpec,)

    model: str = option(argument=True, path="input", help="The model file of a parser.")
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    dev: str | None = option(
        default=None, metavar="FILE", path="input",
        help="A treebank that the parser was not trained on. Without it no weight is dropped.",
    )  # fmt: skip
    most_loss: float = option(
        default=MOST_LOSS, low=0.0, high=100.0,
        help="The most points of LAS, of 100, that may be lost on the development data.",
    )  # fmt: skip
    with_: list | None = option(
        default=None, flag="with", repeat=True, metavar="[FIELD=]MODEL", path="input",
        help="Tag the development data with a palmette tagger first: MODEL, upos=MODEL or xpos=MODEL; may be given "
        "several times.",
    )  # fmt: skip
    skip_bad: bool = option(
        default=False, help="Leave out sentences of the development data that are not trees, and report how many."
    )

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.data.formats.conllu import read_treebank

        model_file.check_output(self.output)
        parser = load_parser(self.model)
        dev = None
        if self.dev is not None:
            ready = preparation(parser, self.with_)
            dev = ready(read_treebank(self.dev, skip_bad=self.skip_bad, spec=text_spec(self)))
        report = parser.compact(dev, most_loss=self.most_loss, threads=self.n_threads)
        about = about_compaction(report) if self.json else None
        save_and_report(parser.save, self.model, self.output, about, lambda: log_compaction(report))


def about_compaction(report: ParserCompaction) -> dict[str, Any]:
    """What --json prints."""
    return {
        "features": list(report.features), "weights": list(report.weights), "price": report.price,
        "dev": [report.before, report.after], "loss": report.loss,
    }  # fmt: skip


def log_compaction(report: ParserCompaction) -> None:
    """Report what became of the parser."""
    features, weights = (f"{old:,} -> {new:,}" for old, new in (report.features, report.weights))
    logger.info("compact: features %s; weights %s", features, weights)
    log_loss(report.before, report.after, "weight", "LAS ")


# --- features ------------------------------------------------------------------------------------------------


ABOUT = {
    "auto": "the default: rich, with the tags and categories that tell most in a treebank",
    "basic": "words, tags, outermost children; reads no relations, so that states merge",
    "rich": "those, and distance, valency, second children, relations and sets of them, lemmas, features",
    "latent": "those, and hidden variants of the arcs to children, for parsers with --variants",
}


class ParserFeatures(Command):
    """Print a named template set of the parser, or check a template file."""

    name: str | None = option(
        default=None, argument=True, path="input",
        help="basic, rich or latent prints that set as a template file, auto the one that fits --data; a path checks "
        "that file; without it the sets are listed.",
    )  # fmt: skip
    data: str | None = option(
        default=None, metavar="FILE", path="input", help="The treebank that the templates of auto fit."
    )
    dev: str | None = option(
        default=None,
        metavar="FILE",
        path="input",
        help="Its development data: an XPOS with tags of another set is not read.",
    )

    def run(self) -> None:
        from palmette.parsing.templates import SETS

        if self.name == "auto":
            print(self._fitted(), end="")
        elif self.data is not None or self.dev is not None:
            raise UsageError("--data and --dev are for the set auto: palmette parser features auto --data FILE")
        elif self.name is None:
            for known, about in ABOUT.items():
                print(f"{known:8}{about}")
            print("\n`palmette parser features NAME` prints a set; docs/parsing.md explains the atoms.")
        elif self.name in SETS:
            print(SETS[self.name].strip())
        elif os.path.exists(self.name):
            from palmette.parsing.templates import choose_templates

            found = choose_templates(self.name)
            sizes = f"{counted(len(found.lists), 'template')}, {counted(len(found.atoms), 'atom')}"
            sizes += f", which read {' '.join(found.columns)}"
            print(f"{self.name}: {sizes}")
        else:
            raise UsageError(f"there is no set and no file {self.name!r}; sets: {', '.join(SETS)}")

    def _fitted(self) -> str:
        """The templates of auto, with a comment that says what was chosen."""
        if self.data is None:
            raise UsageError("auto: templates that fit a treebank need one: palmette parser features auto --data FILE")
        from palmette.data.formats.conllu import read_treebank
        from palmette.parsing.fitted_templates import fitted_templates
        from palmette.parsing.training import check_trained_on

        treebank = read_treebank(self.data)
        check_trained_on(treebank)
        return fitted_templates(treebank, None if self.dev is None else read_treebank(self.dev)).text
