"""From a corpus to a trained chain model: labels, constraints, attributes, weights, passes, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.chain import grow
from palmette.chain.constraints import constraints
from palmette.chain.data import Collected, allow_table, encode_corpus, seen_combinations
from palmette.chain.known import Known, certain_labels, known_in_training, label_names, understand_labels
from palmette.chain.learning import ChainLearning, Dev
from palmette.chain.likelihood import Penalty, train_likelihood
from palmette.chain.model import ChainModel, Names, check_columns, check_room
from palmette.chain.objective import ChainObjective
from palmette.chain.prune import some_names
from palmette.chain.split import split_states
from palmette.chain.weights import ORDERS, Seen, Shape, new_chain, start_randomly, used_rows
from palmette.errors import DataError, UsageError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet
from palmette.kernels.forms import Bare, Chain, Data
from palmette.learn.online import Outcome, Pass, Progress, train_online
from palmette.learn.settings import BATCH, Settings, n_passes, restarts
from palmette.text.corpus import Corpus
from palmette.text.schemes import Transitions, are_chunk_labels

LARGE = 2 << 30  # bytes of weights that are worth a warning
SAME_COLUMNS = "it needs the columns of the data that training began with"


@dataclass
class Wish:
    """What is asked of `fit_chain` besides the data."""

    templates: TemplateSet | None  # None: ready-made attributes
    settings: Settings
    order: int = 1  # for ready-made attributes; templates say it themselves
    resources: Resources = field(default_factory=Resources)
    forbidden: Sequence[tuple[str, str]] = ()  # label pairs, with <s> and </s> for the ends
    resume: ChainModel | None = None
    checkpoint: bool = False
    names: bool = True
    ends: bool = True
    progress: Progress | None = None
    say: Callable[[str], None] = lambda message: None
    threads: int = 1


def fit_chain(corpus: Corpus, dev: Corpus | None, wish: Wish) -> tuple[ChainModel, Outcome]:
    """Train a chain on a labelled corpus."""
    check_labelled(corpus, "training")
    old = wish.resume
    if old is not None:
        check_columns(corpus, old.encoder, SAME_COLUMNS)
    settings = wish.settings
    understand_labels(corpus, settings.partial)
    labels = _labels(corpus, old)
    known = known_in_training(corpus, labels)
    before = None if old is None else old.scheme
    scheme, allowed = constraints(labels, known.rows, corpus, settings.constraints, _forbidden(wish), before)
    encoder = _encoder(wish)
    shape = _shape(labels, encoder, wish)
    check_room(corpus.offset, shape, encoder)
    collected = Collected(corpus, encoder, old.alphabets if old else None, settings.min_count, settings.max_attributes)
    data = collected.data(known.rows, allow_table(len(labels), known.sets))
    _tell_size(collected, shape, wish)
    _tell_partial(known, len(labels), wish)
    held_out = _dev(dev, collected, labels, wish)
    by_likelihood = settings.learner in BATCH
    trained = (_by_likelihood if by_likelihood else _trained)(collected, data, shape, allowed, held_out, wish)
    outcome, settings = trained.outcome, trained.settings
    if trained.impossible >= corpus.n_sentences:
        raise DataError(
            "nothing can be learnt: no sentence has a path that fits both what is known of its labels and what is "
            "allowed", file=corpus.source, hint="see --constraints and --forbid",
        )  # fmt: skip
    if trained.impossible:
        wish.say(
            f"warning: {trained.impossible:,} sentences taught nothing: no path fits both what is known of their "
            "labels and what is allowed; see --constraints and --forbid"
        )
    _check_weights(outcome.best, data, corpus)
    model = ChainModel(
        labels, shape, allowed, scheme, encoder, collected.alphabets, outcome.best, {}, _vocabulary(corpus, old),
        dict(old.bias) if old else {},
    )  # fmt: skip
    model.meta = {
        "settings": msgspec.to_builtins(settings),
        "forbidden": _forbidden(wish),
        "history": msgspec.to_builtins(outcome.history),
        "best_pass": outcome.best_pass,
        "ended": outcome.why,
    }
    if wish.checkpoint and outcome.interrupted:
        wish.say("no checkpoint is kept: training was interrupted in the middle of a pass")
    elif wish.checkpoint:
        model.checkpoint = trained.state()
    if settings.tune_bias:
        model.bias = _tuned_bias(model, held_out, wish)
    if not model.checkpoint:
        model.chain = collected.drop_unmoved(model.chain)
        model.alphabets = collected.alphabets
    model.names = _names(collected, old) if wish.names else {}
    return model, outcome


def check_labelled(corpus: Corpus, what: str) -> None:
    """Training needs sentences, and labels."""
    if corpus.n_tokens == 0:
        raise DataError(f"no {what} data: there is no sentence in it", file=corpus.source)
    if corpus.labels is None:
        raise DataError(f"the {what} data has no labels", file=corpus.source)


def _check_weights(chain: Chain, data: Data, corpus: Corpus) -> None:
    """Large values and sample weights can make numbers that float32 does not have."""
    if data.one.val.size or (data.weight != 1).any():
        blocks = [*chain.bare, *(rows.w for rows in chain[-3:])]
        if not all(np.isfinite(block).all() for block in blocks):
            raise DataError(
                "the weights have grown beyond what numbers can hold", file=corpus.source,
                hint="scale the values of attributes or the weights of sentences down, for example to at most 1",
            )  # fmt: skip


def _labels(corpus: Corpus, old: ChainModel | None) -> list[str]:
    assert corpus.labels is not None
    labels = list(old.labels) if old else []
    labels += [label for label in label_names(corpus) if label not in set(labels)]
    if not labels:
        raise DataError("no label is known", file=corpus.source, hint="`?` says that any label is possible")
    if "" in labels:
        token = int(np.argmax(corpus.labels.ids == corpus.labels.types.index("")))
        raise DataError("the label is empty", file=corpus.source, line=corpus.line_of(token))
    if len(labels) > 32000:
        raise DataError(
            f"{len(labels)} different labels", file=corpus.source, hint="is the label column the right one? see --label"
        )
    return labels


def _forbidden(wish: Wish) -> list[tuple[str, str]]:
    """The user's list; a training that goes on keeps that of before."""
    before = [] if wish.resume is None else wish.resume.meta.get("forbidden", [])
    return list(dict.fromkeys((str(a), str(b)) for a, b in (*before, *wish.forbidden)))


