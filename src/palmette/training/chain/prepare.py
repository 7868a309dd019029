"""From a labelled corpus to the arrays of a training: labels, constraints, attributes, and the shape of the weights."""

from __future__ import annotations

import logging

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.automaton import LabelAutomaton, check_name, make_automaton
from palmette.data.labels.mask import check_fully_known, label_names, settle_partial, training_mask
from palmette.data.labels.schemes import scheme_shown
from palmette.errors import DataError, counted, either
from palmette.features.encode import Encoder
from palmette.features.templates import LABEL_CONTEXT
from palmette.options.chain import MOST_STATES, ChainSettings, LabelHistory, Latent, TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.learners import Auto, MaxEnt
from palmette.options.spelling import named, spelt
from palmette.structures.chain.constraints import constraints, settle_scheme
from palmette.structures.chain.data import Collected, allow_table
from palmette.structures.chain.model import ChainModel, check_columns, check_memory
from palmette.structures.chain.search import BeamSearch, check_searchable
from palmette.structures.chain.weights import Shape
from palmette.training.chain.beam import check_beam
from palmette.training.chain.dev import SAME_COLUMNS, check_labelled, for_beam, held_out
from palmette.training.chain.request import TrainingData, TrainRequest
from palmette.training.chain.start import ROWS, label_storage

logger = logging.getLogger(__name__)
LARGE = 2 << 30  # bytes of weights from which a warning is logged


def prepare(corpus: Corpus, dev: Corpus | None, request: TrainRequest) -> tuple[TrainingData, str | None]:
    """The arrays of a corpus, and the name of its tag scheme, if any."""
    check_labelled(corpus, "training")
    settings, old = request.settings.resolved(), request.resume
    if old is not None:
        check_columns(corpus, old.encoder, SAME_COLUMNS)
        settings = settings.replace(unicode=old.settings.unicode)
    possible = "partial" not in settings.chosen_learner.unused
    asked = old.settings.partial if old is not None and settings.partial is None else settings.partial
    settings = settings.replace(partial=settle_partial(corpus, asked, possible, () if old is None else old.labels))
    before = ((), None) if old is None else (old.labels, old.scheme)
    corpus, scheme = settle_scheme(corpus, settings.constraints, *before)
    labels = labels_of(corpus, old)
    settings = with_learner(settings, corpus, old, len(labels)).with_batch_size_for(corpus.n_sentences)
    known = training_mask(corpus, labels)
    if isinstance(settings.learner, MaxEnt):
        check_fully_known(known, corpus, len(labels))
    allowed = constraints(labels, known.rows, corpus, scheme, settings.constraints, forbidden_pairs(request))
    encoder = encoder_of(request)
    check_searchable(encoder, settings.search.kind)  # type: ignore[union-attr]
    shape = shape_of(labels, encoder, request)
    check_memory(corpus.offset, shape, encoder)
    collected = Collected(
        corpus, encoder, old.feature_indexes if old else None, settings.min_count, settings.max_attributes
    )
    data = collected.data(known.rows, allow_table(len(labels), known.sets))
    report_size(collected, shape, settings, labels_shown(labels, scheme))
    report_partial(int(np.count_nonzero(known.rows >= len(labels))), known.rows.size)
    on_dev = held_out(dev, encoder, collected.feature_indexes, labels, settings, scheme, request.n_threads)
    problem = TrainingData(collected, data, shape, allowed, labels, on_dev, settings, request, scheme)
    if settings.beam is not None:
        check_beam(data.known, corpus, len(labels))
        beam = BeamSearch(settings.beam.width, bool(settings.beam.recombine))
        problem = problem._replace(dev=for_beam(on_dev, dev, beam, collected))
    return problem, scheme


def with_learner(settings: ChainSettings, corpus: Corpus, old: ChainModel | None, n_labels: int) -> ChainSettings:
    """The settings with a learner in place of `auto`: that of the model to resume, else the rule's, which is logged."""
    if not isinstance(settings.learner, Auto):
        return settings
    if old is not None and not isinstance(old.settings.learner, Auto):
        return settings.replace(learner=old.settings.chosen_learner.without_limit())
    chosen = settings.with_learner_for(n_labels, corpus.attributes is not None and corpus.attributes.val.size > 0)
    learner = chosen.chosen_learner
    options = "".join(f" --{name} {value}" for name, value in learner.changed().items())
    logger.info(f"no learner was chosen: using `{either(repr(learner), f'--learner {learner.kind}{options}')}`")
    return chosen


def labels_of(corpus: Corpus, old: ChainModel | None) -> list[str]:
    """The labels of the model to resume, then those of the corpus."""
    assert corpus.labels is not None
    labels = list(old.labels) if old else []
    labels += [label for label in label_names(corpus) if label not in set(labels)]
    if not labels:
        raise DataError("no label is known", file=corpus.source, hint="`?` stands for any label: annotate some tokens")
    if "" in labels:
        token = int(np.argmax(corpus.labels.ids == corpus.labels.types.index("")))
        raise DataError("the label is empty", file=corpus.source, line=corpus.line_of(token))
    if len(labels) > 32000:
        raise DataError(
            f"{len(labels)} different labels",
            file=corpus.source,
            hint=f"is the label column the right one? see {named(FormatSpec, 'label')}",
        )
    return labels


