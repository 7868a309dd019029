"""Training of a parser from a treebank: projective trees, actions, encoding, epochs, checkpoints."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.treebank import Treebank
from palmette.errors import DataError, UsageError, counted
from palmette.evaluation.attachment import score_trees
from palmette.kernels.core.compile import check_compiled
from palmette.kernels.learning.coefficients import asks_for_products, searches_with_costs
from palmette.kernels.learning.rule import Rule
from palmette.options.declare import OptionError
from palmette.options.search import UPDATE_NUMBERS
from palmette.options.spelling import spelt
from palmette.options.training import available_cores
from palmette.parsing.kernels.forms import (
    LEFT,
    RIGHT,
    ROOT,
    Grammar,
    SearchOptions,
    Weights,
    Words,
    make_workspace,
    not_small,
)
from palmette.parsing.kernels.gold import allow_features, count_gold
from palmette.parsing.kernels.train import (
    BAD,
    CLOCK,
    CUTS,
    DONE,
    LACKS,
    MERGES,
    N_COUNTS,
    UPDATES,
    WRONG,
    make_batch,
    train_tree,
)
from palmette.parsing.kernels.update import PLACES as MORE_PLACES
from palmette.parsing.kernels.weights import (
    CLASSES,
    FIRST_SIZE,
    LENGTH_BIT,
    MOST_ACTIONS,
    SIZE_BIT,
    frozen,
    larger_table,
    lists_of,
    restart_from_average,
)
from palmette.parsing.model import (
    SHIFTING,
    Action,
    ParserModel,
    encode,
    frozen_weights,
    longest,
    make_grammar,
    n_actions,
    relations_of,
)
from palmette.parsing.options import MAVG_EVERY, TreeOptions, TreeSettings
from palmette.parsing.projective import deprojectivised, projective_sentences, projectivised
from palmette.parsing.serialise import AboutParser
from palmette.parsing.templates import Templates
from palmette.structures.training_log import Epoch
from palmette.training.checks import warn_of_strange_trees
from palmette.training.result import EpochLog, Progress, TrainResult
from palmette.training.team import ThreadTeam
from palmette.training.trainer import Counts, Learning, train_epochs

Arrays = dict[str, np.ndarray]

# The state of a parser's training, for a checkpoint and back.
#
# A checkpoint has the table of features as training left it, so that a resumed training finds every feature at its
# place, and their lists of (action, weight, accumulator, learner state) one after the other in the order of the
# places. Spare places of lists and free lists are not stored: a list gets the place that its length calls for.

PLACES = 1 << 16
# Arrays of zeros take memory when they are first written to. The first ones are so large that the system gives them
# memory of their own, which it gets back as a whole when they are replaced.
CAPACITY = 1 << 22


class TrainingStart(NamedTuple):
    """Where training begins."""

    weights: Weights
    clock: float = 1.0


def new_weights(adaptive: bool = False) -> Weights:
    """Empty weights of the initial capacity; adaptive: with learner state per weight."""
    return _weights(np.zeros(2 * PLACES, np.uint64), CAPACITY, (0, 0), adaptive)


def _weights(table: np.ndarray, capacity: int, used: tuple[int, int], adaptive: bool) -> Weights:
    entry, state = np.zeros(2 * capacity, np.int32), np.zeros(capacity if adaptive else 0, np.float32)
    free, rows, long = np.full(CLASSES, -1, np.int64), np.zeros(0, np.float32), np.zeros(0, np.uint64)
    return Weights(
        table, entry, entry.view(np.float32), np.zeros(capacity), state, free, np.array(used, np.int64), rows, long, 0,
        not_small(),
    )  # fmt: skip


def saved_state(w: Weights, clock: float) -> Arrays:
    """The arrays of a checkpoint, declared in parsing/serialise.py."""
    start, length = lists_of(w.table)
    at = _entries(start, length)
    table = w.table.copy()
    table[1::2] = _packed(_first(length), length, np.zeros_like(length))
    table[1::2][table[::2] == 0] = 0
    state = {"state": w.state[at]} if w.state.size else {}
    return {
        "table": table, "action": w.entry[2 * at], "weight": w.value[2 * at + 1], "sums": w.sums[at],
        "clock": np.array([clock]), **state,
    }  # fmt: skip


def restored_start(state: Arrays, adaptive: bool) -> TrainingStart:
    """The start of a training that continues where a checkpoint was saved."""
    lists: Arrays = {name: state[name] for name in ("sums", "state") if name in state}
    weights = _restored(state["table"], state["action"], state["weight"], lists, adaptive)
    return TrainingStart(weights, float(state["clock"][0]))


def start_from_weights(w: Weights, adaptive: bool) -> TrainingStart:
    """The start of a training from the weights of a model."""
    return TrainingStart(_restored(w.table, w.entry[::2], w.value[1::2], {}, adaptive))


def _restored(table: np.ndarray, action: np.ndarray, weight: np.ndarray, lists: Arrays, adaptive: bool) -> Weights:
    start, length = lists_of(table)
    owned = table[::2] != 0
    size = np.where(owned, np.maximum(FIRST_SIZE, np.ceil(np.log2(np.maximum(length, 1))).astype(np.int64)), 0)
    room = np.where(owned, 1 << size, 0)
    place, total = _first(room), int(room.sum())
    made = table.copy()
    made[1::2] = np.where(owned, _packed(place, length, size), 0)
    weights = _weights(made, max(CAPACITY, 2 * total), (int(owned.sum()), total), adaptive)
    source, target = _entries(start, length), _entries(place, length)
    weights.entry[2 * target] = action[source]
    weights.value[2 * target + 1] = weight[source]
    for name, array in lists.items():
        getattr(weights, name)[target] = array[source]
    return weights


def _first(sizes: np.ndarray) -> np.ndarray:
    """Where each of the pieces of these sizes begins, one after the other."""
    return np.cumsum(sizes) - sizes


def _entries(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The numbers of the entries of all lists, list by list."""
    return np.repeat(start - _first(length), length) + np.arange(int(length.sum()))


