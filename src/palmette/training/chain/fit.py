"""From a corpus to a trained chain model: labels, constraints, attributes, weights, passes, and the rest."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.automaton import LabelAutomaton, check_name, make_automaton
from palmette.data.labels.mask import (
    LabelMask,
    certain_labels,
    check_given,
    label_names,
    training_mask,
    understand_labels,
)
from palmette.data.labels.schemes import are_chunk_labels
from palmette.errors import DataError, UsageError
from palmette.features.encode import Encoder
from palmette.features.templates import PAST
from palmette.kernels.chain.forms import Chain, Data
from palmette.kernels.encode.encode import FeatureIndex
from palmette.options.settings import LIKELIHOOD, MOST_STATES, is_batch, with_beam
from palmette.structures.chain.constraints import constraints
from palmette.structures.chain.data import Collected, allow_table, encode_corpus
from palmette.structures.chain.label_context import drop_unmoved_past
from palmette.structures.chain.model import ChainModel, check_columns, check_room
from palmette.structures.chain.prune import some_names
from palmette.structures.chain.search import check_searchable
from palmette.structures.chain.weights import Shape, forget_forbidden
from palmette.structures.stored_features import Names
from palmette.training.chain.beam import check_beam, for_beam
from palmette.training.chain.exact import Dev
from palmette.training.chain.request import TrainingData, TrainRequest
from palmette.training.chain.restarts import train
from palmette.training.result import TrainResult

LARGE = 2 << 30  # bytes of weights that are worth a warning
SAME_COLUMNS = "it needs the columns of the data that training began with"


def fit_chain(corpus: Corpus, dev: Corpus | None, wish: TrainRequest) -> tuple[ChainModel, TrainResult]:
    """Train a chain on a labelled corpus."""
    check_labelled(corpus, "training")
    old = wish.resume
    if old is not None:
        check_columns(corpus, old.encoder, SAME_COLUMNS)
    settings = with_beam(wish.settings)
    understand_labels(corpus, settings.partial)
    labels = _labels(corpus, old)
    known = training_mask(corpus, labels)
    if settings.learner == "maxent":
        check_given(known, corpus, len(labels))
    before = None if old is None else old.scheme
    scheme, allowed = constraints(labels, known.rows, corpus, settings.constraints, _forbidden(wish), before)
    encoder = _encoder(wish)
    check_searchable(encoder, settings.search)
    shape = _shape(labels, encoder, wish)
    check_room(corpus.offset, shape, encoder)
    collected = Collected(corpus, encoder, old.alphabets if old else None, settings.min_count, settings.max_attributes)
    data = collected.data(known.rows, allow_table(len(labels), known.sets))
    _tell_size(collected, shape, wish)
    _tell_partial(known, len(labels), wish)
    on_dev = held_out(dev, encoder, collected.alphabets, labels, wish)
    problem = TrainingData(collected, data, shape, allowed, labels, on_dev, wish)
    if settings.search == "beam":
        check_beam(problem)
        wish = replace(wish, settings=settings)
        problem = problem._replace(dev=for_beam(on_dev, dev, settings, collected), wish=wish)
    trained = train(problem)
    outcome, settings = trained.outcome, trained.settings
    if trained.infeasible >= corpus.n_sentences:
        steps = settings.learner in LIKELIHOOD and not is_batch(settings)
        raise DataError(
            "nothing can be learnt: no sentence has a path that fits both what is known of its labels and what is "
            "allowed" + (", or the steps were so large that no number can hold the scores" if steps else ""),
            file=corpus.source,
            hint="choose a smaller --rate, or see --constraints and --forbid" if steps
            else "see --constraints and --forbid",
        )  # fmt: skip
    if trained.infeasible:
        wish.say(
            f"warning: {trained.infeasible:,} sentences taught nothing: no path fits both what is known of their "
            "labels and what is allowed; see --constraints and --forbid"
        )
    chain, past = outcome.best if settings.search == "beam" else (outcome.best, None)
    _check_weights(chain, data, corpus)
    if shape.history is not None:
        forget_forbidden(chain)
    model = ChainModel(
        labels, shape, allowed, scheme, encoder, collected.alphabets, chain, {}, _vocabulary(corpus, old),
        dict(old.bias) if old else {}, past=past, beam=settings.beam or 0,
    )  # fmt: skip
    model.meta = {
        "settings": msgspec.to_builtins(settings),
        "forbidden": _forbidden(wish),
        "history": msgspec.to_builtins(outcome.training_log),
        "best_pass": outcome.best_epoch,
        "ended": outcome.ended,
    }
    if wish.checkpoint and outcome.interrupted:
        wish.say("no checkpoint is kept: training was interrupted in the middle of a pass")
    elif wish.checkpoint:
        model.checkpoint = trained.state()
    if settings.tune_bias:
        model.bias = tuned_bias(model, on_dev, wish)
    if not model.checkpoint:
        model.chain = collected.drop_unmoved(model.chain)
        if model.past is not None:
            model.past = drop_unmoved_past(collected, model.past)
        model.alphabets = collected.alphabets
    model.names = attribute_names(collected, old) if wish.names else {}
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


def _forbidden(wish: TrainRequest) -> list[tuple[str, str]]:
    """The user's list; a training that goes on keeps that of before."""
    before = [] if wish.resume is None else wish.resume.meta.get("forbidden", [])
    return list(dict.fromkeys((str(a), str(b)) for a, b in (*before, *wish.forbidden)))


