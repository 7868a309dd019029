"""What the commands that compare systems of some kind share: the files, the tests, and how the result is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, JsonOptions
from palmette.cli.output import print_json
from palmette.errors import UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.evaluation.comparison import CompareOptions
    from palmette.evaluation.rivals import Rivals


class Comparing(JsonOptions, Command):
    """Base of the commands that compare."""

    rounds: int = option(default=10_000, low=1, group="output", help="Rounds of bootstrap and randomisation.")
    seed: int = option(default=1, low=0, group="output", help="Seed of bootstrap and randomisation.")

    def options(self, differences: int | None = None) -> CompareOptions:
        from palmette.evaluation.comparison import CompareOptions

        return CompareOptions(self.rounds, self.seed, self.json, 5 if differences is None else differences)

    def show(
        self, rivals: Callable[[], Rivals], data: str, about: dict[str, Any], differences: int | None = None
    ) -> None:
        """Compare and print; `about`: what JSON has of the files, `data`: what they are compared on."""
        from palmette.evaluation.comparison import compare
        from palmette.reports.meter import Meter

        meter = Meter(self.quiet or self.json)
        found = compare(rivals(), self.options(differences), meter.tell)
        meter.clear()
        if self.json:
            print_json(about | found.to_dict())
        else:
            from palmette.reports.comparison import print_comparison

            print_comparison(found, data)


def systems_and_gold(given: list[str] | None, gold: str | None, what: str) -> tuple[list[str], str]:
    """What is compared, two or more, and the gold file: the last of the files unless it is named."""
    from palmette.cli.common import is_model

    files = list(given or ())
    if gold is None and files:
        gold = files.pop()
    if gold is None or len(files) < 2:
        raise UsageError(f"give two or more {what}, and then the gold file")
    if "-" in (gold, *files):
        raise UsageError("compare reads files, not standard input")
    if is_model(gold):
        raise UsageError(f"{gold} is a model: the gold file comes last")
    return files, gold
