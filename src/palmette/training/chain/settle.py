"""What is decided before a corpus is encoded: templates, labels, tag scheme, learner, batches, constraints, and how the
weights look.

A `Survey` is what is known of the data by then. Scales of training have their own; see scale.py.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.columns import separator_hint
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.automaton import LabelAutomaton, check_name, make_automaton
from palmette.data.labels.mask import LabelMask, check_fully_known, label_names, settle_partial, training_mask
from palmette.data.labels.schemes import Transitions, are_chunk_labels, scheme_shown
from palmette.errors import DataError, UsageError, counted, either
from palmette.features.encode import Encoder
from palmette.features.lint import check_columns, lint
from palmette.features.named import named_set
from palmette.features.resources import Resources
from palmette.features.templates import LABEL_CONTEXT, TemplateSet, read_templates
from palmette.options.chain import MOST_STATES, ChainSettings, LabelHistory, Latent, TaggerOptions
from palmette.options.declare import OptionError, Options
from palmette.options.learners import Auto, HiddenMarkov, MaxEnt
from palmette.options.spelling import named, spelt
from palmette.structures.chain.constraints import constraints, settle_scheme
from palmette.structures.chain.data import Collected, allow_table
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.search import check_searchable
from palmette.structures.chain.weights import Shape
from palmette.training.chain.learning import check_beam
from palmette.training.chain.request import Features, Plan, TrainRequest
from palmette.training.chain.start import ROWS, label_storage
from palmette.training.checks import warn_of_same_labels, warn_of_strange_corpus

logger = logging.getLogger(__name__)
LARGE = 2 << 30  # bytes of weights from which a warning is logged
# What scales refuse besides options, and the option that messages name
HMM, LABEL_TEMPLATES, SEVERAL, SUMMED_SHARDS = "hmm", "%y", "several estimators", "shards by lbfgs"
OPTION_OF = {HMM: "learner", LABEL_TEMPLATES: "template", SEVERAL: "estimator", SUMMED_SHARDS: "shards"}


class Survey:
    """What is known of the data before it is encoded; this one is of a corpus in memory, which is its own survey."""

    in_batches = True  # whether sentences are learnt from in batches unless the user decides

    def __init__(self, labelled: Corpus, request: TrainRequest) -> None:
        self.labelled = labelled  # the labels of the data, or sentences that show all pairs of them
        self.request = request  # with the templates chosen
        self.encoder = request.encoder()

    @property
    def offset(self) -> np.ndarray:
        """Sentence offsets i64[S+1] of the data."""
        return self.labelled.offset

    @property
    def valued(self) -> bool:
        """Whether ready-made attributes have values."""
        given = self.labelled.attributes
        return given is not None and given.val.size > 0

    def partial(self, settings: ChainSettings) -> bool | None:
        """Decide whether labels are partly known, and mark those that are."""
        old, possible = self.request.resume, "partial" not in settings.chosen_learner.unused
        asked = old.settings.partial if old is not None and settings.partial is None else settings.partial
        return settle_partial(self.labelled, asked, possible, () if old is None else old.labels)

    def scheme(self, settings: ChainSettings) -> str | None:
        """The tag scheme; rare labels that violate it are repaired."""
        old = self.request.resume
        before = ((), None) if old is None else (old.labels, old.scheme)
        self.labelled, scheme = settle_scheme(self.labelled, str(settings.constraints), *before)
        return scheme

    def allowed(self, labels: list[str], known: LabelMask, scheme: str | None, settings: ChainSettings) -> Transitions:
        """Which labels may follow each other."""
        forbidden = forbidden_pairs(self.request)
        return constraints(labels, known.rows, self.labelled, scheme, str(settings.constraints), forbidden)


def settle(survey: Survey, refuses: Mapping[str, str]) -> Plan:
    """Decide everything that the training of a chain decides by its data."""
    request, encoder = survey.request, survey.encoder
    settings, old = request.settings.resolved(), request.resume
    if old is not None:
        settings = settings.replace(unicode=old.settings.unicode)
    settings = settings.replace(partial=survey.partial(settings))
    scheme = survey.scheme(settings)
    labels = labels_of(survey.labelled, old)
    if old is None and not request.is_sample:
        warn_of_same_labels(labels)
    settings = with_learner(settings, survey, len(labels))
    if survey.in_batches:
        settings = settings.with_batch_size_for(survey.offset.size - 1)
    known = training_mask(survey.labelled, labels)
    if isinstance(settings.learner, MaxEnt):
        check_fully_known(known, survey.labelled, len(labels))
    if settings.beam is not None:
        check_beam(known.rows, survey.labelled, len(labels))
    allowed = survey.allowed(labels, known, scheme, settings)
    check_searchable(encoder, settings.search.kind)  # type: ignore[union-attr]
    if encoder is not None and LABEL_CONTEXT in encoder.programs:
        refuse((LABEL_TEMPLATES,), refuses)
    shape = shape_of(labels, encoder, request)
    check_memory(survey.offset, shape, encoder)
    allow = allow_table(len(labels), known.sets)
    return Plan(labels, scheme, allowed, shape, settings, encoder, known.rows, allow, request)


def asked(request: TrainRequest, has_dev: bool) -> Iterator[str]:
    """The names of everything that a request asks for, besides what all scales do."""
    settings = request.settings
    yield from settings.changed()
    for part in (settings.learner, settings.search, settings.states):
        if isinstance(part, Options):
            yield from part.changed()
    if isinstance(settings.learner, HiddenMarkov):
        yield HMM
    elif has_dev and len(settings.estimators_to_try(has_dev)) > 1:
        yield SEVERAL
    if settings.shards > 1 and settings.chosen_learner.full_batch:
        yield SUMMED_SHARDS
    if request.out_of_core:
        yield "out_of_core"
    if request.dev_share and not has_dev:
        yield "dev_share"
    if request.resume is not None:
        yield "resume"
    if request.checkpoint:
        yield "checkpoint"


def refusal(names: Iterator[str] | tuple[str, ...], refuses: Mapping[str, str]) -> OptionError | None:
    """The error for the first of the names that a scale refuses."""
    name = next((name for name in names if name in refuses), None)
    return None if name is None else OptionError(OPTION_OF.get(name, name), refuses[name])


def refuse(names: Iterator[str] | tuple[str, ...], refuses: Mapping[str, str]) -> None:
    """OptionError if a scale refuses one of the names."""
    error = refusal(names, refuses)
    if error is not None:
        raise error


def with_learner(settings: ChainSettings, survey: Survey, n_labels: int) -> ChainSettings:
    """The settings with a learner in place of `auto`: that of the model to resume, else the rule's, which is logged."""
    old = survey.request.resume
    if not isinstance(settings.learner, Auto):
        return settings
    if old is not None and not isinstance(old.settings.learner, Auto):
        return settings.replace(learner=old.settings.chosen_learner.without_limit())
    chosen = settings.with_learner_for(n_labels, survey.valued)
    learner = chosen.chosen_learner
    flags = type(learner).__options__
    options = "".join(f" --{flags[name].flag_name} {value}" for name, value in learner.changed().items())
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


