"""`palmette classifier cues`: shallow cues that separate two corpora without any structure."""

from __future__ import annotations

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import text_spec
from palmette.cli.output import print_json
from palmette.data.text import TextSpec
from palmette.options.declare import option


class Cues(JsonOptions, Command):
    """Check two corpora for shallow cues: vocabulary, length, overlap, duplicates.

    A learner that should find structure needs negatives that words and lengths do not give away.
    """

    owners = (TextSpec,)
    hidden = ("max-cell",)

    positives: str = option(
        argument=True, path="input", help="Text: one sentence per line, words separated by white space."
    )
    negatives: str = option(argument=True, path="input", help="The sentences to distinguish from them.")
    seed: int = option(default=1, low=0, help="Seed of the folds of held-out sentences.")

    def run(self) -> None:
        from palmette.lab.sentences import read_sentences
        from palmette.lab.shallow_cues import cues_text, shallow_cues

        found = shallow_cues(
            *(read_sentences(file, spec=text_spec(self)) for file in (self.positives, self.negatives)), seed=self.seed
        )
        if self.json:
            print_json(found)
        else:
            print(cues_text(found))