def _encoder(wish: TrainRequest) -> Encoder | None:
    if wish.resume is not None:
        return wish.resume.encoder
    return None if wish.templates is None else Encoder(wish.templates, wish.resources)


def _shape(labels: list[str], encoder: Encoder | None, wish: TrainRequest) -> Shape:
    n_labels = len(labels)
    if wish.resume is not None:
        old = wish.resume.shape
        if old.history is not None and n_labels > old.n_labels:
            raise DataError(
                f"the states of the model remember its labels, and {labels[old.n_labels]!r} is a new one",
                hint="train anew on all the data",
            )
        more = (1,) * (n_labels - old.n_labels) if old.states else ()
        return old._replace(n_labels=n_labels, states=old.states + more)
    history = _history(labels, wish)
    latent = wish.settings.latent if history is None else dict(zip(labels, history.counts, strict=True))
    per, states = _latent_states(latent, labels)
    local = wish.settings.learner == "maxent"
    if encoder is None:
        return Shape(n_labels, wish.order, wish.ends, wish.order >= 1, wish.order >= 2, per, states, history, local)
    order = encoder.templates.order
    return Shape(n_labels, order, wish.ends, encoder.is_bare(2), encoder.is_bare(3), per, states, history, local)


def _history(labels: list[str], wish: TrainRequest) -> LabelAutomaton | None:
    """What states are to remember of the labels before them."""
    name = wish.settings.label_history
    if wish.history is not None:
        return make_automaton(labels, wish.history, MOST_STATES)
    if name is None:
        return None
    check_name(name, labels)
    return make_automaton(labels, name, MOST_STATES)


def _latent_states(latent: int | dict[str, int], labels: list[str]) -> tuple[int, tuple[int, ...]]:
    """Room for states in every label, and how many each has where that differs."""
    if isinstance(latent, int):
        return latent, ()
    strange = [label for label in latent if label not in labels]
    if strange:
        raise UsageError(f"latent: no label {strange[0]!r} in the training data, which has {', '.join(labels[:20])}")
    states = tuple(latent.get(label, 1) for label in labels)
    return max(states), () if len(set(states)) == 1 else states


