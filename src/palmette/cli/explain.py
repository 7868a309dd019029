"""`palmette explain`: why a sentence gets its labels."""

from __future__ import annotations

from palmette.cli.command import JsonOptions
from palmette.cli.common import BiasOptions, biases, load_tagger
from palmette.cli.one_sentence import SentenceCommand
from palmette.cli.output import print_json
from palmette.options.declare import option


class Explain(BiasOptions, JsonOptions, SentenceCommand):
    """Explain the labels of a sentence: the best label sequence, the runner-up, and the attributes that decided between
    them."""

    examples = ('explain pos.palm "Time flies like an arrow."',)
    common = ("top", "data", "sentence", "with", "bias", "format", "columns", "json", "quiet")

    top: int = option(default=15, low=1, help="Number of contributions to show; the others are added up.")

    def run(self) -> None:
        self.check_source()
        tagger = load_tagger(self.model, self.quiet)
        from palmette.reports.explanation import print_explanation
        from palmette.structures.chain.explain import explain

        found = explain(tagger.model_, self.corpus(tagger), biases(self.bias))
        if self.json:
            print_json(found.to_dict())
        else:
            print_explanation(found, self.top)