def _encoder(wish: Wish) -> Encoder | None:
    if wish.resume is not None:
        return wish.resume.encoder
    return None if wish.templates is None else Encoder(wish.templates, wish.resources)


def _shape(labels: list[str], encoder: Encoder | None, wish: Wish) -> Shape:
    n_labels = len(labels)
    if wish.resume is not None:
        old = wish.resume.shape
        more = (1,) * (n_labels - old.n_labels) if old.states else ()
        return old._replace(n_labels=n_labels, states=old.states + more)
    per, states = _latent_states(wish.settings.latent, labels)
    if encoder is None:
        return Shape(n_labels, wish.order, wish.ends, wish.order >= 1, wish.order >= 2, per, states)
    order = encoder.templates.order
    return Shape(n_labels, order, wish.ends, encoder.is_bare(2), encoder.is_bare(3), per, states)


def _latent_states(latent: int | dict[str, int], labels: list[str]) -> tuple[int, tuple[int, ...]]:
    """Room for states in every label, and how many each has where that differs."""
    if isinstance(latent, int):
        return latent, ()
    strange = [label for label in latent if label not in labels]
    if strange:
        raise UsageError(f"latent: no label {strange[0]!r} in the training data, which has {', '.join(labels[:20])}")
    states = tuple(latent.get(label, 1) for label in labels)
    return max(states), () if len(set(states)) == 1 else states


def _tell_size(collected: Collected, shape: Shape, wish: Wish) -> None:
    """How many weights there can be, and a warning where they are many."""
    sizes = collected.sizes
    dense = {k: n * shape.n_states**k for k, n in sizes.items()}
    if wish.settings.edge_features == "seen":
        dense = {k: n for k, n in dense.items() if k == 1}
    total = sum(dense.values())
    found = sum(collected.found.values())
    kept = f" of {found:,}" if found != sum(sizes.values()) else ""
    wish.say(
        f"{collected.corpus.n_sentences:,} sentences, {collected.corpus.n_tokens:,} tokens, {shape.n_labels} labels, "
        + (f"{int((~shape.missing()).sum())} states, " if shape.per > 1 else "")
        + f"{sum(sizes.values()):,}{kept} attributes, order {shape.order}, up to {total:,} weights"
    )
    if not sum(sizes.values()):
        wish.say("warning: there is no attribute, so only label sequences are learnt; see --template and --min-count")
    if total * 12 > LARGE:
        wish.say(
            f"warning: if every weight moves, they take {total * 12 / 2**30:.1f} GB; "
            "--edge-features seen, --min-count 2 or --max-attributes make them fewer"
        )


