"""`palmette parser compare`: parsers or parsed files on the same gold trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import text_spec
from palmette.cli.output import print_json
from palmette.cli.parser.common import ParsingOptions, load_parser, preparation
from palmette.data.text import TextSpec
from palmette.errors import UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.evaluation.attachment import HasTrees


class CompareParsers(ParsingOptions, JsonOptions, Command):
    """Compare parsers or parsed files on the same gold trees, with significance tests."""

    examples = ("parser compare old.palm new.palm test.conllu",)
    common = ("gold", "tagger", "beam", "rounds", "seed", "threads", "json", "quiet")
    owners = (TextSpec,)

    files: list = option(
        argument=True, repeat=True, path="input",
        help="Two or more models of parsers or CoNLL-U files with their trees, followed by the gold file.",
    )  # fmt: skip
    gold: str | None = option(
        default=None, metavar="FILE", path="input", help="The gold file, if it is not the last of the files."
    )
    rounds: int = option(default=10_000, low=1, help="Rounds of bootstrap and randomisation.")
    seed: int = option(default=1, low=0, help="Seed of bootstrap and randomisation.")

    def run(self) -> None:
        systems, gold = self._split()
        from palmette.data.model_file import peek_task

        models = [file for file in systems if peek_task(file) is not None]
        if peek_task(gold) is not None:
            raise UsageError(f"{gold} is a model: the gold file comes last")
        if (self.beam is not None or self.tagger) and not models:
            raise UsageError("--beam and --tagger are for models, and there is none")
        from palmette.cli.common import names_of
        from palmette.evaluation.tree_comparison import compare_trees
        from palmette.reports.meter import Meter

        meter = Meter(self.quiet)
        right, guesses = self._guesses(systems, models, gold)
        named = dict(zip(names_of(systems), guesses, strict=True))
        found = compare_trees(right, named, self.rounds, self.seed, all_pairs=self.json, report=meter.tell)
        meter.clear()
        if self.json:
            import msgspec

            print_json({"gold": gold, "files": systems} | msgspec.to_builtins(found))
        else:
            from palmette.reports.attachment import print_tree_comparison

            print_tree_comparison(found, gold)

    def _split(self) -> tuple[list[str], str]:
        """What is compared, and the gold file."""
        systems, gold = list(self.files), self.gold
        if gold is None:
            gold = systems.pop()
        if len(systems) < 2:
            raise UsageError("give two or more parsers or parsed files, and then the gold file")
        if "-" in (gold, *systems):
            raise UsageError("compare reads files, not standard input")
        return systems, gold

    def _guesses(self, systems: list[str], models: list[str], gold: str) -> tuple[HasTrees, list[HasTrees]]:
        """Gold and the trees of each system. Parsed files need nothing that is compiled."""
        from palmette.data.formats.conllu_light import read_trees

        spec = text_spec(self)
        right = read_trees(gold, spec)
        words = None
        found: list[HasTrees] = []
        for file in systems:
            if file not in models:
                found.append(read_trees(file, spec))
                continue
            from palmette.data.formats.conllu import read_treebank

            words = words or read_treebank(gold, labelled=False, spec=spec)
            parser = load_parser(file, self.quiet)
            ready = preparation(parser, self.tagger, self.quiet)
            found.append(parser.parse(ready(words), beam=self.beam, threads=self.n_threads))
        return right, found
