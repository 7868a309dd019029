"""`palmette parser eval`: a parser against gold trees, or one CoNLL-U file against another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import text_spec
from palmette.cli.output import print_json
from palmette.cli.parser.common import (
    DrawingOptions,
    ParsingOptions,
    WarningPreparation,
    chosen_sentences,
    load_parser,
    preparation,
    show_trees,
)
from palmette.data.text import TextSpec
from palmette.errors import DataError, UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.data.formats.conllu_light import DrawnTree
    from palmette.evaluation.attachment import HasTrees

WORST = 5  # sentences that are drawn if --svg gives no number


class EvalParser(DrawingOptions, ParsingOptions, JsonOptions, Command):
    """Score a parser on gold trees, or one CoNLL-U file against another.

    The rules are those of the official scorer of Universal Dependencies: all words count, and subtypes of relations
    (nsubj:pass) do not. `Without punctuation` leaves out words that consist of punctuation characters.
    """

    examples = ("parser eval parser.palm test.conllu", "parser eval test.conllu parsed.conllu")
    common = ("tagger", "beam", "draw", "svg", "sentences", "skip-bad", "threads", "json", "quiet")
    owners = (TextSpec,)

    first: str = option(
        argument=True, path="input", help="The model file of a parser; or the gold file, followed by the guess."
    )
    second: str = option(argument=True, path="input", help="The gold file; or the guess, with the same words.")
    skip_bad: bool = option(
        default=False, help="Leave out sentences of the gold file that are not trees, and report how many."
    )
    draw: int = option(
        default=0, low=0, group="output", help="Draw this many sentences with their errors, most errors first."
    )
    sentences: str | None = option(
        default=None, metavar="1,4-6", group="output",
        help="Which sentences to draw (default: those with the most errors).",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.data.model_file import peek_task
        from palmette.evaluation.attachment import score_trees

        if peek_task(self.first) is not None:
            gold, guess = self._parsed()
        elif self.beam is not None or self.tagger or self.threads is not None or self.skip_bad:
            raise UsageError("--beam, --tagger, --skip-bad and --threads are for a model: give it before the gold file")
        else:
            from palmette.data.formats.conllu_light import read_trees

            gold, guess = (read_trees(file, text_spec(self)) for file in (self.first, self.second))
        found = score_trees(gold, guess)
        drawings = self._drawings(gold, guess, found.sentences)
        show_trees(drawings, self.svg, draw=False)
        if self.json:
            print_json(found.to_dict())
            return
        from palmette.reports.tables import print_scores

        print_scores(found)
        if drawings and (self.draw or not self.svg):
            print()
            show_trees(drawings, None, draw=True)

    def _parsed(self) -> tuple[Any, Any]:
        """Gold, and what the parser makes of its words."""
        parser = load_parser(self.first, self.quiet)
        from palmette.data.formats.conllu import read_treebank

        gold = read_treebank(self.second, skip_bad=self.skip_bad, spec=text_spec(self))
        if not gold.n_tokens:
            raise DataError("no sentence to score", file=self.second)
        prepare = WarningPreparation(parser, preparation(parser, self.tagger, self.quiet))
        return gold, parser.parse(prepare(gold), beam=self.beam, threads=self.n_threads)

    def _drawings(self, gold: HasTrees, guess: HasTrees, n: int) -> list[tuple[str, DrawnTree, DrawnTree | None]]:
        """Title, guess and gold of each sentence that is to be drawn."""
        if not (self.draw or self.svg or self.sentences):
            return []
        from palmette.data.formats.conllu_light import tree_of
        from palmette.reports.tree import count_errors

        found: list[tuple[str, DrawnTree, DrawnTree | None]] = []
        worst = self.sentences is None
        for s in _worst(gold, guess, self.draw or WORST) if worst else chosen_sentences(self.sentences, n):
            tree, right = tree_of(guess, s), tree_of(gold, s)
            heads, names = count_errors(tree, right)
            found.append((f"sentence {s + 1}: {heads} wrong heads, {names} more wrong relations", tree, right))
        return found


def _worst(gold: HasTrees, guess: HasTrees, n: int) -> list[int]:
    """The n sentences with the most errors; of equally many, the first ones."""
    import numpy as np

    from palmette.evaluation.attachment import compared
    from palmette.evaluation.tokens import sentence_sums

    wrong = sentence_sums(~compared(gold, guess).arc, gold.offset)
    ranked = np.argsort(-wrong, kind="stable")[:n]
    return [int(s) for s in ranked if wrong[s]]
