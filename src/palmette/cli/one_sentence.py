"""Commands that look at one sentence, typed or taken from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.cli.command import Command
from palmette.cli.common import OF_FILES, HelperOptions, input_spec
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus
    from palmette.estimators.tagger import Tagger


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
        helpers = self.helpers(bool(getattr(self, "quiet", False)))
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
