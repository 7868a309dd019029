r"""Wapiti's pattern syntax: how a line, a macro and the small regular expressions are read.

Everything specific to Wapiti is here, as functions for the table of syntaxes in `templates`. Wapiti works
on bytes; here everything works on characters, so `.` is one character and `\u` any upper-case letter of Unicode.

The macros become atoms (see `atoms`):

    %x[off,col]         the cell                        ""
    %X[off,col]         the cell in lower case          "lower"
    %t[off,col,"re"]    "true" or "false"               "test:re"         (also %T)
    %m[off,col,"re"]    the first match, "" if none     "match:re"
    %M[off,col,"re"]    the first match in lower case   "match_lower:re"

An offset after `@` counts from the edges of the sentence: `@1` is the first token, `@-1` the last.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from palmette.errors import TemplateError

# First character of a line -> the label n-grams its context is crossed with (1 label, 2 label pair).
ORDERS: dict[str, tuple[int, ...]] = {"u": (1,), "b": (2,), "*": (1, 2)}

# Command -> (name of the atom, takes a regular expression)
COMMANDS: dict[str, tuple[str, bool]] = {
    "x": ("", False),
    "X": ("lower", False),
    "t": ("test", True),
    "T": ("test", True),  # "true" and "false" are in lower case already
    "m": ("match", True),
    "M": ("match_lower", True),
}

MOST_STEPS = 1 << 17
"""What `re` may try for one word. Beyond that (many stars, or a long word) a table is slower, but sure to end soon."""

# (row, column, atom, anchor): the fields of `templates.Macro`
RawMacro = tuple[int, int, str, str]

# Wapiti reads numbers with scanf, which skips spaces before a number but not after it; its own example
# files have `%x[ 0,0]`. A leading zero would be octal there: numbers that the two would read differently are errors.
_NUMBER = r"0|[1-9][0-9]{0,2}"
_HEAD = rf"%([a-zA-Z])\[(@?)\s*([-+]?(?:{_NUMBER})),\s*({_NUMBER})"
_REGEX = r',"((?:[^"\\]|\\.)*)"'
_FORMS = 'the forms are %x[row,column], %t[row,column,"regex"], %m[row,column,"regex"]; % has no other use'


def clean_line(line: str) -> str:
    """The line without its comment and trailing space, its first character in lower case as in Wapiti."""
    text = line.partition("#")[0].rstrip()
    return text[:1].lower() + text[1:]


def boundary(distance: int) -> str:
    """The value of a macro outside the sentence, `distance` tokens past its start (< 0) or its end (> 0)."""
    sign = "-" if distance < 0 else "+"
    return f"_x{sign}{abs(distance)}" if abs(distance) <= 4 else f"_x{sign}#"


def read_macro(text: str, position: int, file: str | None, line: int) -> tuple[RawMacro, int]:
    """The macro that starts at `position`, and where it ends."""
    found = repr(text[position : position + 30])
    head = re.compile(_HEAD).match(text, position)
    if head is None or head[1] not in COMMANDS:
        raise TemplateError(f"not a Wapiti macro: {found}", file=file, line=line, hint=_FORMS)
    name, has_regex = COMMANDS[head[1]]
    end = head.end()
    if has_regex:
        regex = re.compile(_REGEX).match(text, end)
        if regex is None:
            hint = f"{_FORMS}; a # starts a comment even inside the quotes"
            raise TemplateError(f"no regular expression in {found}", file=file, line=line, hint=hint)
        compile_regex(regex[1], file=file, line=line)
        name, end = f"{name}:{regex[1]}", regex.end()
    if text[end : end + 1] != "]":
        raise TemplateError(f"no closing bracket in {found}", file=file, line=line, hint=_FORMS)
    return (*_cell(head), name, _anchor(head)), end + 1


def _cell(head: re.Match[str]) -> tuple[int, int]:
    row = int(head[3])
    if head[2]:
        row += 1 if row < 0 else -1  # @1 is row 0 from the first token, @-1 row 0 from the last
    return row, int(head[4])


def _anchor(head: re.Match[str]) -> str:
    if not head[2]:
        return "here"
    return "last" if int(head[3]) < 0 else "first"


def macro_text(macro: RawMacro) -> str:
    """The macro as Wapiti writes it; the inverse of `read_macro`."""
    row, column, atom, anchor = macro
    name, _, regex = atom.partition(":")
    command = next(command for command, (known, _) in COMMANDS.items() if known == name)
    shown = {"here": f"{row}", "first": f"@{row + 1}", "last": f"@{row - 1}"}[anchor]
    argument = f',"{regex}"' if COMMANDS[command][1] else ""
    return f"%{command}[{shown},{column}{argument}]"


# --- the regular expressions --------------------------------------------------------------------------------


class SmallRegex(NamedTuple):
    """A regular expression: pieces that match one character, each with its repetition, and the anchors."""

    pieces: tuple[tuple[str, str], ...]  # as `re` writes a character or class, and "", "*" or "?"
    at_start: bool
    at_end: bool
    compiled: re.Pattern[str]
    longest: int  # text that `re` searches, which goes back star by star

    def search(self, text: str) -> str | None:
        """The first match; None: there is none. Time grows with the product of both lengths."""
        if len(text) > self.longest:
            return self.search_by_table(text)
        found = self.compiled.search(text)
        return None if found is None else found[0]

    def search_by_table(self, text: str) -> str | None:
        """`search` without going back: from the last piece to the first, a row of where a match that begins at a piece
        and a character ends (-1: there is none), by the piece that `re` would try first."""
        n = len(text)
        ends = [n if at == n else -1 for at in range(n + 1)] if self.at_end else list(range(n + 1))
        characters = set(text)
        for piece, repeat in reversed(self.pieces):
            fits = re.compile(piece, re.DOTALL).match
            good = {character for character in characters if fits(character)}
            row = [-1] * (n + 1) if repeat == "" else ends.copy()
            for at in range(n - 1, -1, -1):
                if text[at] in good and (repeat != "*" or row[at] < 0):
                    after = row[at + 1] if repeat == "*" else ends[at + 1]
                    row[at] = after if after >= 0 else row[at]
            ends = row
        starts = range(1 if self.at_start else n + 1)
        return next((text[at : ends[at]] for at in starts if ends[at] >= 0), None)


def compile_regex(regex: str, *, file: str | None = None, line: int | None = None) -> SmallRegex:
    r"""An expression of Wapiti's dialect.

    `.` any character; `\d \a \w \l \u \p \s` digit, letter, letter or digit, lower case, upper case,
    punctuation or symbol, space; in capitals their complements; `\x` any other x itself. `^` first and `$`
    last anchor. `*` and `?` repeat one character; as in Wapiti `*` matches as few as possible, `?` matches one if
    possible.
    """
    body, at_start, at_end = regex.removeprefix("^"), regex.startswith("^"), False
    pieces: list[tuple[str, str]] = []
    position = 0
    while position < len(body):
        if body[position:] == "$":
            at_end = True
            break
        piece, position = _one_character(body, position, regex, file, line)
        repeat = body[position : position + 1]
        repeat = repeat if repeat and repeat in "*?" else ""
        position += len(repeat)
        pieces.append((piece, repeat))
    spelled = "".join(piece + ("*?" if repeat == "*" else repeat) for piece, repeat in pieces)
    compiled = re.compile(r"\A" * at_start + spelled + r"\Z" * at_end, re.DOTALL)
    repeats = [repeat for _, repeat in pieces]
    longest = _longest_tried(repeats.count("*") + (not at_start), repeats.count("?"))
    return SmallRegex(tuple(pieces), at_start, at_end, compiled, longest)


def _longest_tried(stars: int, options: int) -> int:
    """The longest text of which (size + 1) ** stars * 2 ** options, what `re` may try, is at most MOST_STEPS."""
    left = MOST_STEPS >> min(options, MOST_STEPS.bit_length())
    return int(left ** (1 / stars)) - 1 if stars else sys.maxsize if left else -1


def _one_character(body: str, position: int, regex: str, file: str | None, line: int | None) -> tuple[str, int]:
    character = body[position]
    if character in "*?":
        raise TemplateError(
            f"nothing to repeat before {character!r} in the regular expression {regex!r}",
            file=file,
            line=line,
            hint=rf"write \{character} for the character itself; * and ? follow one single character",
        )
    if character == ".":
        return ".", position + 1
    if character != "\\":
        return re.escape(character), position + 1
    if position + 1 == len(body):
        raise TemplateError(
            f"a backslash ends the regular expression {regex!r}",
            file=file,
            line=line,
            hint=r"write \\ for a backslash",
        )
    return _escaped(body[position + 1]), position + 2


def _escaped(character: str) -> str:
    kind = character.lower()
    if kind in "ds":
        return f"\\{character}"
    if kind not in _PREDICATES:
        return re.escape(character)
    inside = _ranges(kind)
    return f"[{inside}]" if character == kind else f"[^{inside}]"


def _is_punctuation(character: str) -> bool:
    # C's ispunct takes symbols such as $ and + as well
    import unicodedata

    return unicodedata.category(character)[0] in "PS"


_PREDICATES: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "w": lambda character: character.isalpha() or character.isdecimal(),
    "l": str.islower,
    "u": str.isupper,
    "p": _is_punctuation,
}

# Planes 0 to 3 hold every letter, punctuation mark and symbol that Unicode has.
_PLANES = 0x40000


@cache
def _ranges(kind: str) -> str:
    """The inside of a `[...]` of `re`: Python's `re` has no class for case or punctuation."""
    predicate = _PREDICATES[kind]
    members = [code for code in range(_PLANES) if predicate(chr(code))]
    ranges = []
    first = last = members[0]
    for code in [*members[1:], _PLANES + 1]:
        if code != last + 1:
            ranges.append(f"\\U{first:08x}-\\U{last:08x}")
            first = code
        last = code
    return "".join(ranges)
