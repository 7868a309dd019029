"""`palmette compare` of parsers: models or parsed files side by side on the same gold trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.cli.options import File, Json, MaybeFile, Quiet
from palmette.cli.parser.common import Taggers, load_parser, preparation
from palmette.cli.telling import print_json
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.evaluation.attachment import HasTrees


def compare_parse(
    *files: File,
    gold: MaybeFile = None,
    beam: int | None = None,
    tagger: Taggers = None,
    rounds: int = 10_000,
    seed: int = 1,
    threads: int = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Set parsers or parsed files side by side on the same gold trees, with significance tests.

    Parameters
    ----------
    files: str
        Models of parsers or CoNLL-U files with their trees, two or more, and then the gold file.
    gold: str
        The gold file, if it is not the last of the files.
    beam: int
        How many states the search of the models keeps; default as in training.
    tagger: list[str]
        MODEL or upos=MODEL, xpos=MODEL: tag for the models first; repeatable.
    rounds: int
        Rounds of bootstrap and randomisation.
    seed: int
        Of bootstrap and randomisation.
    threads: int
        Threads to parse with.
    json: bool
        Print one JSON object, with all pairs; figures are fractions of 1.
    quiet: bool
        No progress and no messages.
    """
    from palmette.data.model_file import peek_task

    systems = list(files)
    if gold is None and systems:
        gold = systems.pop()
    if gold is None or len(systems) < 2:
        raise UsageError("give two or more parsers or parsed files, and then the gold file")
    if "-" in (gold, *systems):
        raise UsageError("compare reads files, not standard input")
    if rounds < 1 or seed < 0 or threads < 1:
        raise UsageError("--rounds and --threads must be at least 1, and --seed not negative")
    models = [file for file in systems if peek_task(file) is not None]
    if peek_task(gold) is not None:
        raise UsageError(f"{gold} is a model: the gold file comes last")
    if (beam is not None or tagger) and not models:
        raise UsageError("--beam and --tagger are for models, and there is none")
    from palmette.cli.compare import names_of
    from palmette.evaluation.tree_comparison import compare_trees
    from palmette.reports.meter import Meter

    meter = Meter(quiet)
    right, guesses = _guesses(systems, models, gold, beam, tagger, threads, quiet)
    named = dict(zip(names_of(systems), guesses, strict=True))
    found = compare_trees(right, named, rounds, seed, all_pairs=json, tell=meter.tell)
    meter.clear()
    if json:
        import msgspec

        print_json({"gold": gold, "files": systems} | msgspec.to_builtins(found))
    else:
        from palmette.reports.attachment import print_tree_comparison

        print_tree_comparison(found, gold)


def _guesses(
    systems: list[str], models: list[str], gold: str, beam: int | None, tagger: list[str] | None, threads: int,
    quiet: bool,
) -> tuple[HasTrees, list[HasTrees]]:  # fmt: skip
    """Gold and the trees of each system. Without a model nothing compiled is needed."""
    from palmette.data.formats.conllu_light import read_trees

    right = read_trees(gold)
    words = None
    found: list[HasTrees] = []
    for file in systems:
        if file not in models:
            found.append(read_trees(file))
            continue
        from palmette.data.formats.conllu import read_treebank

        words = words or read_treebank(gold, labelled=False)
        parser = load_parser(file, quiet)
        found.append(parser.parse(preparation(parser, tagger, quiet)(words), beam=beam, threads=threads))
    return right, found
