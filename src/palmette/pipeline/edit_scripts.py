"""Lemmas as edit scripts: what to do with a form to get its lemma, as a text that many forms share.

A script changes the casing of the form, cuts characters off both ends of that, and adds others there:

    l0-1:0:         lower case, one character off the end              Dogs -> dog
    l0-3:0:y        lower case, three off the end, then `y`            parties -> party
    k0-0:0:         the form as it is written                          NASA -> NASA
    l2-1:0:en       two off the beginning, one off the end, `en`       gemacht -> machen
    =be             the lemma itself, where the two share nothing      is -> be

After the second colon come the characters that are added at the beginning, as many as the number before it, and then
those for the end. `script_of` finds the script of a form and its lemma, any two strings; `applied` does what a script
says to any form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

WHOLE = "="
KEEP = "k0-0:0:"
_FORM = re.compile(r"([a-z])(\d{1,4})-(\d{1,4}):(\d{1,4}):(.*)", re.DOTALL)
_LONG = 100  # characters from which only the common beginning is looked for
_MOST = 9999  # characters that a script counts


def lower(form: str) -> str:
    """Lower case; a dotted capital I becomes one character."""
    return form.replace("İ", "i").lower()


def _lower_dotless(form: str) -> str:
    """Lower case where I is the capital of a dotless i."""
    return lower(form.replace("I", "ı"))


# By letter; of casings that lead to equally short scripts the first one is taken
CASINGS: dict[str, Callable[[str], str]] = {
    "l": lower,
    "k": lambda form: form,
    "c": lambda form: form[:1].upper() + lower(form[1:]),
    "u": str.upper,
    "t": _lower_dotless,
}


class EditScript(NamedTuple):
    """A script of a casing, cuts and additions."""

    casing: str
    front: int  # characters that are cut off
    back: int
    prefix: str  # characters that are added
    suffix: str

    def __str__(self) -> str:
        return f"{self.casing}{self.front}-{self.back}:{len(self.prefix)}:{self.prefix}{self.suffix}"

    @property
    def cost(self) -> int:
        return self.front + self.back + len(self.prefix) + len(self.suffix)


def script_of(form: str, lemma: str) -> str:
    """The script that makes the lemma of the form."""
    found: dict[str, EditScript] = {}
    for casing, cased in CASINGS.items():
        start = cased(form)
        if start not in found and (script := _edits(casing, start, lemma)) is not None:
            found[start] = script
            if not script.cost:
                break
    best = min(found.values(), key=lambda script: script.cost, default=None)
    return WHOLE + lemma if best is None or max(best.front, best.back) > _MOST else str(best)


def applied(script: str, form: str) -> str:
    """The lemma that a script makes of a form. A form that is too short for its cuts keeps its characters and only
    changes its casing."""
    if script.startswith(WHOLE):
        return script[len(WHOLE) :]
    steps = parsed(script)
    if steps is None:
        return form
    start = CASINGS[steps.casing](form)
    if steps.front + steps.back >= len(start):
        return start
    return steps.prefix + start[steps.front : len(start) - steps.back] + steps.suffix


def is_script(text: str) -> bool:
    """Whether a text is a script."""
    return text.startswith(WHOLE) or parsed(text) is not None


@lru_cache(1 << 14)
def parsed(script: str) -> EditScript | None:
    """What a script does; None for a whole lemma, and for what is no script."""
    found = _FORM.fullmatch(script)
    if found is None:
        return None
    casing, front, back, size, added = found.groups()
    if casing not in CASINGS or int(size) > len(added):
        return None
    return EditScript(casing, int(front), int(back), added[: int(size)], added[int(size) :])


def _edits(casing: str, start: str, lemma: str) -> EditScript | None:
    """The script from a form in its casing; None if the two share nothing, or one character by chance."""
    a, b, size = _longest_common(start, lemma)
    if size < min(2, len(start), len(lemma)) or not size:
        return None
    return EditScript(casing, a, len(start) - a - size, lemma[:b], lemma[b + size :])


def _longest_common(one: str, other: str) -> tuple[int, int, int]:
    """Where the longest common substring begins in each of two strings, and its size; of several the first one."""
    shorter = min(len(one), len(other))
    size = next((k for k in range(shorter) if one[k] != other[k]), shorter)
    if size == shorter or shorter > _LONG:
        return 0, 0, size
    for more in range(shorter, size, -1):
        for b in range(len(other) - more + 1):
            a = one.find(other[b : b + more])
            if a >= 0:
                return a, b, more
    return 0, 0, size
