"""`palmette train --task parse`: from a treebank to a dependency parser."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.cli.options import File, Flag, Json, MaybeFile, Output, Quiet, announce_compiling, listed, say
from palmette.cli.parser.common import Taggers, taggers_of
from palmette.cli.telling import tell_training
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.estimators.parser import Parser


def train_parse(
    data: File,
    /,
    *,
    output: Output,
    dev: MaybeFile = None,
    features: Annotated[str | None, Parameter(name=["--features", "-f"])] = None,
    learner: str | None = None,
    update: str | None = None,
    beam: int | None = None,
    merge: Annotated[bool | None, Parameter(negative="--no-merge")] = None,
    passes: int | None = None,
    patience: int | None = None,
    seed: int | None = None,
    estimator: str | None = None,
    mavg_every: int | None = None,
    non_projective: str | None = None,
    tagger: Taggers = None,
    jackknife: int | None = None,
    ignore: str | None = None,
    skip_bad: Flag = False,
    nbest: int | None = None,
    aggressiveness: float | None = None,
    pa_type: str | None = None,
    rate: float | None = None,
    rate_schedule: str | None = None,
    probability_function: str | None = None,
    threads: int = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a dependency parser from a treebank.

    Parameters
    ----------
    data: str
        Sentences with trees: CoNLL-U or CoNLL-X; `-` is standard input, gzip is fine.
    output: str
        The model file to write.
    dev: str
        Development treebank: the pass with the best LAS on it is kept.
    features: str
        rich (the default), basic, or a file of templates; see docs/parsing.md.
    learner: str
        perceptron (the default), probperc (probabilistic perceptron), pa (passive-aggressive) or mira.
    update: str
        Where guess and gold are cut when the search has lost gold: laso (go on from gold: the default of the
        perceptron without --merge), max-violation (that of the others), early, standard (not at all), latest or hybrid.
    beam: int
        How many states the search keeps at each step (8).
    merge: bool
        Unite states that look alike to all templates, by dynamic programming.
    passes: int
        Passes over the data (10; with --patience at most 100).
    patience: int
        Stop after this many passes without a better one on the development data.
    seed: int
        The same seed gives the same model, bit for bit (1).
    estimator: str
        avg (mean of all weights, the default), mavg (the same, from which learning starts again every k-th pass), last.
    mavg_every: int
        The k of mavg (4).
    non_projective: str
        What to do with trees whose arcs cross: pseudo (lift arcs, and put them back after parsing; the default) or
        skip (leave the trees out).
    tagger: list[str]
        MODEL or upos=MODEL, xpos=MODEL: take these tags from a palmette tagger and not from the files; repeatable.
    jackknife: int
        Folds, such as 10: tag each part of the training data with taggers of the other parts, so that the parser learns
        with tags as good as it will meet. Development data is tagged by --tagger, or else by taggers of all the
        training data.
    ignore: str
        Fields that the parser is not to see, with commas: lemma,feats for text that will have none.
    skip_bad: bool
        Leave out sentences that are no trees (cycles, two roots, heads out of range) and say how many.
    nbest: int
        How many of the beam's parses probperc and mira look at (all).
    aggressiveness: float
        The largest step of mira and of pa's types PA-I and PA-II (0.1).
    pa_type: str
        PA, PA-I (the default) or PA-II.
    rate: float
        Step size of probperc (0.2).
    rate_schedule: str
        The rate of probperc: falling (the default) or constant.
    probability_function: str
        How probperc makes probabilities of scores: softmax (the default), linear or polynomial.
    threads: int
        Threads to parse development data with; learning goes from one sentence to the next.
    json: bool
        Print a JSON object about the training.
    quiet: bool
        No progress and no messages.
    """
    if dev is None and patience is not None:
        raise UsageError("--patience needs development data: --dev FILE")
    if threads < 1:
        raise UsageError(f"--threads {threads}: at least 1")
    announce_compiling(quiet)
    from palmette.data import model_file
    from palmette.data.formats.conllu import read_treebank
    from palmette.estimators.parser import Parser
    from palmette.estimators.retag import prepare_training

    model_file.check_output(output)
    begun = time.perf_counter()
    given: dict[str, Any] = {
        "features": features, "learner": learner, "update": update, "beam": beam, "merge": merge, "passes": passes,
        "patience": patience, "seed": seed, "estimator": estimator, "mavg_every": mavg_every,
        "non_projective": non_projective, "candidates": nbest, "aggressiveness": aggressiveness, "pa_type": pa_type,
        "rate": rate, "rate_schedule": rate_schedule, "probability_function": probability_function,
    }  # fmt: skip
    parser = Parser(**{name: value for name, value in given.items() if value is not None})
    settings, tell = parser.settings(), say(quiet or json)
    treebank = read_treebank(data, skip_bad=skip_bad)
    held_out = None if dev is None else read_treebank(dev, skip_bad=skip_bad)
    treebank, held_out, about = prepare_training(
        treebank, held_out, taggers=taggers_of(tagger, quiet or json), folds=jackknife, ignored=listed(ignore) or ()
    )
    from palmette.reports.progress import TrainingDisplay

    with TrainingDisplay(settings.n_passes, None if dev is None else "LAS", quiet or json) as display:
        parser.fit(treebank, held_out, threads=threads, progress=display, say=tell)
    parser.model_.meta |= about
    parser.save(output)
    seconds = time.perf_counter() - begun
    tell_training(parser.outcome_, output, seconds, lambda: _about(parser), json, quiet, "dev LAS")
    if parser.outcome_.interrupted:
        raise SystemExit(130)


def _about(parser: Parser) -> dict[str, Any]:
    from palmette.reports.parser_inspection import parser_inspection

    return parser_inspection(parser)