def _tell_partial(known: Known, n_labels: int, wish: Wish) -> None:
    unsure = int(np.count_nonzero(known.rows >= n_labels))
    if unsure:
        wish.say(f"{unsure:,} of {known.rows.size:,} tokens have a label that is not fully known")


class _Trained(NamedTuple):
    """What came out of training."""

    outcome: Outcome
    settings: Settings  # with everything decided
    impossible: int  # sentences without an allowed path
    state: Callable[[], dict[str, np.ndarray]]  # what an exact resumption needs


def _by_likelihood(
    collected: Collected, data: Data, shape: Shape, allowed: Transitions, dev: Dev | None, wish: Wish
) -> _Trained:
    """All the data at once."""
    settings = wish.settings
    if wish.checkpoint:
        raise UsageError(
            f"--checkpoint is for learners that go through the data sentence by sentence, not {settings.learner}"
        )
    l2 = settings.l2 if settings.l2 is not None else 0.0 if settings.l1 else 1.0

    def optimum(penalty: Penalty, only: np.ndarray | None = None) -> tuple[ChainObjective, Outcome]:
        chain, _, _ = _start(collected, data, shape, allowed, wish)
        return train_likelihood(
            chain, data, dev, penalty, n_passes(settings), settings.tolerance, settings.patience, wish.threads,
            wish.progress, only,
        )  # fmt: skip

    if settings.l1_then_l2:
        objective, outcome = optimum(Penalty(0.0, settings.l1))
        _tell_stage("L1", objective, outcome, wish)
        if not outcome.interrupted:
            objective, outcome = optimum(Penalty(l2, 0.0), objective.start() != 0)
            _tell_stage("L2", objective, outcome, wish)
    else:
        objective, outcome = optimum(Penalty(l2, settings.l1))
    return _Trained(outcome, msgspec.structs.replace(settings, l2=l2), objective.impossible, dict)


def _tell_stage(name: str, objective: ChainObjective, outcome: Outcome, wish: Wish) -> None:
    """Size and accuracy of one of two stages."""
    best = max((p.dev for p in outcome.history if p.dev is not None), default=None)
    accuracy = (
        f"{100 * outcome.history[-1].train_accuracy:.2f}% right in training" if outcome.history else "no iteration"
    )
    dev = "" if best is None else f", dev {100 * best:.2f}"
    wish.say(f"{name}: {np.count_nonzero(objective.start()):,} weights that are not zero, {accuracy}{dev}")


def _trained(
    collected: Collected, data: Data, shape: Shape, allowed: Transitions, dev: Dev | None, wish: Wish
) -> _Trained:
    """Train with each estimator that is to be tried, and keep the one that is best on dev."""
    history, settings = _history(wish.resume), wish.settings
    found = None
    plain = _plain_passes(collected, data, shape, allowed, wish)
    choices = restarts(settings, dev is not None)
    for estimator, every in choices:
        if len(choices) > 1:
            wish.say(f"trying {estimator}" + (f" every {every} passes" if every else ""))
        chain, clock, best = _start(collected, data, shape, allowed, wish)
        chain = chain._replace(share=0.0 if chain.plain else float(settings.share))
        if plain is not None:
            split_states(chain, shape, plain.best)
        # What was split off is no longer random: all of it is part of the model.
        start = None if chain.plain or plain is not None else _random_start(shape, allowed, wish)
        learning = ChainLearning(chain, data, estimator, dev, clock, every, start)
        if plain is not None and plain.interrupted:
            outcome = Outcome(learning.snapshot(), 0, [], True, plain.why)
        else:
            outcome = train_online(
                learning,
                settings.seed,
                len(history) + n_passes(settings),
                settings.patience,
                history,
                wish.progress,
                best,
            )
        if found is None or _best_score(outcome) > _best_score(found[1]):
            settled = msgspec.structs.replace(settings, estimator=estimator, mavg_every=every)
            found = learning, outcome, settled
        if outcome.interrupted:
            break
    assert found is not None
    if len(choices) > 1:
        chosen = found[2]
        wish.say(f"chose {chosen.estimator}" + (f" every {chosen.mavg_every} passes" if chosen.mavg_every else ""))
    learning, outcome, settings = found
    state = partial(grow.saved_state, learning.chain, learning.clock, learning.start)
    return _Trained(outcome, settings, learning.impossible, state)


