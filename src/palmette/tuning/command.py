"""`palmette tune`: search for the options of a tagger that suit some data."""

from __future__ import annotations

import logging
import os
import shlex
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import format_spec
from palmette.cli.output import details_muted, print_json
from palmette.cli.train import file_params
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.options.chain import TaggerOptions
from palmette.options.declare import option
from palmette.options.spelling import as_flags
from palmette.tuning.options import TuningOptions

if TYPE_CHECKING:
    from palmette.tuning.run import TuneResult

MODEL = "best.palm"  # what the command that trains the winner writes


class Tune(TuningOptions, JsonOptions, Command):
    """Search for the options of a tagger that score best on development data, and print the command that trains it. The
    options of `palmette train` that are given hold for all trials."""

    examples = (
        "tune train.txt --dev dev.txt --minutes 10",
        "tune train.txt --try learner=crf,mira --try l2=0.1..10",
    )
    owners = (TaggerOptions, FormatSpec)
    hidden = ("unit", "penn-quotes", "candidates")
    common = (
        "dev", "try", "minutes", "trials", "threads", "ray", "record", "learner", "features", "format", "label", "json",
        "quiet",
    )  # fmt: skip

    data: str = option(argument=True, path="input", help="Labelled sentences, as of `palmette train`.")
    dev: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Development file to score on (default: a tenth of the sentences is held out, or --dev-share of them).",
    )  # fmt: skip
    try_: list | None = option(
        default=None, flag="try", repeat=True, metavar="NAME=VALUE,...",
        help="Options of `palmette train` to try, with their values, or NAME=LOW..HIGH for numbers; repeatable "
        "(default: learner, features, order, cut-off and penalties, by the labels and the size of the data).",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.data.formats.registry import read_corpus
        from palmette.estimators.tagger import Tagger
        from palmette.tuning.report import TuningDisplay, print_tuning
        from palmette.tuning.run import tune_corpus

        self._check()
        tries = None if self.try_ is None else parse_tries(self.try_)
        tagger = Tagger(**file_params(self.params(TaggerOptions)))
        tagger._settings()
        spec = format_spec(self.params(FormatSpec))
        corpus = read_corpus(self.data, spec.resolved(self.data))
        dev = None if self.dev is None else read_corpus(self.dev, spec)
        record = self.record or f"{os.path.splitext(os.path.basename(self.data))[0]}.tune.jsonl"
        options = TuningOptions(
            **{name: getattr(self, name) for name in TuningOptions.__options__} | {"record": record}
        )
        with details_muted(), _repetitions_muted(), TuningDisplay(self.quiet or self.json, self.minutes) as display:
            found = tune_corpus(corpus, dev, tagger, tries, options, display)
        command = self._command(found)
        if self.json:
            print_json(self._about(found, command, record))
        else:
            print_tuning(found)
            print(f"\nTo train it:\n{command}")
        if found.interrupted:
            raise SystemExit(130)

    def _check(self) -> None:
        if "-" in (self.data, self.dev):
            raise UsageError("tune reads files, not standard input: the command that it prints must read them again")
        if self.dev is not None and self.given("dev_share"):
            raise UsageError("give --dev or --dev-share, not both")

    def _command(self, found: TuneResult) -> str:
        """The command that trains the winner: with the options that were given and those that won."""
        words = ["palmette", "train", self.data, "-o", MODEL]
        words += [] if self.dev is None else ["--dev", self.dev]
        given = self.flat.get(TaggerOptions, {})
        flat = {name: value for name, value in given.items() if name not in found.left_out} | found.settings
        if self.dev is None:
            flat = {"dev_share": found.best_params["dev_share"]} | flat
        words += as_flags(TaggerOptions, flat) + as_flags(FormatSpec, self.flat.get(FormatSpec, {}))
        return shlex.join(words)

    def _about(self, found: TuneResult, command: str, record: str) -> dict[str, Any]:
        return {
            "train": self.data, "dev": self.dev, "metric": found.metric, "record": record,
            "interrupted": found.interrupted, "seconds": round(found.seconds, 3), "best": found.best,
            "given": found.given, "command": command, "trials": found.trials,
        }  # fmt: skip


def parse_tries(given: list[str]) -> dict[str, str]:
    """`NAME=VALUES` as typed after --try, by flat name."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, values = text.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not (name and equals and values.strip()):
            raise UsageError(f"--try {text}: write NAME=VALUE,VALUE or NAME=LOW..HIGH, such as learner=crf,mira")
        if name in found:
            raise UsageError(f"--try {text}: {name} is given twice; separate its values by commas")
        found[name] = values
    return found


class _Once(logging.Filter):
    """Lets a message through once: many trainings have the same to say about the same data."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        from palmette.training.result import CUT_SHORT

        message = record.getMessage()
        new = message not in self.seen and not hasattr(record, CUT_SHORT)
        self.seen.add(message)
        return new


class _repetitions_muted:
    """Messages of the library once each, for the handlers that the command line has set."""

    def __enter__(self) -> None:
        for handler in logging.getLogger("palmette").handlers:
            handler.addFilter(_Once())

    def __exit__(self, *error: object) -> None:
        """The handlers end with the command."""
