"""`palmette compare --learners`: the learners, how far their trainings are, and the table, in a terminal and in
notebooks."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from palmette.cli.common import format_spec
from palmette.cli.output import print_json
from palmette.cli.system_outputs import labelled
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError, counted
from palmette.lab.ablation import Ablation, LearnerSpec, Material, Run, Spread, ablate, parse_learners
from palmette.options.chain import TaggerOptions
from palmette.options.declare import OptionError
from palmette.reports.comparison import difference_cells, rounds_legend
from palmette.reports.console import OutputConsole
from palmette.reports.html import printed
from palmette.reports.meter import Meter
from palmette.reports.tables import plain_table
from palmette.structures.training_log import unit_of
from palmette.training.result import CUT_SHORT

if TYPE_CHECKING:
    from palmette.cli.compare import Compare
    from palmette.structures.training_log import Epoch
    from palmette.training.result import Progress


def compare_learners(command: Compare, train: str) -> None:
    """Train the learners of a command, and compare them."""
    assert command.gold is not None
    learners = parse_learners(command.learners or [])
    if len(learners) < 2:
        raise UsageError("--learners: two or more, to be compared")
    common = command.params(TaggerOptions)
    for learner in learners:
        learner.tagger(common, 1)
    if "passes" in common and all("passes" in learner.unused() for learner in learners):
        raise OptionError("passes", "no learner has any; L-BFGS has iterations, as in --learners crf:iterations=50")
    spec = format_spec(command.params(FormatSpec))
    data = Material(
        labelled(read_corpus(train, spec), train),
        None if command.dev is None else labelled(read_corpus(command.dev, spec), command.dev),
        labelled(read_corpus(command.gold, spec), command.gold),
    )
    meter = LearnerMeter(command.quiet)
    for handler in logging.getLogger("palmette").handlers:
        handler.addFilter(meter.shows)
    found = ablate(learners, data, common, range(1, (command.seeds or 3) + 1), command.options(), meter)
    meter.clear()
    note = use_of_dev(command.dev, common.get("dev_share"), command.gold)
    if command.json:
        about: dict[str, Any] = {"train": train, "dev": command.dev, "gold": command.gold, "use_of_dev": note}
        print_json(about | {"common": common} | found.to_dict())
    else:
        print_ablation(found, note)


class LearnerMeter(Meter):
    """Progress, and each training as it ends."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        self.shown: set[str] = set()
        self.first_run = False

    def begins(self, learner: LearnerSpec, seed: int) -> Progress:
        self.first_run = seed == 1

        def show_epoch(number: int, done: int, total: int, finished: Epoch | None) -> None:
            unit = "pass" if finished is None else unit_of(finished.figures)
            self.tell(f"{learner.name}, seed {seed}: {unit} {number}, {100 * done // max(1, total)}%")

        return show_epoch

    def ended(self, learner: LearnerSpec, run: Run) -> None:
        self.first_run = False
        if not self.quiet:
            self.clear()
            spans = "" if run.f1 is None else f"F1 {100 * run.f1:.2f}, "
            text = f"{learner.name}, seed {run.seed}: {spans}accuracy {100 * run.accuracy:.2f}, {run.seconds:.2f} s"
            print(text, file=sys.stderr, flush=True)

    def shows(self, record: logging.LogRecord) -> bool:
        """A filter of log messages: those of a learner's first training, once; the other seeds would repeat them."""
        message = record.getMessage()
        if not self.first_run or message in self.shown or hasattr(record, CUT_SHORT):  # the table marks such learners
            return False
        self.shown.add(message)
        self.clear()
        return True


def use_of_dev(dev: str | None, share: float | None, gold: str) -> str:
    """What development data was used for, in a sentence."""
    kept = f"{gold} was used for scores only"
    if dev is None and share is None:
        return f"no development data: each training keeps its last pass; {kept}"
    source = dev or f"a share of {share:g} of the training sentences"
    return f"{source} selected the pass of each training (and the estimator if it is auto); {kept}"


def print_ablation(found: Ablation, note: str, console: Console | None = None) -> None:
    """One table: mean and standard deviation over seeds, time, and significance against the first learner."""
    console = console or OutputConsole(100)
    seeds = len(found.learners[0].runs)
    spans = found.learners[0].f1 is not None
    several = len(found.pairs) > 1
    console.print(
        f"{counted(found.sentences, 'sentence')}, {counted(found.tokens, 'token')}; "
        f"mean and standard deviation over {seeds} "
        f"seed{'s' if seeds > 1 else ''}"
    )
    main = "F1" if spans else "accuracy"
    heads = ["learner", *(["F1"] if spans else []), "accuracy", "seconds", f"{main} - first", "p"]
    table = plain_table([*heads, *(["p (Holm)"] if several else [])])
    for learner in found.learners:
        pair = next((pair for pair in found.pairs if pair.second == learner.name), None)
        tested: list[str] = []
        gain = None if pair is None else pair.differences["f1"] or pair.differences["accuracy"]
        if gain is not None:
            difference, _, *p_values = difference_cells(gain, several)
            tested = [difference, *p_values]
        cells = [_spread(one, 100) for one in (learner.f1, learner.accuracy) if one is not None]
        mark = " *" if learner.remark else ""
        table.add_row(escape(learner.name) + mark, *cells, _spread(learner.seconds, 1), *tested)
    console.print(table)
    for learner in found.learners:
        if learner.remark:
            console.print(f"* {learner.name}: {learner.remark}", markup=False)
    paired = "; seeds are paired, and a sentence is exchanged in all pairs at once" if seeds > 1 else ""
    console.print(f"{rounds_legend(found.rounds, found.pairs)}{paired}", style="dim", markup=False)
    console.print(note, style="dim", markup=False)


def _spread(found: Spread, scale: float) -> str:
    return f"{scale * found.mean:.2f}" + ("" if found.sd is None else f" ±{scale * found.sd:.2f}")


def ablation_html(found: Ablation) -> str:
    """The table in a notebook."""
    return printed(lambda console: print_ablation(found, "", console))
