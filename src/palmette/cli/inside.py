"""Commands that look inside a model: `inspect`, `plot`, `features`, and `explain` and `trellis` of one sentence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from palmette.cli.command import Command, JsonOptions, OutputOptions
from palmette.cli.common import OF_FILES, BiasOptions, HelperOptions, SearchOptions, biases, input_spec, load_tagger
from palmette.cli.output import print_json
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError, counted
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus
    from palmette.estimators.tagger import Tagger
    from palmette.features.templates import TemplateSet

# As in reports/plots.py, which `--help` does not import
PICTURES = ("curve", "transitions", "weights")


class Inspect(JsonOptions, Command):
    """Show a tagger: settings, training log, sizes, strongest weights, transitions, latent states, separation."""

    examples = ("inspect chunk.palm --top 5 --show-label B-NP",)
    owners = (FormatSpec,)
    hidden = ("label", "unit", "penn-quotes")
    common = ("top", "show-label", "data", "card", "json", "quiet")

    model: str = option(argument=True, path="input", help="The model file.")
    top: int = option(default=10, help="Number of the strongest attributes to show for each label.")
    label: list | None = option(
        default=None, flag="show-label", repeat=True, metavar="LABEL",
        help="Show only this label; repeatable (default: all, of which the table has the first twelve).",
    )  # fmt: skip
    card: bool = option(default=False, group="output", help="Print a model card in Markdown instead of tables.")
    data: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Labelled sentences, such as the training data: show by how much the model separates gold from other "
        "label sequences, the bounds on mistakes that follow, and how often each latent state is used.",
    )  # fmt: skip

    def run(self) -> None:
        if self.card and self.json:
            raise UsageError("give --card or --json, not both")
        from palmette.estimators.tagger import Tagger
        from palmette.reports.inspection import inspect_chain, print_inspection

        tagger, found = Tagger.load(self.model), None
        if self.data is not None:
            from palmette.data.formats.registry import read_corpus
            from palmette.structures.chain.separation import separation

            found = separation(
                tagger.model_, read_corpus(self.data, input_spec(self, tagger, self.data, labelled=True))
            )
        shown = inspect_chain(tagger.model_, self.top, self.label, found)
        if self.json:
            print_json(shown.to_dict())
        elif self.card:
            from palmette.reports.inspection import model_card

            print(model_card(shown.to_dict(), self.model), end="")
        else:
            print_inspection(shown, all_labels=self.label is not None)


class Plot(OutputOptions, Command):
    """Draw a model: its learning curve, transitions or strongest weights. The learning curve is for parsers and
    classifiers too."""

    examples = ("plot chunk.palm -o curve.png", "plot chunk.palm --chart weights --show-label B-NP -o weights.svg")
    model: str = option(argument=True, path="input", help="The model file.")
    output: str = option(short="o", metavar="FILE", path="output", help="The picture to write: .png, .svg or .pdf.")
    what: str = option(
        default="curve", flag="chart", choices=PICTURES,
        help="What to draw: scores by pass, weights of label pairs as a heat map, or the strongest attributes.",
    )  # fmt: skip
    label: list | None = option(
        default=None, flag="show-label", repeat=True, metavar="LABEL",
        help="Of weights: this label; repeatable (default: the first four).",
    )  # fmt: skip
    top: int = option(default=10, low=1, high=50, help="Of weights: number of attributes of each label.")

    def run(self) -> None:
        self._check()
        from palmette.data.model_file import check_output, load_any
        from palmette.reports.plots import picture_format, plot, save_figure

        check_output(self.output)
        picture_format(self.output)
        figure = plot(load_any(self.model, "plot"), self.what, labels=self.label, top=self.top, title=self.model)
        save_figure(figure, self.output)

    def _check(self) -> None:
        if self.what != "weights" and (self.label or self.top != type(self).__options__["top"].default):
            raise UsageError("--show-label and --top choose the weights to draw: add --chart weights")


class Features(Command):
    """Print a named template set, or check a template file. Without a name: list the sets."""

    name: str | None = option(
        default=None, argument=True, path="input",
        help="pos, chunk, ner, char or ngrams prints that set as a template file; the path of a file checks it.",
    )  # fmt: skip
    order: int = option(
        default=1, low=0, high=2,
        help="Transitions to add to a named set: 0 none, 1 label pairs, 2 label triples as well.",
    )  # fmt: skip
    columns: int = option(default=2, low=1, help="Number of feature columns of the data.")
    atoms: bool = option(default=False, help="List the word atoms that macros can use, as in `%x[0,0,lower]`.")

    def run(self) -> None:
        from palmette.features import atoms as word_atoms
        from palmette.features.named import NAMED_SETS, named_text

        if self.atoms:
            print(word_atoms.__doc__)
        elif self.name is None:
            for known, made in NAMED_SETS.items():
                print(f"{known:8}{made.about}")
            print("\n`palmette features NAME` prints a set, `--atoms` lists the word atoms of macros.")
        elif self.name not in NAMED_SETS and os.path.exists(self.name):
            _check_file(self.name, self.columns)
        else:
            print(named_text(self.name, self.order, self.columns), end="")


def _check_file(path: str, columns: int) -> None:
    from palmette.features.lint import lint
    from palmette.features.templates import read_templates

    templates = read_templates(path)
    warnings = lint(templates, columns)
    for warning in warnings:
        print(f"{path}:{warning.line}: {warning.kind}: {warning.message}")
    n = len(templates.templates)
    remarks = counted(len(warnings), "remark")
    print(f"{path}: {templates.syntax} syntax, {counted(n, 'template')}, order {templates.order}, {remarks}")
    print(f"searches: {_searches(templates)}")


def _searches(templates: TemplateSet) -> str:
    """The searches that a set allows, and the reason if not all."""
    reading = templates.label_contexts
    if not reading:
        return "viterbi (exact), beam"
    back = max(back for template in reading for back in template.earlier_labels)
    first = f"the first on line {reading[0].line}, read" if len(reading) > 1 else f"on line {reading[0].line}, reads"
    return (
        f"beam (--search beam); {counted(len(reading), 'template')}, {first} labels up to "
        f"{counted(back, 'token')} before, which exact search cannot"
    )


class SentenceCommand(HelperOptions, Command):
    """A model and a sentence."""

    owners = (FormatSpec,)
    hidden = ("label", "tag-names")

    model: str = option(argument=True, path="input", help="The model file.")
    text: str | None = option(default=None, argument=True, help="The sentence, typed.")
    data: str | None = option(
        default=None, metavar="FILE", path="input",
        help="A file to take the sentence from instead, such as one with several columns; `-` is standard input.",
    )  # fmt: skip
    sentence: int = option(default=1, low=1, help="Number of the sentence in that file, from 1.")

    def check_source(self) -> None:
        """UsageError unless a sentence is either typed or in a file."""
        if (self.text is None) == (self.data is None):
            raise UsageError(f'give either a sentence, palmette {self.path} MODEL "a sentence", or a file: --data FILE')
        if self.data is not None and self.given("unit", "penn_quotes"):
            raise UsageError("--unit and --penn-quotes are for a typed sentence")
        if self.text is not None and (self.given(*OF_FILES) or self.sentence != 1):
            raise UsageError("--sentence and the options of the data are for a file: --data FILE")

    def corpus(self, tagger: Tagger) -> Corpus:
        """The sentence, with the columns that other models make."""
        helpers = self.helpers()
        if self.data is not None:
            return self._from_file(tagger, helpers, self.data)
        from palmette.reports.sentence import typed_sentence

        return typed_sentence(tagger, helpers, self.text or "", **self.params(FormatSpec))

    def _from_file(self, tagger: Tagger, helpers: list[Tagger], data: str) -> Corpus:
        """One sentence of a file, which is read no further than that."""
        import numpy as np

        from palmette.data.formats.registry import stream_corpus
        from palmette.data.subset import take
        from palmette.structures.chain.files import with_columns

        before = 0
        for corpus in stream_corpus(data, input_spec(self, tagger, data)):
            if self.sentence <= before + corpus.n_sentences:
                one = take(corpus, np.array([self.sentence - 1 - before]))
                return with_columns(one, [helper.model_ for helper in helpers], tagger.model_)
            before += corpus.n_sentences
        raise DataError(f"there is no sentence {self.sentence}: it has {before:,}", file=data)


class Explain(BiasOptions, JsonOptions, SentenceCommand):
    """Explain the labels of a sentence: the best label sequence, the runner-up, and the attributes that decided between
    them."""

    examples = ('explain pos.palm "Time flies like an arrow."',)
    common = ("top", "data", "sentence", "with", "bias", "format", "columns", "json", "quiet")

    top: int = option(default=15, low=1, help="Number of contributions to show; the others are added up.")

    def run(self) -> None:
        self.check_source()
        tagger = load_tagger(self.model)
        from palmette.reports.sentence import print_explanation
        from palmette.structures.chain.explain import explain

        found = explain(tagger.model_, self.corpus(tagger), biases(self.bias))
        if self.json:
            print_json(found.to_dict())
        else:
            print_explanation(found, self.top)


class DrawTrellis(SearchOptions, BiasOptions, JsonOptions, SentenceCommand):
    """Draw the trellis of a sentence: what each label scores at each token, the best path, the runner-up, and what a
    beam keeps."""

    examples = ('trellis pos.palm "Time flies like an arrow." --picture flies.svg',)
    common = ("picture", "top", "data", "sentence", "with", "search", "beam", "format", "columns", "json", "quiet")

    picture: str | None = option(default=None, metavar="FILE", path="output", help="Draw into this file, as SVG.")
    top: int = option(default=10, low=1, help="Number of labels (states) to show: those nearest to the best path.")

    def run(self) -> None:
        self.check_source()
        tagger = load_tagger(self.model, self)
        from palmette.structures.chain.trellis import trellis_of

        record = trellis_of(tagger.model_, self.corpus(tagger), biases(self.bias))
        if self.picture is not None:
            from palmette.data.files import write_whole
            from palmette.reports.trellis import trellis_svg

            with write_whole(self.picture) as out:
                out.write(trellis_svg(record, self.top).encode())
        if self.json:
            print_json(record.as_dict())
        elif self.picture is None:
            from palmette.reports.tables import OutputConsole
            from palmette.reports.trellis import trellis_text

            console = OutputConsole(80)
            width = console.width if console.is_terminal else 80  # of a drawing
            console.print(trellis_text(record, width, self.top), end="", soft_wrap=True)
