"""Training of a parser from a treebank: projective trees, actions, encoding, epochs."""

from __future__ import annotations

import logging
from collections import Counter

import msgspec
import numpy as np

from palmette.data.treebank import Treebank
from palmette.errors import DataError, counted
from palmette.evaluation.attachment import score_trees
from palmette.kernels.core.compile import check_compiled
from palmette.kernels.tree.forms import LEFT, RIGHT, Weights
from palmette.kernels.tree.weights import MOST_ACTIONS
from palmette.options.tree import TreeSettings
from palmette.structures.tree.model import SHIFTING, Action, ParserModel, encode, make_grammar, relations_of
from palmette.structures.tree.projective import deprojectivised, projective_sentences, projectivised
from palmette.structures.tree.templates import Templates
from palmette.training.checks import warn_of_strange_trees
from palmette.training.result import EpochLog, Progress, TrainResult
from palmette.training.trainer import train_epochs
from palmette.training.tree.learning import ParserLearning

logger = logging.getLogger(__name__)
# A relation of lifted arcs that is rarer loses its mark: UD English-EWT would have 136 relations instead of 51, and
# each is two more actions to score in every state.
LEAST = 3


def fit_parser(
    treebank: Treebank,
    dev: Treebank | None,
    templates: Templates,
    settings: TreeSettings,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[ParserModel, TrainResult]:
    """Train a parser. With development data the epoch with the best LAS is kept."""
    check_compiled("training")
    if not treebank.n_tokens or (treebank.heads < 0).any():
        raise DataError("the training data has no trees", file=treebank.corpus.source)
    warn_of_strange_trees(treebank)
    projective = made_projective(treebank, settings.non_projective)
    if not (projective.heads > 0).any():
        raise DataError("no sentence has an arc between two words: nothing to learn", file=treebank.corpus.source)
    actions, root = actions_of(projective), root_of(projective)
    relations = relations_of(actions, root)
    words = encode(projective, templates, relations, settings.unicode, gold=True)

    def evaluate(weights: Weights) -> dict[str, float]:
        assert dev is not None
        model = ParserModel(templates, actions, root, weights, settings)
        scores = score_trees(dev, parsed(model, dev, settings.beam.width, settings.merge, threads))
        return {"las": scores.las, "dev_uas": scores.uas}

    grammar = make_grammar(templates, actions, relations)
    learning = ParserLearning(grammar, words, settings, evaluate if dev is not None else None)
    outcome = train_epochs(learning, settings.seed, settings.n_passes(), EpochLog(settings.patience, progress))
    log = msgspec.to_builtins(outcome.training_log)
    meta = {"history": log, "best_pass": outcome.best_epoch}
    return ParserModel(templates, actions, root, outcome.best, settings, meta), outcome


def parsed(model: ParserModel, treebank: Treebank, beam: int, merge: bool, threads: int = 1) -> Treebank:
    """The treebank with predicted trees, lifted arcs restored."""
    if not treebank.n_tokens:
        return treebank
    found = model.parse(treebank, beam, merge, threads)
    return finished(model, treebank, found.heads, found.relations)


def finished(model: ParserModel, treebank: Treebank, heads: np.ndarray, relations: np.ndarray) -> Treebank:
    """The treebank with the trees that a kernel returned, lifted arcs restored."""
    made = model.with_trees(treebank, heads, relations)
    return deprojectivised(made) if model.lifts else made


def made_projective(treebank: Treebank, how: str) -> Treebank:
    """Transform trees with crossing arcs ("pseudo"), or leave them out ("skip"); either is logged."""
    if how == "pseudo":
        made, lifted = projectivised(treebank, LEAST)
        if lifted.crossing_sentences:
            logger.info("%s", lifted)
        return made
    good = projective_sentences(treebank)
    if not good.all():
        n = int((~good).sum())
        does = "is not projective and is" if n == 1 else "are not projective and are"
        logger.info(f"{n:,} of {counted(good.size, 'tree')} {does} left out")
    if not good.any():
        raise DataError("no tree of the training data is projective", hint="--non-projective pseudo transforms them")
    return treebank.take(np.flatnonzero(good))


def actions_of(treebank: Treebank) -> list[Action]:
    """The shift, and an arc of each direction and relation that the trees have."""
    place = np.arange(treebank.n_tokens) - np.repeat(treebank.offset[:-1], np.diff(treebank.offset)) + 1
    inner = treebank.heads > 0
    moves = np.where(treebank.heads > place, LEFT, RIGHT)[inner]
    ids, names = treebank.relations.ids[inner], treebank.relations.types
    pairs = np.unique(np.stack((moves, ids)), axis=1).T.tolist()
    found = sorted((int(move), names[relation]) for move, relation in pairs)
    if len(found) + 1 > MOST_ACTIONS:
        raise DataError(f"the trees have {len(found)} kinds of arcs; at most {MOST_ACTIONS - 1} are possible")
    return [SHIFTING, *found]


def root_of(treebank: Treebank) -> str:
    """The most frequent relation of roots. The last word on the stack becomes the root without an action, so that all
    roots get this relation; trees with another one are logged."""
    types = treebank.relations.types
    counts = Counter(types[k] for k in treebank.relations.ids[treebank.heads == 0].tolist())
    (root, times), total = counts.most_common(1)[0], counts.total()
    if times < total:
        logger.info(
            f"{total - times:,} of {total:,} roots have a relation other than {root}, which the parser assigns to all "
            "roots"
        )
    return root
