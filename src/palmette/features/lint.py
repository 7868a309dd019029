"""A linter for templates: duplicates, redundant templates, and missing ones.

`lint` returns warnings, which do not stop a training: every set is legal. `check_columns` raises, because a
template that reads a column that the data lack cannot be evaluated.

The advice on missing templates is the "smoothing" of feature sets: a rare context should be able to fall back
on the more frequent ones inside it, so for each template there should be those with one cell less, and for each
template on label pairs or triples the same context on the shorter label n-gram.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from palmette.errors import TemplateError
from palmette.features.templates import Macro, Template, TemplateSet, macro_text

_NGRAMS = {1: "labels", 2: "label pairs", 3: "label triples"}

# The content of a template: the cells in any order, and one of its label n-grams
_Context = tuple[frozenset[Macro], int]


class LintWarning(msgspec.Struct, frozen=True):
    """kind: duplicate, redundant, shared, repeated, bias or missing; line: that of the template, from 1."""

    line: int
    kind: str
    message: str


def lint(templates: TemplateSet, n_columns: int | None = None) -> list[LintWarning]:
    """Warnings in the order of the lines; TemplateError if a column does not exist."""
    if n_columns is not None:
        check_columns(templates, n_columns, templates.name)
    observing = tuple(template for template in templates.templates if not template.earlier_labels)
    found = [
        *_doubles(observing),
        *_label_context_doubles(templates.label_contexts),
        *_shared(observing),
        *_repeated(templates.templates),
        *_bias(observing),
        *_missing(observing, templates.syntax),
    ]
    return sorted(found, key=lambda warning: warning.line)


def check_columns(templates: TemplateSet, n_columns: int, file: str | None = None) -> None:
    """Raise when a macro reads a column beyond the feature columns 0 .. n_columns - 1."""
    for template in templates.templates:
        for macro in template.macros:
            if macro.column >= n_columns:
                columns = f"columns 0 to {n_columns - 1}" if n_columns > 1 else "column 0 only"
                raise TemplateError(
                    f"column {macro.column} does not exist: `{template.text}`",
                    file=file or templates.name,
                    line=template.line,
                    hint=f"the data have feature {columns}; the label column is not available to templates",
                )


def _doubles(templates: tuple[Template, ...]) -> Iterator[LintWarning]:
    """Templates equivalent to an earlier one: with the same text, or under another name."""
    texts: dict[str, int] = {}
    contexts: dict[_Context, Template] = {}
    for template in templates:
        if template.text in texts:
            message = f"`{template.text}` is on line {texts[template.text]} already: its attributes count twice"
            yield LintWarning(template.line, "duplicate", message)
            continue
        texts[template.text] = template.line
        cells = frozenset(template.macros)
        earlier = [contexts[cells, order] for order in template.orders if (cells, order) in contexts]
        # Two constant U are reported by _bias.
        if earlier and (template.macros or template.orders != (1,)):
            orders = sorted(set(template.orders) & {order for other in earlier for order in other.orders})
            ngrams = " and ".join(_NGRAMS[order] for order in orders)
            message = f"`{template.text}` repeats `{earlier[0].text}` (line {earlier[0].line}) on {ngrams}"
            yield LintWarning(template.line, "redundant", message)
        for order in template.orders:
            contexts.setdefault((cells, order), template)


def _label_context_doubles(templates: tuple[Template, ...]) -> Iterator[LintWarning]:
    """Templates that read the same earlier labels and the same cells as one before."""
    contexts: dict[tuple[frozenset[int], frozenset[Macro]], Template] = {}
    for template in templates:
        earlier = contexts.setdefault((frozenset(template.earlier_labels), frozenset(template.macros)), template)
        if earlier is not template:
            kind = "duplicate" if earlier.text == template.text else "redundant"
            yield LintWarning(template.line, kind, f"`{template.text}` repeats `{earlier.text}` (line {earlier.line})")
        if len(set(template.earlier_labels)) < len(template.earlier_labels):
            yield LintWarning(
                template.line, "repeated", f"`{template.text}` has the same label twice, which adds nothing"
            )


def _shared(templates: tuple[Template, ...]) -> Iterator[LintWarning]:
    """Equal text around different cells: equal strings, hence one weight for words at different positions."""
    first: dict[tuple[str, ...], Template] = {}
    for template in templates:
        other = first.setdefault(template.literals, template)
        if template.macros and other.macros != template.macros:
            message = (
                f"`{template.text}` shares its weights with `{other.text}` (line {other.line}); "
                "give it its own name unless a bag of words is meant"
            )
            yield LintWarning(template.line, "shared", message)


def _repeated(templates: tuple[Template, ...]) -> Iterator[LintWarning]:
    for template in templates:
        if len(set(template.macros)) < len(template.macros):
            message = f"`{template.text}` has the same cell twice, which adds nothing"
            yield LintWarning(template.line, "repeated", message)


def _bias(templates: tuple[Template, ...]) -> Iterator[LintWarning]:
    constant = [template for template in templates if template.orders == (1,) and not template.macros]
    if constant:
        more = f"; {len(constant)} lines do so, one is enough" if len(constant) > 1 else ""
        message = f"`{constant[0].text}` has no macro: it fires on every token, a bias for each label{more}"
        yield LintWarning(constant[0].line, "bias", message)


def _missing(templates: tuple[Template, ...], syntax: str) -> Iterator[LintWarning]:
    present = {(frozenset(template.macros), order) for template in templates for order in template.orders}
    reported: set[_Context] = set()
    for template in templates:
        absent = [
            smaller
            for order in template.orders
            for smaller in _smaller(frozenset(template.macros), order)
            if smaller not in present and smaller not in reported
        ]
        if absent:
            reported.update(absent)
            listed = ", ".join(_shown(cells, order, syntax) for cells, order in absent)
            message = f"`{template.text}` lacks smaller templates to fall back on: {listed}"
            yield LintWarning(template.line, "missing", message)


def _smaller(cells: frozenset[Macro], order: int) -> Iterator[_Context]:
    """One cell less, or one label less; never the empty context on labels, which is only a bias."""
    for macro in sorted(cells, key=_place):
        if len(cells) > 1 or order > 1:
            yield cells - {macro}, order
    if order > 2 or (order == 2 and cells):
        yield cells, order - 1


def _shown(cells: frozenset[Macro], order: int, syntax: str) -> str:
    text = "/".join(macro_text(macro, syntax) for macro in sorted(cells, key=_place))
    return f"{text or 'a template without macros'} on {_NGRAMS[order]}"


def _place(macro: Macro) -> tuple[str, int, int, str]:
    return macro.anchor, macro.column, macro.row, macro.atom