def _packed(start: np.ndarray, length: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Places of lists, as in parsing/kernels/weights.py."""
    return (start | length << LENGTH_BIT | size << SIZE_BIT).astype(np.uint64)


# The weights, data and clock of a parser during training.

MANY_PLACES = 1 << 20  # tables with fewer grow at once to eight times their size


# Kernel parts as plain Python functions
_asks_for_products: Callable[[Rule], bool] = getattr(asks_for_products, "py_func", asks_for_products)
_searches_with_costs: Callable[[Rule], bool] = getattr(searches_with_costs, "py_func", searches_with_costs)


def _larger_table(table: np.ndarray) -> np.ndarray:
    return larger_table(table, 8 if table.size < 2 * MANY_PLACES else 2)


def _doubled(array: np.ndarray, used: int) -> np.ndarray:
    """A copy of what is used, with twice the size. The rest is zeros, which take memory when they are written to."""
    made = np.zeros(2 * array.size, array.dtype)
    made[:used] = array[:used]
    return made


class ParserLearning(Learning):
    """Weights, training data and clock of a parser."""

    def __init__(
        self,
        grammar: Grammar,
        words: Words,
        settings: TreeSettings,
        evaluate: Callable[[Weights], dict[str, float]] | None,
        rule: Rule | None = None,  # None: the rule of the settings
        start: TrainingStart | None = None,  # None: no weights
        threads: int = 1,
    ) -> None:
        self.grammar, self.words, self.settings = grammar, words, settings
        beam = settings.beam
        own = beam.rule(settings.chosen_learner.rule(words.offset.size - 1, beam.width))
        self.rule = own if rule is None else rule
        augment = _searches_with_costs(self.rule) and not settings.merge
        self.how = SearchOptions(
            beam.width, settings.merge, UPDATE_NUMBERS[str(beam.update)], augment, settings.chosen_learner.from_forest
        )
        self.weights, clock = start or TrainingStart(new_weights(self.rule.spread > 0))
        differences = _asks_for_products(self.rule) or self.rule.spread > 0
        most = longest(words)
        self.team = ThreadTeam(threads, settings.batch_size or 1)
        self.workspaces = [
            make_workspace(grammar, most, self.how, self.rule.candidates, differences) for _ in self.team.members
        ]
        self.batch = make_batch(self.team.batch, len(self.team.members), grammar, most, self.rule)
        self.counts = np.zeros(N_COUNTS)  # of this epoch, except for the clock
        self.counts[CLOCK] = clock
        if settings.min_count:
            self._close(settings.min_count)
        self._evaluate = evaluate
        self._dev: dict[str, float] = {}

    @property
    def costs(self) -> np.ndarray:
        return np.diff(self.words.offset)

    @property
    def clock(self) -> float:
        return float(self.counts[CLOCK])

    def begin_epoch(self, number: int) -> None:
        self.counts[CLOCK + 1 :] = 0.0
        if self.settings.estimator == "mavg" and number % (self.settings.mavg_every or MAVG_EVERY) == 0:
            restart_from_average(self.weights, self.clock)

    @property
    def batch_size(self) -> int:
        return self.team.batch

    def learn(self, examples: np.ndarray) -> Counts:
        before, first = self.counts.copy(), 0
        while first < examples.size:
            self.counts[DONE], self.counts[LACKS] = 0.0, 0.0
            self._learn(examples[first:])
            first += int(self.counts[DONE])
            if first < examples.size:
                self._grow(int(self.counts[LACKS]))
        new = self.counts - before
        return Counts(int(new[UPDATES]), int(new[WRONG]))

    def _learn(self, examples: np.ndarray) -> None:
        own, g, w, words, batch, counts = (
            self.workspaces,
            self.grammar,
            self.weights,
            self.words,
            self.batch,
            self.counts,
        )
        self.team.run(
            train_tree,
            lambda t: (own[t.number], g, w, words, batch, examples, self.how, self.rule, t, counts),
        )

    def _grow(self, lacks: int) -> None:
        """Enlarge the table or the lists, whichever may be too small for the next sentence. One array after the other,
        each released before the next is copied."""
        if lacks == MORE_PLACES:
            self.weights = self.weights._replace(table=_larger_table(self.weights.table))
            return
        used = int(self.weights.used[1])
        entry = _doubled(self.weights.entry, 2 * used)
        self.weights = self.weights._replace(entry=entry, value=entry.view(np.float32))
        self.weights = self.weights._replace(sums=_doubled(self.weights.sums, used))
        self.weights = self.weights._replace(state=_doubled(self.weights.state, used))

    def _close(self, least: int) -> None:
        """Let only those features have weights that have some already or occur in at least `least` gold states."""
        table, used, first, last = np.zeros(2, np.uint64), np.zeros(1, np.int64), 0, self.words.offset.size - 1
        while first < last:
            table = _larger_table(table)
            first = count_gold(self.workspaces[0], self.grammar, self.words, first, last, table, used)
        keys, first = table[::2][table[1::2] >= least], 0
        while first < keys.size:
            first, lacks = allow_features(self.weights, keys, first)
            if first < keys.size:
                self._grow(lacks)
        self.weights = self.weights._replace(closed=True)

    def saved(self) -> dict[str, np.ndarray]:
        """The state for an exact resumption."""
        return saved_state(self.weights, self.clock)

    def snapshot(self) -> Weights:
        clock = 0.0 if self.settings.estimator == "last" else self.clock
        table, entry = frozen(self.weights, clock)
        return frozen_weights(table, entry, self.grammar.move.size)

    def figures(self) -> dict[str, float]:
        """Fraction of updates that were no violation, mean position of the cut, and merged states per sentence."""
        counts, updates = self.counts, max(1.0, self.counts[UPDATES])
        found = {"bad": float(counts[BAD] / updates), "cut": float(counts[CUTS] / updates)} | self._dev
        if self.settings.merge:
            found["merges"] = float(counts[MERGES] / max(1, self.words.offset.size - 1))
        return found

    @property
    def has_dev(self) -> bool:
        return self._evaluate is not None

    def evaluate(self, snapshot: Weights) -> float:
        """LAS on development data; UAS is added to the figures."""
        assert self._evaluate is not None
        self._dev = self._evaluate(snapshot)
        return self._dev.pop("las")


logger = logging.getLogger(__name__)
# A relation of lifted arcs that is rarer loses its mark: UD English-EWT would have 136 relations instead of 51, and
# each is two more actions to score in every state.
LEAST = 3
OF_TAGS = ("ignored", "tags")  # metadata that a training that is continued keeps


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
    about: Mapping[str, Any] | None = None,
) -> tuple[ParserModel, TrainResult]:
    """Train a parser. With development data the epoch with the best LAS is kept.

    resume: a model to continue from, exactly if it has a checkpoint; then `templates` are its own. checkpoint: keep
    what an exact resumption needs. threads: None for as many as there are cores. about: what is known of the tags of
    the data, as `AboutParser` has it."""
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
    model = ParserModel(templates, actions, root, outcome.best, settings, metadata(outcome, resume, about or {}))
    if checkpoint and outcome.interrupted:
        logger.info("no checkpoint is kept: training was interrupted in the middle of a pass")
    elif checkpoint:
        model.checkpoint = learning.saved()
    return model, outcome


def metadata(outcome: TrainResult, resume: ParserModel | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """What a trained parser keeps about its training, and about tags also of the training before."""
    before = {} if resume is None else {name: resume.meta[name] for name in OF_TAGS if name in resume.meta}
    made = AboutParser(history=outcome.training_log, best_pass=outcome.best_epoch, **(before | dict(about)))
    found: dict[str, Any] = msgspec.to_builtins(made)
    return found


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
