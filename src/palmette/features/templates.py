"""Templates: the cells around a token that make its attributes, read from CRF++ or Wapiti files.

A line such as `U05:%x[-1,0]/%x[0,0]` is literal text with macros; the attribute's string is the whole line
with each macro replaced by its cell (or by an atom of it, `%x[0,0,lower]`), so that equal strings share a
weight. The first character selects the label n-grams that the context is crossed with: `U` the label, `B` the label
pair, `T` the triple, `*` all of these up to the order of the set. The encoder evaluates the result with
integers; nothing here depends on a corpus.

`%y[-2]` in a `U` line is the label two tokens before, which is known during a search from left to right: a beam can
use it, exact search cannot. Its text stays part of the literals, so that the encoder sees only the observations.

The two syntaxes differ in their lines, macros and boundaries: each is a row of `_SYNTAXES`, with Wapiti's
functions in `wapiti`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from palmette.data.files import FilePath, shown
from palmette.data.text import CONVERT, check_utf8, read_text
from palmette.errors import TemplateError, UsageError, counted
from palmette.features import wapiti
from palmette.features.atoms import Atom, check_atom


class Macro(msgspec.Struct, frozen=True):
    """A cell: the token `row` steps from the anchor, and the atom of it that is used ("": the cell itself).

    The anchor is the current token ("here"), or the "first" or "last" one of the sentence.
    """

    row: int
    column: int
    atom: str = ""
    anchor: str = "here"

    def position(self, i: int, n: int) -> int:
        """The token that the macro refers to at token `i` of `n`; it may be outside."""
        return self.row + {"here": i, "first": 0, "last": n - 1}[self.anchor]


LABEL_CONTEXT = 0  # in place of an order, for templates that read earlier labels
MOST_BACK = 20  # tokens that it may look back
MOST_LABELS = 4  # that it may read: they fit into one number (kernels/chain/label_context.py)


class Template(msgspec.Struct, frozen=True):
    """literals[0] macros[0] literals[1] ... macros[-1] literals[-1]

    orders: 1 for a label, 2 for a pair, 3 for a triple, or LABEL_CONTEXT."""

    text: str
    orders: tuple[int, ...]
    literals: tuple[str, ...]
    macros: tuple[Macro, ...]
    line: int
    earlier_labels: tuple[int, ...] = ()  # the earlier labels that it reads: 1 for `%y[-1]`


class TemplateSet(msgspec.Struct, frozen=True):
    templates: tuple[Template, ...]
    syntax: str
    name: str

    @property
    def order(self) -> int:
        """0 without transitions, 1 with label pairs, 2 with label triples."""
        arities = (arity for template in self.templates for arity in template.orders if arity != LABEL_CONTEXT)
        return max(arities, default=1) - 1

    @property
    def label_contexts(self) -> tuple[Template, ...]:
        """The templates that read earlier labels."""
        return tuple(template for template in self.templates if template.earlier_labels)

    @property
    def searches(self) -> tuple[str, ...]:
        """The searches that can use all templates."""
        return ("beam",) if self.label_contexts else ("viterbi", "beam")

    def only(self, template: Template) -> TemplateSet:
        """A set with one of the templates."""
        return TemplateSet((template,), self.syntax, self.name)

    def __repr__(self) -> str:
        return f"<{counted(len(self.templates), 'template')} of {self.name}>"


def parse(text: str, name: str = "templates", syntax: str = "auto") -> TemplateSet:
    """Read templates; `syntax` is "crfpp", "wapiti" or "auto"; `name` is the file that errors name."""
    numbered = [(i, line.rstrip("\r")) for i, line in enumerate(text.split("\n"), 1)]
    if syntax == "auto":
        syntax = _guess_syntax([line for _, line in numbered])
    rules = _rules(syntax)
    cleaned = [(i, rules.clean_line(line)) for i, line in numbered]
    templates = [_parse_line(line, i, name, rules) for i, line in cleaned if line]
    if not templates:
        raise TemplateError("no template found", file=name, hint="write at least one line such as U00:%x[0,0]")
    if any(3 in template.orders for template in templates):
        templates = [_with_triple(template) for template in templates]
    return TemplateSet(tuple(templates), syntax, name)


def read_templates(path: FilePath, syntax: str = "auto") -> TemplateSet:
    data = read_text(path)
    check_utf8(data, shown(path), hint=CONVERT)
    return parse(data.decode(), shown(path), syntax)


def to_text(templates: TemplateSet) -> str:
    """A template file that parses to the same set (with `syntax=templates.syntax`)."""
    return "".join(f"{template.text}\n" for template in templates.templates)


def macro_text(macro: Macro, syntax: str) -> str:
    """The macro in that syntax."""
    return _rules(syntax).macro_text((macro.row, macro.column, macro.atom, macro.anchor))


def boundary(syntax: str, distance: int) -> str:
    """The cell `distance` tokens before the start (< 0) or after the end (> 0) of the sentence."""
    if distance == 0:
        raise ValueError("distance 0 is inside the sentence")
    return _rules(syntax).boundary(distance)


def outside(syntax: str, distance: int, atom: Atom) -> str | None:
    r"""The value of a macro with this atom outside the sentence.

    Wapiti applies its commands to the boundary cell as to any other (`%t[-1,0,"\p"]` is true before the
    first token, for the `_` of `_x-1`); in CRF++ syntax atoms are an extension, and leave boundaries unchanged.
    """
    cell = boundary(syntax, distance)
    return atom(cell) if syntax == "wapiti" else cell


# --- a line -------------------------------------------------------------------------------------------------


class _Syntax(NamedTuple):
    """`clean_line` returns "" for a line to skip; `read_macro` the macro at a position, and its end."""

    orders: dict[str, tuple[int, ...]]
    clean_line: Callable[[str], str]
    read_macro: Callable[[str, int, str | None, int], tuple[wapiti.RawMacro, int]]
    macro_text: Callable[[wapiti.RawMacro], str]
    boundary: Callable[[int], str]


def _parse_line(text: str, line: int, file: str, rules: _Syntax) -> Template:
    if text[0] not in rules.orders:
        raise _bad_first_character(text, line, file, rules)
    literals: list[str] = []
    macros: list[Macro] = []
    earlier: list[int] = []
    start = scanned = 0
    while (at := text.find("%", scanned)) >= 0:
        if text[at : at + 2] == "%y":
            back, scanned = _read_earlier_label(text, at, file, line)
            earlier.append(back)
            continue
        literals.append(text[start:at])
        raw, start = rules.read_macro(text, at, file, line)
        scanned = start
        macros.append(Macro(*raw))
        check_atom(macros[-1].atom, file=file, line=line)
    orders = rules.orders[text[0]]
    if earlier:
        orders = _orders_with_earlier_labels(text, orders, earlier, file, line)
    return Template(text, orders, (*literals, text[start:]), tuple(macros), line, tuple(earlier))


_EARLIER_LABEL = r"%y\[-([0-9]{1,3})\]"


def _read_earlier_label(text: str, position: int, file: str, line: int) -> tuple[int, int]:
    """How far back the label of a `%y` is, and where its text ends."""
    found = re.compile(_EARLIER_LABEL).match(text, position)
    if found is None or not 1 <= int(found[1]) <= MOST_BACK:
        raise TemplateError(
            f"not an earlier label: {text[position : position + 30]!r}",
            file=file,
            line=line,
            hint=f"write %y[-1] for the label before, %y[-2] for the one before that, up to %y[-{MOST_BACK}]",
        )
    return int(found[1]), found.end()


def _orders_with_earlier_labels(
    text: str, orders: tuple[int, ...], earlier: list[int], file: str, line: int
) -> tuple[int, ...]:
    if orders != (1,):
        hint = f"a template that reads earlier labels itself starts with U: U{text[1:]}"
        raise TemplateError(f"%y and {text[0]!r} do not go together", file=file, line=line, hint=hint)
    if len(earlier) > MOST_LABELS:
        hint = f"at most {MOST_LABELS}; two templates can read more between them"
        raise TemplateError(f"the template reads {len(earlier)} earlier labels", file=file, line=line, hint=hint)
    return (LABEL_CONTEXT,)


def _with_triple(template: Template) -> Template:
    """In a set of order 2, `*` reaches up to the label triple."""
    return msgspec.structs.replace(template, orders=(1, 2, 3)) if template.orders == (1, 2) else template


def _bad_first_character(text: str, line: int, file: str, rules: _Syntax) -> TemplateError:
    heads = ", ".join(rules.orders)
    if text[0].isspace():
        return TemplateError("the line starts with a space", file=file, line=line, hint="remove the space")
    other = "wapiti" if "U" in rules.orders else "crfpp"
    hint = f"a template starts with one of {heads}, a comment with #"
    if text[0] in _SYNTAXES[other].orders:
        hint += f"; {text[0]!r} is for the other syntax, {other}: the file must keep to one"
    return TemplateError(f"unknown kind of template {text[0]!r} in {text[:30]!r}", file=file, line=line, hint=hint)


# --- CRF++ --------------------------------------------------------------------------------------------------

# Three digits are more than any context needs, and keep tables of boundaries small.
_MACRO = re.compile(r"%x\[([-+]?[0-9]{1,3}),([0-9]{1,3})(?:,([^\s\]](?:[^\]]*[^\s\]])?))?\]")


def _clean_crfpp(line: str) -> str:
    # A # further on belongs to the template, and so do spaces at the end.
    return "" if line.startswith("#") or not line.strip() else line


def _read_crfpp_macro(text: str, position: int, file: str | None, line: int) -> tuple[wapiti.RawMacro, int]:
    found = _MACRO.match(text, position)
    if found is None:
        raise TemplateError(
            f"not a macro: {text[position : position + 30]!r}",
            file=file,
            line=line,
            hint="write %x[row,column] or %x[row,column,atom], no spaces, 3 digits at most; % is for macros",
        )
    return (int(found[1]), int(found[2]), found[3] or "", "here"), found.end()


def _crfpp_macro_text(macro: wapiti.RawMacro) -> str:
    row, column, atom, _ = macro
    return f"%x[{row},{column},{atom}]" if atom else f"%x[{row},{column}]"


_SYNTAXES: dict[str, _Syntax] = {
    "crfpp": _Syntax(
        orders={"U": (1,), "B": (2,), "T": (3,), "*": (1, 2)},
        clean_line=_clean_crfpp,
        read_macro=_read_crfpp_macro,
        macro_text=_crfpp_macro_text,
        boundary="_B{:+d}".format,
    ),
    "wapiti": _Syntax(
        orders=wapiti.ORDERS,
        clean_line=wapiti.clean_line,
        read_macro=wapiti.read_macro,
        macro_text=wapiti.macro_text,
        boundary=wapiti.boundary,
    ),
}


def _rules(syntax: str) -> _Syntax:
    if syntax not in _SYNTAXES:
        raise UsageError(f"unknown template syntax {syntax!r}: choose auto, {', '.join(_SYNTAXES)}")
    return _SYNTAXES[syntax]


# Lines that are valid in only one of the two. Wapiti also accepts U and B, so those alone decide nothing.
_ONLY_WAPITI = r"%[XtTmM]\[|%x\[@"
_ONLY_CRFPP = r"%x\[[^],]*,[^],]*,"


def _guess_syntax(lines: list[str]) -> str:
    """The first line that is valid in only one syntax decides; CRF++ if there is none.

    A lower-case u or b means Wapiti if no line before it has a capital: a typing error in a CRF++ file
    should be an error, not another syntax.
    """
    capital = False
    for line in filter(None, map(_clean_crfpp, lines)):
        if line[0] == "T" or re.search(_ONLY_CRFPP, line):
            return "crfpp"
        if re.search(_ONLY_WAPITI, line) or (line[0] in "ub" and not capital):
            return "wapiti"
        capital = capital or line[0] in "UB"
    return "crfpp"
