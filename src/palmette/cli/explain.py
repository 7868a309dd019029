"""`palmette explain`: why a sentence gets its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import OF_FILES, BiasOptions, HelperOptions, biases, input_spec, load_tagger
from palmette.cli.output import print_json
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus
    from palmette.estimators.tagger import Tagger


class Explain(HelperOptions, BiasOptions, JsonOptions, Command):
    """Explain the labels of a sentence: the best label sequence, the runner-up, and the attributes that decided between
    them."""

    owners = (FormatSpec,)
    hidden = ("label", "tag-names")

    model: str = option(argument=True, help="The model file.")
    text: str | None = option(default=None, argument=True, help="The sentence, typed.")
    data: str | None = option(
        default=None, metavar="FILE",
        help="A file to take the sentence from instead, such as one with several columns; `-` is standard input.",
    )  # fmt: skip
    sentence: int = option(default=1, low=1, help="Number of the sentence in that file, from 1.")
    top: int = option(default=15, low=1, help="Number of contributions to show; the others are added up.")

    def run(self) -> None:
        self._check()
        tagger = load_tagger(self.model, self.quiet)
        helpers = self.helpers(self.quiet)
        from palmette.reports.explanation import explanation, print_explanation
        from palmette.structures.chain.explain import explain

        if self.data is not None:
            corpus = self._from_file(tagger, helpers, self.data)
        else:
            from palmette.reports.sentence import typed_sentence

            corpus = typed_sentence(tagger, helpers, self.text or "", **self.params(FormatSpec))
        found = explain(tagger.model_, corpus, biases(self.bias))
        if self.json:
            print_json(explanation(found))
        else:
            print_explanation(found, self.top)

    def _check(self) -> None:
        if (self.text is None) == (self.data is None):
            raise UsageError('give either a sentence, palmette explain MODEL "a sentence", or a file: --data FILE')
        if self.data is not None and self.given("unit", "penn_quotes"):
            raise UsageError("--unit and --penn-quotes are for a typed sentence")
        if self.text is not None and (self.given(*OF_FILES) or self.sentence != 1):
            raise UsageError("--sentence and the options of the data are for a file: --data FILE")

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
