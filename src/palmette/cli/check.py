"""`palmette check`: look at labelled data before training."""

from __future__ import annotations

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import ThreadOptions, format_spec
from palmette.cli.output import Ticker, library_muted, print_json
from palmette.data.formats.spec import FormatSpec, names_from_text
from palmette.options.declare import option


class Check(ThreadOptions, JsonOptions, Command):
    """Look at labelled data before training: bad tag sequences, lines and cells, labels that look like mistakes,
    duplicates, test sentences, and with --noise doubtful labels. Exit code: 0, also if something was found; with
    --strict 1 if something was found; 1 if a file cannot be read."""

    examples = ("check train.txt --against test.txt",)
    owners = (FormatSpec,)
    hidden = ("ragged", "unit", "penn-quotes")
    common = ("against", "noise", "skip", "top", "strict", "format", "label", "json", "quiet")

    files: list = option(
        argument=True, repeat=True, metavar="FILE", path="input", help="Labelled sentences, each file on its own."
    )
    against: list | None = option(
        default=None, repeat=True, metavar="FILE", path="input",
        help="Test or development data: list its sentences that are in the files, and its labels that are not; "
        "repeatable.",
    )  # fmt: skip
    noise: bool = option(
        default=False,
        help="List doubtful labels: cross-validated models give them a probability below 0.1 (takes the time of "
        "several trainings).",
    )  # fmt: skip
    folds: int = option(default=5, low=2, help="Parts of the data that --noise trains without, one after the other.")
    seed: int = option(default=1, low=0, help="Seed of the folds and the trainings of --noise.")
    skip: tuple | None = option(
        default=None, parse=names_from_text, metavar="KIND,...",
        help="Kinds of findings to leave out, by the names that the report has: duplicates,once.",
    )  # fmt: skip
    top: int = option(default=10, low=0, group="output", help="Findings of each kind to show, the most telling first.")
    strict: bool = option(default=False, group="output", help="Exit with 1 if anything was found.")

    def run(self) -> None:
        from palmette.estimators.check import check

        spec = format_spec(self.params(FormatSpec))
        ticker = None if self.quiet or self.json else Ticker()
        with library_muted():
            result = check(
                *self.files, against=self.against or (), spec=spec, skip=self.skip or (), top=self.top,
                noise=self.folds if self.noise else False, threads=self.n_threads, seed=self.seed,
                progress=None if ticker is None else lambda done, n: _tell(ticker, done, n),
            )  # fmt: skip
        if self.json:
            print_json(result.to_dict())
        elif not self.quiet:
            from palmette.reports.checking import print_check

            print_check(result)
        if self.strict and not result.clean:
            raise SystemExit(1)


def _tell(ticker: Ticker, done: int, n: int) -> None:
    if ticker.due():
        ticker.tell(f"doubtful labels: fold {done} of {n}")