def report_size(collected: Collected, plan: Plan) -> None:
    """Report the size of the data and the number of weights, with a warning if they need much memory."""
    shape, settings, labels = plan.shape, plan.settings, labels_shown(plan.labels, plan.scheme)
    sizes = collected.sizes
    every = {k: n * shape.n_states**k for k, n in sizes.items() if k != LABEL_CONTEXT}
    total = sum(n for k, n in every.items() if not settings.only_seen(k))
    in_rows = label_storage(settings, shape, sizes.get(1, 0)) == ROWS
    dense = total if in_rows else total - every.get(1, 0) * (not settings.only_seen(1))
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


# Which templates a training uses: a named set, a file, or none for data with attributes; checked against the data.

OUTSIDE, MOST_OUTSIDE = "O", 0.5  # the share of tokens outside of all spans up to which these are chunks
_CURE = {0: "drop B and T lines", 1: "have a line `B` and none with T", 2: "add a line `T`"}


def chosen(request: TrainRequest, corpus: Corpus, *, warn: bool = True) -> TrainRequest:
    """The request with the templates that its wishes and the data choose. warn: log what looks wrong in the data."""
    if request.resume is not None:
        return request
    wished = request.templates
    if not isinstance(wished, Features):
        return request
    if wished.order is None and wished.template is None:
        order = _order(request.settings, corpus)
        wished, request = wished._replace(order=order), replace(request, order=order)
    templates = choose_templates(*wished, corpus, request.resources)
    if warn:
        warn_of_strange_corpus(corpus, templates, bool(request.settings.partial))
    name = None if templates is None or wished.template is not None else templates.name
    return replace(request, templates=templates, features=name)