def _plain_passes(collected: Collected, data: Data, shape: Shape, allowed: Transitions, wish: Wish) -> Outcome | None:
    """Passes of a plain model whose labels are to be split into states; None when that is not asked for."""
    settings = wish.settings
    if not settings.split_after or wish.resume is not None or shape.per == 1:
        return None
    wish.say(f"{settings.split_after} passes of a plain model, whose labels are then split into states")
    single = shape._replace(per=1, states=())
    chain, clock, _ = _start(collected, data, single, allowed, wish)
    learning = ChainLearning(chain, data, "avg", None, clock)
    return train_online(learning, settings.seed, settings.split_after, None, [], wish.progress)


def _best_score(outcome: Outcome) -> float:
    return max((p.dev for p in outcome.history if p.dev is not None), default=0.0)


def _random_start(shape: Shape, allowed: Transitions, wish: Wish) -> Bare:
    """The start of a latent chain, as `_start` makes it."""
    blank = new_chain(shape, {}, allowed, {})
    start_randomly(blank, shape, wish.settings.init_size, wish.settings.seed)
    old = wish.resume
    if old is not None:  # its own start, or none: then zeros, which change nothing
        blocks = {n: old.checkpoint.get(f"start.{n}", np.zeros_like(b)) for n, b in old.chain.bare._asdict().items()}
        grow.place_bare(blank, blocks, old.shape, sums=False)
    return blank.bare


def _start(
    collected: Collected, data: Data, shape: Shape, allowed: Transitions, wish: Wish
) -> tuple[Chain, float, Chain | None]:
    """The weights to start from, the clock, and the best weights so far of a training that goes on."""
    old = wish.resume
    seen: dict[int, Seen] = {}
    if wish.settings.edge_features == "seen":
        seen = {k: seen_combinations(data, shape, k, n) for k, n in collected.sizes.items() if k > 1}
    if old is None:
        chain = new_chain(shape, collected.sizes, allowed, seen)
        if shape.per > 1:
            start_randomly(chain, shape, wish.settings.init_size, wish.settings.seed)
        return chain, 1.0, None
    for order, rows in zip(ORDERS, (old.chain.one, old.chain.two, old.chain.three), strict=True):
        if rows.first.size:
            there = Seen(rows.first, grow.moved_combos(rows.combo, order, old.shape, shape))
            here = seen.get(order) or seen_combinations(data, shape, order, collected.sizes[order])
            seen[order] = grow.united(there, here, shape.combinations(order))
        elif rows.slot.size:  # what a model's edge features are was decided when it began
            seen.pop(order, None)
    chain = new_chain(shape, collected.sizes, allowed, seen)
    averaged = new_chain(shape, collected.sizes, allowed, seen)
    if shape.per > 1 and shape != old.shape:  # the states of new labels need a start
        for new in (chain, averaged):
            start_randomly(new, shape, wish.settings.init_size, wish.settings.seed)
    _carry(averaged, old, old.chain, shape)
    if not old.checkpoint:
        wish.say("resumed from the averaged weights (the model has no checkpoint)")
        return averaged, 1.0, None
    wish.say("resumed exactly where training stopped")
    clock = _restore(chain, old, shape)
    return chain, clock, averaged if any(p.dev is not None for p in _history(old)) else None


def _carry(chain: Chain, old: ChainModel, source: Chain, shape: Shape) -> None:
    """The weights of `source` into a new, larger chain."""
    grow.place_bare(chain, source.bare._asdict(), old.shape, sums=False)
    pairs = zip(ORDERS, chain[-3:], source[-3:], strict=True)
    none = np.zeros(0)
    for order, new, rows in pairs:
        if rows.first.size:
            combo = grow.moved_combos(rows.combo, order, old.shape, shape)
            grow.place_seen(new, rows.first, combo, rows.w, none, shape.combinations(order))
        elif rows.slot.size:
            grow.place_rows(new, order, rows.slot, rows.w[: used_rows(rows)], none, old.shape, shape)