def _tell_size(collected: Collected, shape: Shape, wish: TrainRequest) -> None:
    """How many weights there can be, and a warning where they are many."""
    sizes = collected.sizes
    dense = {k: n * shape.n_states**k for k, n in sizes.items() if k != PAST}
    if wish.settings.edge_features == "seen":
        dense = {k: n for k, n in dense.items() if k == 1}
    total = sum(dense.values())
    found = sum(collected.found.values())
    kept = f" of {found:,}" if found != sum(sizes.values()) else ""
    wish.say(
        f"{collected.corpus.n_sentences:,} sentences, {collected.corpus.n_tokens:,} tokens, {shape.n_labels} labels, "
        + (f"{int((~shape.missing()).sum())} states, " if shape.per > 1 else "")
        + f"{sum(sizes.values()):,}{kept} attributes, order {shape.order}, up to {total:,} weights"
        + (" and those of earlier labels as they come" if PAST in sizes else "")
    )
    if not sum(sizes.values()):
        wish.say("warning: there is no attribute, so only label sequences are learnt; see --template and --min-count")
    if total * 12 > LARGE:
        wish.say(
            f"warning: if every weight moves, they take {total * 12 / 2**30:.1f} GB; "
            "--edge-features seen, --min-count 2 or --max-attributes make them fewer"
        )


def _tell_partial(known: LabelMask, n_labels: int, wish: TrainRequest) -> None:
    unsure = int(np.count_nonzero(known.rows >= n_labels))
    if unsure:
        wish.say(f"{unsure:,} of {known.rows.size:,} tokens have a label that is not fully known")


def held_out(
    dev: Corpus | None,
    encoder: Encoder | None,
    alphabets: dict[int, FeatureIndex],
    labels: list[str],
    wish: TrainRequest,
) -> Dev | None:
    """Development data as a model with these attributes and labels sees it."""
    if dev is None:
        if wish.settings.patience is not None or wish.settings.tune_bias:
            raise UsageError("--patience and --tune-bias need development data: --dev FILE or --dev-share 0.1")
        return None
    check_labelled(dev, "development")
    check_columns(dev, encoder, SAME_COLUMNS)
    understand_labels(dev, wish.settings.partial)
    names = labels + [label for label in label_names(dev) if label not in set(labels)]
    if len(names) > len(labels):
        wish.say(f"labels that only the development data has count as errors: {', '.join(names[len(labels) :][:10])}")
    gold, sure = certain_labels(dev, names)
    if sure is not None and not sure.any():
        raise DataError("no label of the development data is fully known", file=dev.source)
    free = np.full(dev.n_tokens, len(labels), np.int32)
    data = encode_corpus(dev, encoder, alphabets, free, allow_table(len(labels)))
    metric, spans = wish.settings.metric, are_chunk_labels(names)
    if metric == "f1" and not spans:
        raise UsageError("the metric f1 scores spans, and the labels are none (B-X, I-X, O): choose accuracy")
    if metric == "auto":
        metric = "f1" if spans else "accuracy"
    return Dev(data, gold, names, metric, sure)


def attribute_names(collected: Collected, old: ChainModel | None) -> dict[int, Names]:
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


def tuned_bias(model: ChainModel, dev: Dev | None, wish: TrainRequest) -> dict[str, float]:
    """The number to add to the outside label's score that gives the best F on dev, by trying a grid."""
    assert dev is not None
    if "O" not in model.labels:
        raise UsageError("--tune-bias trades precision for recall of spans, and there is no label O")
    weights = model.chain.one.w
    some = np.abs(weights[(weights != 0) & np.isfinite(weights)])
    scale = float(some.mean()) if some.size else 1.0
    figures = {0.0: dev.figure(model.with_bias({}))}
    for step in (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0):
        for value in (-step * scale, step * scale):
            figures[value] = dev.figure(model.with_bias({"O": value}))
    best = max(figures, key=lambda value: (figures[value], -abs(value)))
    wish.say(f"bias O={best:.4g}: {dev.metric} {figures[best]:.4f} on dev, {figures[0.0]:.4f} without")
    return {"O": best} if best else {}
