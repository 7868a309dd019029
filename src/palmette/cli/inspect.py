"""`palmette inspect`: what a model is and what it has learnt."""

from __future__ import annotations

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import input_spec
from palmette.cli.output import print_json
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.options.declare import option


class Inspect(JsonOptions, Command):
    """Show a tagger: settings, training log, sizes, strongest weights, transitions, latent states, separation."""

    examples = ("inspect chunk.palm --top 5 --label B-NP",)
    owners = (FormatSpec,)
    hidden = ("label", "unit", "penn-quotes")
    common = ("top", "label", "data", "card", "json", "quiet")

    model: str = option(argument=True, path="input", help="The model file.")
    top: int = option(default=10, help="Number of the strongest attributes to show for each label.")
    label: list | None = option(
        default=None, repeat=True, metavar="LABEL",
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
            from palmette.reports.card import model_card

            print(model_card(shown.to_dict(), self.model), end="")
        else:
            print_inspection(shown, all_labels=self.label is not None)
