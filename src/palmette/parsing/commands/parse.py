"""`palmette parser parse`: from a file, standard input or a typed sentence to trees."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import OF_FILES, EncodingOptions, text_spec
from palmette.cli.output import Meter, report_rate, report_source
from palmette.data.text import TextSpec
from palmette.errors import UsageError
from palmette.options.declare import option
from palmette.parsing.commands.common import (
    DrawingOptions,
    ParsingOptions,
    WarningPreparation,
    chosen_sentences,
    load_parser,
    preparation,
    show_trees,
)

if TYPE_CHECKING:
    from palmette.parsing.parser import Parser
    from palmette.parsing.retag import Preparation


class Parse(DrawingOptions, ParsingOptions, EncodingOptions, OutputOptions, Command):
    """Parse a file, standard input or a typed sentence with a parser."""

    examples = (
        "parser parse parser.palm input.conllu -o parsed.conllu",
        "parser parse parser.palm input.conllu --draw --sentences 1-3",
    )
    common = ("output", "text", "tagger", "beam", "nbest", "draw", "svg", "sentences", "threads", "quiet")
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
        default=None, help="A sentence to parse and draw instead of a file; its words need tags by --tagger."
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
        self._check()
        parser = load_parser(self.model, self.quiet)
        ready = preparation(parser, self.tagger, self.quiet)
        if self.text is not None:
            self._typed(parser, ready, self.text)
            return
        report_source(self.data, self.quiet, "CoNLL-U ")
        begun, prepare = time.perf_counter(), WarningPreparation(parser, ready)
        if self.draw or self.svg is not None:
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
        written = [file for file in (self.output, self.svg) if file is not None and file != "-"]
        if written and not self.quiet:
            report_rate(n, "word", seconds, written)

    def _check(self) -> None:
        if self.nbest is not None and (self.draw or self.svg or self.text is not None):
            raise UsageError("--nbest writes CoNLL-U: leave --draw, --svg and --text out")
        if self.sentences is not None and not (self.draw or self.svg):
            raise UsageError("--sentences chooses what --draw and --svg show: give one of them")
        of_files = self.output_encoding or self.given(*OF_FILES)
        if self.text is not None and ((self.data, self.output) != ("-", "-") or of_files):
            raise UsageError("--text draws a typed sentence: leave the file, -o and the options for files out")

    def _typed(self, parser: Parser, ready: Preparation, text: str) -> None:
        """Draw the tree of a typed sentence."""
        from palmette.data.formats.conllu_light import tree_of
        from palmette.data.formats.raw import parse_text
        from palmette.data.treebank import treebank_from_sentences
        from palmette.errors import DataError
        from palmette.parsing.retag import tags_read

        lacking = tags_read(parser, ready)
        if lacking:
            names = " and ".join(lacking)
            raise UsageError(f"the parser reads {names}, which a typed sentence does not have: give --tagger MODEL")
        words = parse_text(" ".join(text.split()).encode(errors="surrogateescape"), "the text")
        if not words.n_tokens:
            raise DataError("there is no word in the text")
        found = parser.parse(ready(treebank_from_sentences([words.columns[0].cells()])), beam=self.beam)
        field = ready.fields[0] if ready.fields else "upos"
        show_trees([(" ".join(text.split()), tree_of(found, 0, field), None)], self.svg, draw=True)

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
        show_trees([(f"sentence {s + 1}", tree_of(found, s, field), None) for s in chosen], self.svg, self.draw)
        return treebank.n_tokens
