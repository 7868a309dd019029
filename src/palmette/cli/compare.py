"""`palmette compare`: taggers or outputs on the same gold, or learners that are trained for the comparison."""

from __future__ import annotations

from palmette.cli.common import HelperOptions, format_spec, names_of
from palmette.cli.comparing import Comparing, systems_and_gold
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.lazy import loaded
from palmette.options.chain import TaggerOptions
from palmette.options.declare import option

LEARNERS = "lab.ablation:compare_learners"
# Options of a tagger that hold for all learners of a comparison
SHARED = ("dev-share", "template", "features", "passes", "order", "min-count")


class Compare(HelperOptions, Comparing):
    """Compare taggers, outputs or learners on the same gold, with significance tests. JSON has all pairs, and figures
    as fractions of 1."""

    examples = (
        "compare old.palm new.palm test.txt",
        "compare --train train.txt --gold test.txt --learners perceptron,crf",
    )
    owners = (TaggerOptions, FormatSpec)
    hidden = (
        "unit", "penn-quotes",
        *(each.flag_name for each in TaggerOptions.__options__.values() if each.flag_name not in SHARED),
    )  # fmt: skip
    common = (
        "gold", "train", "learners", "seeds", "dev", "differences", "features", "passes", "format", "label", "json",
        "quiet",
    )  # fmt: skip

    files: list | None = option(
        default=None, argument=True, repeat=True, path="input",
        help="Models or tagged files (their last column is the guess), two or more, and then the gold file.",
    )  # fmt: skip
    gold: str | None = option(
        default=None, metavar="FILE", path="input",
        help="The gold file, if it is not the last of the files; with --train: the file to score on.",
    )  # fmt: skip
    train: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Instead of models: train --learners on this file and compare them on --gold.",
    )  # fmt: skip
    learners: list | None = option(
        default=None, repeat=True, metavar="NAME[:KEY=VALUE,...],...",
        help="The learners, separated by commas: perceptron,perceptron:estimator=last. Keys are options of `palmette "
        "train`, which override those given for all; latent:3 is short for perceptron:latent=3.",
    )  # fmt: skip
    seeds: int | None = option(
        default=None, low=1, help="Trainings of each learner, with seeds 1, 2, ... (default: 3)."
    )
    dev: str | None = option(
        default=None, metavar="FILE", path="input", help="Development file: chooses the pass that each training keeps."
    )
    differences: int | None = option(
        default=None, group="output", help="Sentences to show on which the systems differ (default: 5)."
    )

    def run(self) -> None:
        self._check()
        if self.train is None:
            self._compare_outputs()
        else:
            loaded(LEARNERS)(self, self.train)

    def _check(self) -> None:
        common = self.params(TaggerOptions)
        if self.train is None:
            if any(value is not None for value in (self.learners, self.seeds, self.dev)) or common:
                raise UsageError("--learners, --seeds, --dev and the options of training need --train FILE")
            return
        if self.files or self.gold is None or not self.learners:
            raise UsageError("with --train give --gold FILE and --learners A,B, and no other files")
        if self.with_ or self.differences is not None:
            raise UsageError("--with and --differences are for models and outputs: leave them out with --train")
        if self.dev is not None and "dev_share" in common:
            raise UsageError("give --dev or --dev-share, not both")

    def _compare_outputs(self) -> None:
        from palmette.cli.system_outputs import system_outputs
        from palmette.evaluation.rivals import label_rivals

        files, gold = systems_and_gold(self.files, self.gold, "models or tagged files")
        systems = dict(zip(names_of(files), files, strict=True))
        spec = format_spec(self.params(FormatSpec))
        self.show(
            lambda: label_rivals(system_outputs(systems, gold, spec, self.helpers(self.quiet), self.quiet)),
            gold, {"gold": gold, "files": files}, self.differences,
        )  # fmt: skip
