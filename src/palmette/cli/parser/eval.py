"""`palmette eval` of trees: a parser against gold, or one CoNLL-U file against another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palmette.cli.options import File, Flag, Json, MaybeFile
from palmette.cli.parser.common import Taggers, Watched, load_parser, numbers, preparation, show_trees
from palmette.cli.telling import print_json
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.data.formats.conllu_light import Tree
    from palmette.evaluation.attachment import HasTrees


def evaluate_parse(
    first: File,
    second: File,
    /,
    *,
    beam: int | None = None,
    tagger: Taggers = None,
    draw: int = 0,
    svg: MaybeFile = None,
    sentences: str | None = None,
    skip_bad: Flag = False,
    threads: int = 1,
    json: Json = False,
) -> None:
    """Score a parser on gold trees, or with --task parse one CoNLL-U file against another.

    The rules are those of the official scorer of Universal Dependencies: all words count, and subtypes of relations
    (nsubj:pass) do not. `Without punctuation` leaves out words of punctuation characters alone.

    Parameters
    ----------
    first: str
        The model file of a parser; or the gold file, and then the guess.
    second: str
        The gold file; or the guess, with the same words.
    beam: int
        How many states the search keeps; default as in training.
    tagger: list[str]
        MODEL or upos=MODEL, xpos=MODEL: tag first with a palmette tagger; repeatable.
    draw: int
        Draw so many sentences with their errors, those with the most errors first.
    svg: str
        Draw them into this file, as SVG: wrong arcs dashed, gold below the words.
    sentences: str
        Draw these sentences instead, such as 1,4-6.
    skip_bad: bool
        Leave out sentences of the gold file that are no trees, and say how many.
    threads: int
        Threads to parse with.
    json: bool
        Print one JSON object; figures are fractions of 1.
    """
    from palmette.data.model_file import peek_task

    if threads < 1:
        raise UsageError(f"--threads {threads}: at least 1")
    gold: Any
    guess: Any
    if peek_task(first) is None:
        if beam is not None or tagger or threads > 1 or skip_bad:
            raise UsageError("--beam, --tagger, --skip-bad and --threads are for a model: give it before the gold file")
        from palmette.data.formats.conllu_light import read_trees

        gold, guess = read_trees(first), read_trees(second)
    else:
        gold, guess = _parsed(first, second, beam, tagger, threads, skip_bad)
    from palmette.evaluation.attachment import score_trees

    found = score_trees(gold, guess)
    drawings = []
    if draw or svg or sentences:
        chosen = _worst(gold, guess, draw or 5) if sentences is None else numbers(sentences, found.sentences, True)
        drawings = _drawings(gold, guess, chosen)
        show_trees(drawings, svg, draw=False)
    if json:
        print_json(found.to_dict())
        return
    from palmette.reports.attachment import print_attachment

    print_attachment(found)
    if drawings and (draw or not svg):
        print()
        show_trees(drawings, None, draw=True)


def _parsed(
    model: str, data: str, beam: int | None, tagger: list[str] | None, threads: int, skip_bad: bool
) -> tuple[Any, Any]:
    """Gold, and what the parser makes of its words."""
    from palmette.data.formats.conllu import read_treebank

    parser = load_parser(model, quiet=False)
    gold = read_treebank(data, skip_bad=skip_bad)
    if not gold.n_tokens:
        from palmette.errors import DataError

        raise DataError("no sentence to score", file=data)
    return gold, parser.parse(
        Watched(parser, preparation(parser, tagger, False), False)(gold), beam=beam, threads=threads
    )


def _worst(gold: HasTrees, guess: HasTrees, n: int) -> list[int]:
    """Sentences with the most errors, the first of them where they have as many."""
    import numpy as np

    from palmette.evaluation.attachment import compared
    from palmette.evaluation.tokens import sentence_sums

    wrong = sentence_sums(~compared(gold, guess).arc, gold.offset)
    order = np.argsort(-wrong, kind="stable")[: max(0, n)]
    return [int(s) for s in order if wrong[s]]


def _drawings(gold: HasTrees, guess: HasTrees, chosen: list[int]) -> list[tuple[str, Tree, Tree | None]]:
    """Title, guess and gold of each chosen sentence."""
    from palmette.data.formats.conllu_light import tree_of
    from palmette.reports.tree import count_errors

    found: list[tuple[str, Tree, Tree | None]] = []
    for s in chosen:
        tree, right = tree_of(guess, s), tree_of(gold, s)
        heads, names = count_errors(tree, right)
        found.append((f"sentence {s + 1}: {heads} wrong heads, {names} more wrong relations", tree, right))
    return found
