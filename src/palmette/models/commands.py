"""`palmette models` and `palmette pipeline package`: the models that are installed, and packages of models."""

from __future__ import annotations

import os
from typing import Any

from palmette.cli.command import Command, JsonOptions, OutputOptions
from palmette.cli.output import print_json
from palmette.options.declare import option

SHOWN = ("UPOS", "UFeats", "Lemmas", "LAS")


class Models(JsonOptions, Command):
    """List the models that are installed, with their scores on test data (F1, from raw text). A name from the list is
    a model for every command: `palmette tag en "Time flies."`."""

    def run(self) -> None:
        from palmette.models import installed

        cards = {name: model.card for name, model in installed().items()}
        if self.json:
            print_json(cards)
            return
        if not cards:
            print("no model is installed")
            return
        from palmette.evaluation.record import Part
        from palmette.reports.tables import OutputConsole, part_table

        rows = [(name, str(card.get("language", "")), *_figures(card)) for name, card in cards.items()]
        header = ("name", "language", "MB", *SHOWN, "entities", "licence")
        OutputConsole(100).print(part_table(Part("", header, rows, left=2)))


def _figures(card: dict[str, Any]) -> tuple[str, ...]:
    test = card.get("scores", {}).get("test", {})
    text = test.get("text", {})
    entities = test.get("entities", {}).get("F1")
    scores = [text.get(name) for name in SHOWN] + [entities]
    size = f"{card['bytes'] / 1e6:.1f}" if "bytes" in card else ""
    return size, *("" if value is None else f"{value:.1f}" for value in scores), str(card.get("licence", ""))


class PackageModel(OutputOptions, Command):
    """Make a package of a pipeline, a wheel with the model, its card and its licence. Once it is installed by pip,
    palmette.load(NAME) and every command know the model by its name."""

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    name: str = option(metavar="NAME", help="The name to load it by, such as a language code.")
    licence: str = option(metavar="LICENCE", help="The licence of the model, which its training data allows.")
    version: str = option(default="1.0", metavar="VERSION", help="The version of the package.")
    card: str | None = option(
        default=None, metavar="FILE", path="input",
        help="What is known of the model, as JSON: language, about, limits (a list), sources (name, licence, url, use, "
        "attribution of each), scores.",
    )  # fmt: skip
    output: str = option(default=".", short="o", metavar="FOLDER", path="folder", help="Where to write the wheel.")

    def run(self) -> None:
        from palmette.models import GROUP
        from palmette.models.package import completed, read_card, write_package

        given = {} if self.card is None else read_card(self.card)
        card = completed(given | {"licence": self.licence}, self.name, self.version, self.model)
        path = write_package(self.model, card, self.output)
        if not self.quiet:
            size = os.path.getsize(path) / 1e6
            print(f"saved {path}, {size:.1f} MB; entry point {self.name} of {GROUP}")
