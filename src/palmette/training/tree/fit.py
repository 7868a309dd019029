"""Training of a parser from a treebank: projective trees, actions, encoding, epochs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from palmette.data.cores import available_cores
from palmette.data.treebank import Treebank
from palmette.errors import DataError, UsageError, counted
from palmette.evaluation.attachment import score_trees
from palmette.kernels.core.compile import check_compiled
from palmette.kernels.tree.forms import LEFT, RIGHT, ROOT, Weights
from palmette.kernels.tree.weights import MOST_ACTIONS
from palmette.options.declare import OptionError
from palmette.options.spelling import spelt
from palmette.options.tree import TreeOptions, TreeSettings
from palmette.structures.training_log import Epoch
from palmette.structures.tree.model import (
    SHIFTING,
    Action,
    ParserModel,
    encode,
    frozen_weights,
    make_grammar,
    n_actions,
    relations_of,
)
from palmette.structures.tree.projective import deprojectivised, projective_sentences, projectivised
from palmette.structures.tree.templates import Templates
from palmette.training.checks import warn_of_strange_trees
from palmette.training.result import EpochLog, Progress, TrainResult
from palmette.training.trainer import train_epochs
from palmette.training.tree.learning import ParserLearning
from palmette.training.tree.resume import TrainingStart, restored_start, start_from_weights

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
    resume: ParserModel | None = None,
    checkpoint: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[ParserModel, TrainResult]:
    """Train a parser. With development data the epoch with the best LAS is kept.

    resume: a model to continue from, exactly if it has a checkpoint; then `templates` are its own. checkpoint: keep
    what an exact resumption needs. threads: None for as many as there are cores."""
    check_compiled("training")
    check_trained_on(treebank)
    cores, settings = threads or available_cores(), settings.with_batch_size_for(treebank.n_sentences)
    warn_of_strange_trees(treebank)
    projective = made_projective(treebank, settings.non_projective)
    if resume is None and not (projective.heads > 0).any():
        raise DataError("no sentence has an arc between two words: nothing to learn", file=treebank.corpus.source)
    root = root_of(projective) if resume is None else resume.root
    actions = actions_of(projective, root, () if resume is None else resume.actions)
    _check_variants(templates, settings, len(actions), resume)
    relations = relations_of(actions, root)
    words = encode(projective, templates, relations, settings.unicode, gold=True)

    def evaluate(weights: Weights) -> dict[str, float]:
        assert dev is not None
        model = ParserModel(templates, actions, root, weights, settings)
        scores = score_trees(dev, parsed(model, dev, settings.beam.width, settings.merge, cores))
        return {"las": scores.las, "dev_uas": scores.uas}

    grammar = make_grammar(templates, actions, relations, settings)
    start, log = _start(
        resume,
        settings,
        n_actions(actions, settings),
        EpochLog(settings.patience, progress, window=settings.stop_rule()),
    )
    scorer = evaluate if dev is not None else None
    learning = ParserLearning(grammar, words, settings, scorer, start=start, threads=cores)
    outcome = train_epochs(learning, settings.seed, len(log.epochs) + settings.n_passes(), log)
    meta = {"history": msgspec.to_builtins(outcome.training_log), "best_pass": outcome.best_epoch}
    model = ParserModel(templates, actions, root, outcome.best, settings, meta)
    if checkpoint and outcome.interrupted:
        logger.info("no checkpoint is kept: training was interrupted in the middle of a pass")
    elif checkpoint:
        model.checkpoint = learning.saved()
    return model, outcome


def check_trained_on(treebank: Treebank) -> None:
    """Raise DataError if some sentence has no tree to learn from."""
    if not treebank.n_tokens or (treebank.heads < 0).any():
        raise DataError("the training data has no trees", file=treebank.corpus.source)


def _check_variants(templates: Templates, settings: TreeSettings, actions: int, old: ParserModel | None) -> None:
    if templates.reads_variants and settings.variants == 1:
        raise UsageError(
            f"{templates.name} reads hidden variants of arcs, and the parser has none: "
            + spelt(TreeOptions, "variants", 2)
        )
    if templates.reads_variants and settings.min_count:
        raise UsageError(
            f"min_count counts features of gold states, and {templates.name} reads variants, which are hidden there"
        )
    if old is not None and (old.settings.variants > 1 or settings.variants > 1):
        for name in ("variants", "init_size", "seed"):
            before = getattr(old.settings, name)
            if getattr(settings, name) != before:
                raise OptionError(name, f"training with hidden variants continues with that of the model, {before}")
    if 1 + (actions - 1) * settings.variants > MOST_ACTIONS:
        raise DataError(
            f"{actions - 1} kinds of arcs with {settings.variants} variants; at most {MOST_ACTIONS - 1} are possible"
        )


def _start(
    old: ParserModel | None, settings: TreeSettings, actions: int, log: EpochLog
) -> tuple[TrainingStart | None, EpochLog]:
    """Where training begins, and the log of what was done before; the best weights so far get rows for all actions."""
    if old is None:
        return None, log
    if old.is_compact:
        raise UsageError("a compact model cannot be trained further: use the full model")
    epochs = msgspec.convert(old.meta.get("history", []), list[Epoch])
    adaptive = settings.chosen_learner.adaptive
    if not old.checkpoint:
        logger.info("resumed from the averaged weights (the model has no checkpoint)")
        return start_from_weights(old.weights, adaptive), EpochLog(
            log.patience, log.progress, epochs, window=log.window
        )
    logger.info("resumed exactly where training stopped")
    scored = any(epoch.dev is not None for epoch in epochs)
    best = frozen_weights(old.weights.table, old.weights.entry, actions) if scored else None
    return restored_start(old.checkpoint, adaptive), EpochLog(
        log.patience, log.progress, epochs, best, window=log.window
    )


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
        pseudo = spelt(TreeOptions, "non_projective", "pseudo")
        raise DataError("no tree of the training data is projective", hint=f"{pseudo} transforms them")
    return treebank.take(np.flatnonzero(good))


def actions_of(treebank: Treebank, root: str, known: Sequence[Action] = ()) -> list[Action]:
    """The shift, an arc of each direction and relation that the trees have, and each relation of roots if there is
    another one than `root`; after those that are known."""
    place = np.arange(treebank.n_tokens) - np.repeat(treebank.offset[:-1], np.diff(treebank.offset)) + 1
    inner = treebank.heads > 0
    moves = np.where(treebank.heads > place, LEFT, RIGHT)[inner]
    ids, names = treebank.relations.ids[inner], treebank.relations.types
    pairs = np.unique(np.stack((moves, ids)), axis=1).T.tolist()
    found = sorted((int(move), names[relation]) for move, relation in pairs)
    roots = sorted({root, *(names[k] for k in np.unique(treebank.relations.ids[treebank.heads == 0]).tolist())})
    if len(roots) > 1:
        found += [(ROOT, name) for name in roots]
    actions = list(dict.fromkeys([SHIFTING, *known, *found]))
    if len(actions) > MOST_ACTIONS:
        raise DataError(f"the trees have {len(actions) - 1} kinds of arcs; at most {MOST_ACTIONS - 1} are possible")
    return actions


def root_of(treebank: Treebank) -> str:
    """The most frequent relation of roots, which all roots get unless there are others to choose from."""
    types = treebank.relations.types
    counts = Counter(types[k] for k in treebank.relations.ids[treebank.heads == 0].tolist())
    (root, times), total = counts.most_common(1)[0], counts.total()
    if times < total:
        logger.info(f"{total - times:,} of {total:,} roots have a relation other than {root}: the parser learns which")
    return root
