"""`palmette parser compare`: parsers or parsed files on the same gold trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.cli.common import is_model, names_of, text_spec
from palmette.cli.compare import Comparing, systems_and_gold
from palmette.cli.parser.common import ParsingOptions, load_parser, preparation
from palmette.data.text import TextSpec
from palmette.errors import UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.evaluation.attachment import HasTrees
    from palmette.evaluation.rivals import Rivals


class CompareParsers(ParsingOptions, Comparing):
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

    def run(self) -> None:
        systems, gold = systems_and_gold(self.files, self.gold, "parsers or parsed files")
        models = [file for file in systems if is_model(file)]
        if (self.beam is not None or self.tagger) and not models:
            raise UsageError("--beam and --tagger are for models, and there is none")
        from palmette.evaluation.rivals import tree_rivals

        names = names_of(systems)

        def rivals() -> Rivals:
            right, guesses = self._guesses(systems, models, gold)
            return tree_rivals(right, dict(zip(names, guesses, strict=True)))

        self.show(rivals, gold, {"gold": gold, "files": systems})

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