def _restore(chain: Chain, old: ChainModel, shape: Shape) -> float:
    """The raw weights and accumulators of a checkpoint; the clock."""
    state = old.checkpoint
    for sums, head in ((False, "bare"), (True, "sums")):
        blocks = {name: state[f"{head}.{name}"] for name in chain.bare._fields}
        grow.place_bare(chain, blocks, old.shape, sums)
    for order, new, rows in zip(ORDERS, chain[-3:], old.chain[-3:], strict=True):
        if not rows.slot.size:
            continue
        w, a = state[f"{order}.w"], state[f"{order}.a"]
        if rows.first.size:
            combo = grow.moved_combos(rows.combo, order, old.shape, shape)
            grow.place_seen(new, rows.first, combo, w, a, shape.combinations(order))
        else:
            grow.place_rows(new, order, state[f"{order}.slot"], w, a, old.shape, shape)
    return float(state["clock"][0])


def _history(old: ChainModel | None) -> list[Pass]:
    return [] if old is None else msgspec.convert(old.meta.get("history", []), list[Pass])


def _dev(dev: Corpus | None, collected: Collected, labels: list[str], wish: Wish) -> Dev | None:
    if dev is None:
        if wish.settings.patience is not None or wish.settings.tune_bias:
            raise UsageError("--patience and --tune-bias need development data: --dev FILE or --dev-share 0.1")
        return None
    check_labelled(dev, "development")
    check_columns(dev, collected.encoder, SAME_COLUMNS)
    understand_labels(dev, wish.settings.partial)
    names = labels + [label for label in label_names(dev) if label not in set(labels)]
    if len(names) > len(labels):
        wish.say(f"labels that only the development data has count as errors: {', '.join(names[len(labels) :][:10])}")
    gold, sure = certain_labels(dev, names)
    if sure is not None and not sure.any():
        raise DataError("no label of the development data is fully known", file=dev.source)
    free = np.full(dev.n_tokens, len(labels), np.int32)
    data = encode_corpus(dev, collected.encoder, collected.alphabets, free, allow_table(len(labels)))
    metric, spans = wish.settings.metric, are_chunk_labels(names)
    if metric == "f1" and not spans:
        raise UsageError("the metric f1 scores spans, and the labels are none (B-X, I-X, O): choose accuracy")
    if metric == "auto":
        metric = "f1" if spans else "accuracy"
    return Dev(data, gold, names, metric, sure)


def _names(collected: Collected, old: ChainModel | None) -> dict[int, Names]:
    """The attributes' strings: those of the old model, then the new ones."""
    names = {}
    for order in collected.alphabets:
        data, offset = collected.names(order)
        if old is not None and np.any(collected.first[order] < 0):
            if order not in old.names:
                continue  # the old model was stripped: half of the names would be worse than none
            before = old.names[order]
            if order in collected.moved:
                before = some_names(before, collected.moved[order][: len(before)])
            data = np.concatenate((before.data, data))
            offset = np.concatenate((before.offset, before.offset[-1] + offset[1:]))
        names[order] = Names(data, offset)
    return names


def _vocabulary(corpus: Corpus, old: ChainModel | None) -> np.ndarray:
    """Hashes of the words of the training data, to tell unseen words from seen ones."""
    words = corpus.columns[0].hash if corpus.columns else np.zeros(0, np.uint64)
    return np.union1d(words, old.vocabulary) if old is not None else np.sort(words)


def _tuned_bias(model: ChainModel, dev: Dev | None, wish: Wish) -> dict[str, float]:
    """The number to add to the outside label's score that gives the best F on dev, by trying a grid."""
    assert dev is not None
    if "O" not in model.labels:
        raise UsageError("--tune-bias trades precision for recall of spans, and there is no label O")
    weights = model.chain.one.w
    scale = float(np.abs(weights[weights != 0]).mean()) if np.any(weights) else 1.0
    figures = {0.0: dev.figure(model.with_bias({}))}
    for step in (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0):
        for value in (-step * scale, step * scale):
            figures[value] = dev.figure(model.with_bias({"O": value}))
    best = max(figures, key=lambda value: (figures[value], -abs(value)))
    wish.say(f"bias O={best:.4g}: {dev.metric} {figures[best]:.4f} on dev, {figures[0.0]:.4f} without")
    return {"O": best} if best else {}
