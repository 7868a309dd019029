"""Which templates a training uses: a named set, a file, or none for data with attributes; checked against the data."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.columns import separator_hint
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.schemes import are_chunk_labels
from palmette.errors import DataError, UsageError, either
from palmette.features.lint import check_columns, lint
from palmette.features.named import named_set
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet, read_templates
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import named, spelt
from palmette.training.chain.request import Features, TrainRequest
from palmette.training.checks import warn_of_strange_corpus

logger = logging.getLogger(__name__)
OUTSIDE, MOST_OUTSIDE = "O", 0.5  # the share of tokens outside of all spans up to which these are chunks
_CURE = {0: "drop B and T lines", 1: "have a line `B` and none with T", 2: "add a line `T`"}


def chosen(request: TrainRequest, corpus: Corpus, *, warn: bool = True) -> TrainRequest:
    """The request with the templates that its wishes and the data choose. warn: log what looks wrong in the data."""
    if request.resume is not None:
        return request
    wished = request.templates
    if not isinstance(wished, Features):
        return request
    templates = choose_templates(*wished, corpus, request.resources)
    if warn:
        warn_of_strange_corpus(corpus, templates, bool(request.settings.partial))
    name = None if templates is None or wished.template is not None else templates.name
    return replace(request, templates=templates, features=name)


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