def forbidden_pairs(request: TrainRequest) -> list[tuple[str, str]]:
    """Label pairs that the user forbids; a resumed training keeps those of the model."""
    before = [] if request.resume is None else request.resume.meta.get("forbidden", [])
    return list(dict.fromkeys((str(a), str(b)) for a, b in (*before, *request.forbidden)))


def encoder_of(request: TrainRequest) -> Encoder | None:
    """What encodes columns; None for data with attributes."""
    if request.resume is not None:
        return request.resume.encoder
    return (
        None if request.templates is None else Encoder(request.templates, request.resources, request.settings.unicode)
    )


def shape_of(labels: list[str], encoder: Encoder | None, request: TrainRequest) -> Shape:
    """The order and the states of a model with these labels."""
    n_labels = len(labels)
    if request.resume is not None:
        old = request.resume.shape
        if old.history is not None and n_labels > old.n_labels:
            raise DataError(
                f"a model with label histories cannot get new labels, and {labels[old.n_labels]!r} is one",
                hint="train a new model on all data",
            )
        more = (1,) * (n_labels - old.n_labels) if old.states else ()
        return old._replace(n_labels=n_labels, states=old.states + more)
    history = _history(labels, request)
    own = request.settings.states
    hidden = own.states if isinstance(own, Latent) else 1
    states_per_label, states = _latent_states(
        hidden if history is None else dict(zip(labels, history.counts, strict=True)), labels
    )
    local = isinstance(request.settings.learner, MaxEnt)
    if encoder is None:
        return Shape(
            n_labels,
            request.order,
            request.ends,
            request.order >= 1,
            request.order >= 2,
            states_per_label,
            states,
            history,
            local,
        )
    order = encoder.templates.order
    return Shape(
        n_labels, order, request.ends, encoder.is_bare(2), encoder.is_bare(3), states_per_label, states, history, local
    )


def _history(labels: list[str], request: TrainRequest) -> LabelAutomaton | None:
    """The automaton of earlier labels that the states encode, if any."""
    states = request.settings.states
    if not isinstance(states, LabelHistory):
        return None
    if not callable(states.memory):
        check_name(states.memory, labels)
    return make_automaton(labels, states.memory, MOST_STATES)


def _latent_states(latent: int | dict[str, int], labels: list[str]) -> tuple[int, tuple[int, ...]]:
    """The largest number of states per label, and the number of each label if they differ."""
    if isinstance(latent, int):
        return latent, ()
    strange = [label for label in latent if label not in labels]
    if strange:
        raise OptionError(
            "states", f"no label {strange[0]!r} in the training data, which has {', '.join(labels[:20])}", "latent"
        )
    states = tuple(latent.get(label, 1) for label in labels)
    return max(states), () if len(set(states)) == 1 else states


def labels_shown(labels: list[str], scheme: str | None) -> str:
    """The number of labels and their tag scheme."""
    return counted(len(labels), "label") + ("" if scheme is None else f" ({scheme_shown(labels, scheme)})")


def report_size(collected: Collected, shape: Shape, settings: ChainSettings, labels: str) -> None:
    """Report the size of the data and the number of weights, with a warning if they need much memory."""
    sizes = collected.sizes
    every = {k: n * shape.n_states**k for k, n in sizes.items() if k != LABEL_CONTEXT}
    total = sum(n for k, n in every.items() if not settings.only_seen(k))
    dense = total if label_storage(settings, shape) == ROWS else total - every.get(1, 0) * (not settings.only_seen(1))
    found = sum(collected.found.values())
    kept = counted(found, "attribute")
    if found != sum(sizes.values()):
        kept = f"{sum(sizes.values()):,} of {kept}"
    logger.info(
        f"{counted(collected.corpus.n_sentences, 'sentence')}, {counted(collected.corpus.n_tokens, 'token')}, "
        f"{labels}, "
        + (f"{counted(int((~shape.missing()).sum()), 'state')}, " if shape.states_per_label > 1 else "")
        + f"{kept}, order {shape.order}, up to {counted(total, 'weight')}"
        + (" and those of earlier labels as they come" if LABEL_CONTEXT in sizes else "")
    )
    if not sum(sizes.values()):
        see = f"{named(TaggerOptions, 'template')} and {named(TaggerOptions, 'min_count')}"
        logger.warning("there are no attributes: only label sequences are learnt; see %s", see)
    if dense * 12 > LARGE:
        logger.warning(
            f"the weights may take {dense * 12 / 2**30:.1f} GB; {spelt(TaggerOptions, 'edge_features', 'seen')}, "
            f"{spelt(TaggerOptions, 'state_features', 'seen')}, {spelt(TaggerOptions, 'min_count', 2)} or "
            f"{named(TaggerOptions, 'max_attributes')} reduce their number"
        )


def report_partial(unsure: int, tokens: int) -> None:
    """Report how many labels are not fully known."""
    if unsure:
        logger.info(f"{unsure:,} of {counted(tokens, 'token')} have a label that is not fully known")