def _order(settings: ChainSettings, corpus: Corpus) -> int:
    """The order for a labelled corpus that is left open."""
    valued = corpus.attributes is not None and corpus.attributes.val.size > 0
    return settings.order_for(len(label_names(corpus)), valued)


def choose_templates(
    features: str | None,
    template: FilePath | TemplateSet | None,
    order: int | None,
    corpus: Corpus,
    resources: Resources,
) -> TemplateSet | None:
    """The templates for a labelled corpus; None for data with attributes."""
    if features is not None and template is not None:
        raise UsageError("give a named set (features) or a template file (template), not both")
    if order not in (None, 0, 1, 2):
        raise UsageError(
            f"the order must be 0, 1 or 2, not {order!r}; with a beam templates may read earlier labels: %y[-3]"
        )
    if corpus.attributes is not None:
        if features is not None or template is not None or resources.lexicons or resources.clusters:
            raise UsageError(
                "the data has attributes already: templates, named sets, lexicons and clusters do not apply"
            )
        return None
    if not corpus.columns:
        raise DataError(
            "there is no column other than the label", file=corpus.source, line=corpus.line_of(0),
            hint=separator_hint(corpus) or f"a line needs a word and a label; see {named(FormatSpec, 'label')}, "
            f"{named(FormatSpec, 'columns')} and {named(FormatSpec, 'separator')}",
        )  # fmt: skip
    _warn_of_label_columns(corpus)
    if template is None:
        return _named(features, order, corpus, resources)
    templates = template if isinstance(template, TemplateSet) else read_templates(template)
    if order is not None and order != templates.order:
        raise UsageError(
            f"{spelt(TaggerOptions, 'order', order)} conflicts with the templates, which make an order "
            f"{templates.order} model: {_CURE[order]}, or leave {named(TaggerOptions, 'order')} out"
        )
    check_columns(templates, len(corpus.columns), templates.name)
    for warning in lint(templates):
        logger.info(f"{templates.name}:{warning.line}: {warning.message}")
    _warn_of_idle_resources(templates, resources)
    return templates


def _named(name: str | None, order: int | None, corpus: Corpus, resources: Resources) -> TemplateSet:
    n_columns = len(corpus.columns)
    if name is None:
        name, n_columns = _chosen(corpus)
        every = len(corpus.columns)
        see = either("", f" (see `palmette features {name}`)")
        unread = "" if n_columns == every else f", which reads {n_columns} of {every} columns"
        logger.info(f"no features were chosen: using the named set `{name}`{unread}{see}")
    return named_set(name, 1 if order is None else order, n_columns, resources)


def _chosen(corpus: Corpus) -> tuple[str, int]:
    """The named set for a labelled corpus, and the number of columns that it reads: `pos` for labels that are no spans;
    for spans `chunk` if most tokens are in one and there is a second column, and otherwise `ner`."""
    labels, n_columns = corpus.labels, min(2, len(corpus.columns))
    assert labels is not None
    if not are_chunk_labels(labels.types):
        return "pos", 1
    outside = OUTSIDE in labels.types and float(np.mean(labels.ids == labels.types.index(OUTSIDE)))
    return "ner" if n_columns < 2 or outside > MOST_OUTSIDE else "chunk", n_columns


def _warn_of_label_columns(corpus: Corpus) -> None:
    """Warn of columns that repeat the label: they give a perfect training score and a useless model."""
    labels = corpus.labels
    assert labels is not None
    for k, column in enumerate(corpus.columns):
        if len(labels.types) > 1 and (column.ids == labels.ids).all() and column.types == labels.types:
            logger.warning(f"feature column {k} is the label itself; see {named(FormatSpec, 'columns')}")


def _warn_of_idle_resources(templates: TemplateSet, resources: Resources) -> None:
    used = " ".join(macro.atom for template in templates.templates for macro in template.macros)
    for kind, names in (("lexicon", resources.lexicons), ("cluster", resources.clusters)):
        for name in names:
            if f"{kind}:{name}" not in used:
                see = either("docs/templates.md", "`palmette features --atoms`")
                logger.warning(f"no template uses %x[0,0,{kind}:{name}]; see {see}")
