"""`palmette parser train`: from a treebank to a dependency parser."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, ForceOptions, JsonOptions
from palmette.cli.common import base_params, text_spec
from palmette.cli.compaction import MOST_LOSS
from palmette.cli.output import exit_if_interrupted, report_training
from palmette.cli.parser.common import taggers_of
from palmette.cli.parser.compact import log_compaction
from palmette.data.formats.spec import names_from_text
from palmette.data.text import TextSpec
from palmette.errors import UsageError
from palmette.options.declare import option
from palmette.options.presets import PARSER_PRESETS, listed
from palmette.options.tree import ParserOptions

if TYPE_CHECKING:
    from palmette.estimators.parser import Parser

logger = logging.getLogger(__name__)


class TrainParser(ForceOptions, JsonOptions, Command):
    """Train a dependency parser from a treebank."""

    examples = ("parser train train.conllu -o parser.palm --dev dev.conllu",)
    owners = (ParserOptions, TextSpec)
    updates = ("resume",)
    common = (
        "output", "dev", "learner", "beam", "update", "passes", "patience", "tagger", "jackknife", "features",
        "resume", "quiet",
    )  # fmt: skip

    data: str = option(
        argument=True,
        path="input",
        help="Sentences with trees: CoNLL-U or CoNLL-X; `-` is standard input, gzip is fine.",
    )
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    dev: str | None = option(
        default=None,
        metavar="FILE",
        path="input",
        help="Development treebank: the pass with the best LAS on it is kept.",
    )
    preset: str | None = option(
        default=None, flag="as", metavar="NAME", group="model", choices=listed(PARSER_PRESETS),
        help="Train as published: a name for the settings of a method, which are printed and further flags change.",
    )  # fmt: skip
    resume: str | None = option(
        default=None, metavar="MODEL", group="training", path="input",
        help="Continue training this model, also with new data and relations; its options are kept.",
    )  # fmt: skip
    checkpoint: bool = option(
        default=False, group="training", help="Keep in the model what --resume needs to continue exactly."
    )
    tagger: list | None = option(
        default=None, repeat=True, metavar="[FIELD=]MODEL", group="data", path="input",
        help="Replace tags of the treebanks by those of a palmette tagger: MODEL, upos=MODEL or xpos=MODEL; may be "
        "given several times.",
    )  # fmt: skip
    jackknife: int | None = option(
        default=None, low=2, metavar="FOLDS", group="data",
        help="Tag each part of the training data with taggers trained on the other parts, such as 10, so that the "
        "parser learns from tags as good as those it will read later. Development data is tagged by --tagger, or by "
        "taggers trained on all training data.",
    )  # fmt: skip
    ignore: tuple | None = option(
        default=None, metavar="FIELD,...", parse=names_from_text, group="data",
        help="Fields that the parser does not read, such as lemma,feats for text without them.",
    )  # fmt: skip
    skip_bad: bool = option(
        default=False, group="data",
        help="Leave out sentences that are not trees (cycles, two roots, heads out of range), and report how many.",
    )  # fmt: skip
    compact: bool = option(
        default=False, group="model",
        help="Write a compact model: weights of 8 or 16 bits, and without weights that the development data does not "
        "miss; see `palmette parser compact`.",
    )  # fmt: skip
    threads: int | None = option(
        default=None, low=1, group="training",
        help="Threads (default: all cores); the model is the same for any number. See --batch-size.",
    )  # fmt: skip

    def run(self) -> None:
        self._check()
        from palmette.data import model_file
        from palmette.data.formats.conllu import read_treebank
        from palmette.estimators.parser import Parser
        from palmette.estimators.retag import prepare_training
        from palmette.options.training import available_cores
        from palmette.reports.progress import TrainingDisplay
        from palmette.training.interrupt import stop_on_sigterm

        model_file.check_output(self.output)
        stop_on_sigterm()
        begun = time.perf_counter()
        old = Parser.load(self.resume) if self.resume else None
        before = base_params(ParserOptions, self.preset, PARSER_PRESETS, old, self.quiet or self.json)
        parser = Parser(**self.params(ParserOptions, before))
        settings = parser._settings()
        spec = text_spec(self)
        treebank = read_treebank(self.data, skip_bad=self.skip_bad, spec=spec)
        held_out = None if self.dev is None else read_treebank(self.dev, skip_bad=self.skip_bad, spec=spec)
        treebank, held_out, about = prepare_training(
            treebank,
            held_out,
            taggers=taggers_of(self.tagger, self.quiet or self.json),
            folds=self.jackknife,
            ignored=self.ignore or ([] if old is None else old.model_.meta.get("ignored", [])),
        )
        metric = None if self.dev is None else "LAS"
        with TrainingDisplay(settings.n_passes(), metric, self.quiet or self.json) as display:
            parser.fit(
                treebank, dev=held_out, resume=None if old is None else old.model_, checkpoint=self.checkpoint,
                threads=self.threads, progress=display,
            )  # fmt: skip
        parser.model_.meta |= about
        if self.compact:
            report = parser.compact(held_out, threads=self.threads or available_cores(), most_loss=MOST_LOSS)
            if not (self.quiet or self.json):
                log_compaction(report)
        parser.save(self.output)
        seconds = time.perf_counter() - begun
        report_training(parser.outcome_, self.output, seconds, lambda: _about(parser), self.json, self.quiet, "dev LAS")
        exit_if_interrupted(parser.outcome_)

    def _check(self) -> None:
        if self.dev is None and self.given("patience"):
            raise UsageError("--patience needs development data: --dev FILE")
        fixed = [*self.given("features"), *(["ignore"] if self.ignore is not None else [])]
        if self.resume and fixed:
            flags = ", ".join(f"--{name}" for name in fixed)
            raise UsageError(f"{flags}: --resume continues with the templates and fields of the model")
        if self.compact and self.checkpoint:
            raise UsageError("--compact drops what --checkpoint must keep: choose one of them")


def _about(parser: Parser) -> dict[str, Any]:
    from palmette.reports.parser_inspection import inspect_parser

    return inspect_parser(parser).to_dict()
