"""Properties of one word: its shape, its case, whether it is a number or a date, and its script.

Plain functions from a string to a string, or to None if they do not apply. The table at the end gives them the names
that templates use. They run once per distinct word of a corpus, in about a microsecond per call.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise

# --- form ---------------------------------------------------------------------------------------------------


class _Translation(dict[int, str]):
    """A table for `str.translate` that fills itself: each character is classified once."""

    def __init__(self, classify: Callable[[str], str]) -> None:
        super().__init__()
        self.classify = classify

    def __missing__(self, code: int) -> str:
        value = self[code] = self.classify(chr(code))
        return value


def _shape_of(character: str) -> str:
    if character.isupper() or character.istitle():
        return "X"
    if character.islower():
        return "x"
    if character.isdecimal():
        return "9"
    # Otherwise the shape of words in letters without case (Han, Arabic, Thai) would be the word itself.
    return "c" if unicodedata.category(character)[0] in "LM" else character


_VOWELS = frozenset("aeiouyıøæœəаеёиоуыэюяіїєαεηιουω")


def _without_vowel(character: str) -> str:
    """`*` for a vowel with or without accents, else the small letter. In й and ў the accent makes a consonant."""
    small = character.lower()
    base = small if small in ("й", "ў") else unicodedata.normalize("NFD", small)[:1]
    return "*" if base in _VOWELS else small


_SHAPE = _Translation(_shape_of)
_SKELETON = _Translation(_without_vowel)
_ZEROS = _Translation(lambda character: "0" if character.isdecimal() else character)


def shape(word: str) -> str:
    """McDonald's-99 -> XxXxxxxx'x-99"""
    return word.translate(_SHAPE)


def short_shape(word: str) -> str:
    """McDonald's-99 -> XxXx'x-9"""
    full = word.translate(_SHAPE)
    return full[:1] + "".join([after for before, after in pairwise(full) if before != after])


def normal(word: str) -> str:
    """B-52 -> B-00"""
    return word.translate(_ZEROS)


def skeleton(word: str) -> str:
    """evlerinde -> *vl*r*nd*: endings that differ by vowel harmony are one."""
    return word.translate(_SKELETON)


_LENGTHS = ("0", "1", "2", "3", "4", "5", "6-7", "6-7", "8-10", "8-10", "8-10", *["11-15"] * 5)


def length(word: str) -> str:
    return _LENGTHS[len(word)] if len(word) < len(_LENGTHS) else "16+"


# --- flags: their own name, or None -------------------------------------------------------------------------


def capital(word: str) -> str | None:
    first = word[:1]
    return "capital" if first.isupper() or first.istitle() else None


def allcaps(word: str) -> str | None:
    """Capitals only, and at least two of them: U.S. but not I and not B2."""
    return "allcaps" if word.isupper() and sum(map(str.isalpha, word)) > 1 else None


_DIGIT = re.compile(r"\d")


def digits(word: str) -> str | None:
    return "digits" if _DIGIT.search(word) else None


_PUNCTUATION = _Translation(lambda character: "" if unicodedata.category(character)[0] in "PS" else character)


def punctuation(word: str) -> str | None:
    """Punctuation and symbols only."""
    # The first character decides nearly always, and is cheaper than the whole word.
    return "punctuation" if word and not word[0].isalnum() and not word.translate(_PUNCTUATION) else None


_HYPHEN = re.compile("\\w[-\u2010-\u2013\u2212]\\w")


def hyphen(word: str) -> str | None:
    """A hyphen or dash between letters or digits."""
    return "hyphen" if _HYPHEN.search(word) else None


_GREEK_LETTER = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_LETTERS = re.compile(r"[^\W\d_]+")
GREEK_NAMES = frozenset(
    [
        *(
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "zeta",
            "eta",
            "theta",
            "iota",
            "kappa",
            "lambda",
            "mu",
        ),
        *("nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    ]
)


def greek(word: str) -> str | None:
    """A Greek letter, as a character or by its English name: NF-kappaB is none, NF-kappa-B is one."""
    parts = [word] if word.isalpha() else _LETTERS.findall(word)
    named = any(part.lower() in GREEK_NAMES for part in parts)
    return "greek" if named or (not word.isascii() and _GREEK_LETTER.search(word)) else None


# --- numbers and dates: the first row that matches the whole word -------------------------------------------

_Table = tuple[tuple[str, re.Pattern[str]], ...]

_INTEGER = "[-+\u2212]?(?:\\d+|\\d{1,3}(?:[,\u00a0\u202f]\\d{3})+)"
_DECIMAL = "[-+\u2212]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)?[.,]\\d+"
_ANY = f"(?:{_DECIMAL}|{_INTEGER})"
_VULGAR = "[\u00bc-\u00be\u2150-\u215e]"  # fractions in a single character, such as one half
_CURRENCY = "[$\u00a2-\u00a5\u20a0-\u20bf]"


def _table(*rows: tuple[str, str]) -> _Table:
    return tuple((name, re.compile(regex, re.IGNORECASE)) for name, regex in rows)


@cache
def _numbers() -> _Table:
    return _table(
        ("integer", _INTEGER),
        ("decimal", _DECIMAL),
        ("percent", f"{_ANY}[%\u2030]|%{_ANY}"),
        ("ordinal", "\\d[\\d,]*(?:st|nd|rd|th|\u00ba|\u00aa)"),
        ("fraction", f"\\d+[/\u2044]\\d+|\\d*{_VULGAR}|\\d+-\\d+/\\d+"),
        ("range", f"{_ANY}[-\u2013\u2212]{_ANY}"),
        ("money", f"(?:[A-Z]{{1,3}})?{_CURRENCY}{_ANY}|{_ANY}{_CURRENCY}"),
    )


_HAS_NUMBER = re.compile(f"\\d|{_VULGAR}")
_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


def number(word: str) -> str | None:
    if _HAS_NUMBER.search(word):
        return _first_match(_numbers(), word)
    return "roman" if _is_roman(word) else None


def _is_roman(word: str) -> bool:
    # One letter alone is a letter (or a pronoun) far more often than a number.
    return 2 <= len(word) <= 15 and _ROMAN.fullmatch(word) is not None


@cache
def _dates() -> _Table:
    return _table(
        ("year", "1[0-9]\\d\\d|20\\d\\d|['\u2019]\\d\\d"),
        ("decade", "(?:(?:1[0-9]|20)\\d|['\u2019]?[1-9])0['\u2019]?s"),
        ("day", r"\d{4}([-/.])\d\d?\1\d\d?|\d\d?([-/.])\d\d?\2\d\d(?:\d\d)?"),
        ("time", "\\d\\d?[:.]\\d\\d(?::\\d\\d)?(?:[ap]\\.?m\\.?)?|\\d\\d?[ap]\\.?m\\.?"),
    )


_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *(
        "november",
        "december",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
    ),
)
_WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun"),
)
DATE_WORDS = {**dict.fromkeys(_MONTHS, "month"), **dict.fromkeys(_WEEKDAYS, "weekday")}


def date(word: str) -> str | None:
    if _DIGIT.search(word):
        # 12.30 is a decimal number more often than a time of day.
        return None if _first_match(_numbers()[1:2], word) else _first_match(_dates(), word)
    # "may", "march", "sat" and "sun" are other words unless they are written as names.
    return DATE_WORDS.get(word.rstrip(".").lower()) if capital(word) else None


def _first_match(table: _Table, word: str) -> str | None:
    for name, pattern in table:
        if pattern.fullmatch(word):
            return name
    return None


# --- orthography: one class for every word ------------------------------------------------------------------

_Rules = tuple[tuple[str, Callable[[str], object]], ...]

_LETTERS_ONLY: _Rules = (
    ("greek", greek),
    ("lower", str.islower),
    ("letter", lambda word: len(word) == 1 and word.isupper()),
    ("roman", _is_roman),
    ("acronym", str.isupper),
    ("initial", str.istitle),
    ("caseless", lambda word: word.lower() == word.upper()),
    ("mixed", lambda word: True),
)
_OTHERS: _Rules = (
    ("punctuation", punctuation),
    ("number", lambda word: number(word) or date(word)),
    ("greek", greek),
    ("hyphen_digits", lambda word: hyphen(word) and digits(word)),
    ("hyphen_capitals", lambda word: hyphen(word) and word != word.lower()),
    ("hyphen", hyphen),
    ("capitals_digits", lambda word: digits(word) and word.isupper()),
    ("letters_digits", lambda word: digits(word) and word.isalnum()),
    ("abbreviation", lambda word: word.endswith(".")),
    ("other", lambda word: True),
)


def orthography(word: str) -> str | None:
    """The first rule that holds, e.g. initial, acronym, hyphen_digits, number."""
    for name, rule in _LETTERS_ONLY if word.isalpha() else _OTHERS:
        if rule(word):
            return name
    return None


# --- scripts ------------------------------------------------------------------------------------------------

# Beginning of a character's Unicode name -> script
_SCRIPTS = {
    "CJK UNIFIED": "han",
    "CJK COMPATIBILITY IDEOGRAPH": "han",
    "IDEOGRAPHIC": "han",  # the iteration and closing marks, and zero
    "HIRAGANA": "hiragana",
    "KATAKANA": "katakana",
    "HALFWIDTH KATAKANA": "katakana",
    "HANGUL": "hangul",
    "HALFWIDTH HANGUL": "hangul",
    "LATIN": "latin",
    "FULLWIDTH LATIN": "latin",
}
_CATEGORIES = {"L": "letter", "M": "mark", "P": "punct", "S": "punct", "Z": "space"}


@lru_cache(maxsize=65536)
def _script(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Nd":
        return "digit"
    if character.isspace():
        return "space"
    if category[0] in "LN":
        name = unicodedata.name(character, "")
        for beginning, script in _SCRIPTS.items():
            if name.startswith(beginning):
                return script
    return _CATEGORIES.get(category[0], "other")


def script_type(word: str) -> str | None:
    """The script that all characters share; `mixed` if they do not."""
    if not word:
        return None
    first = _script(word[0])
    return first if all(_script(character) == first for character in word[1:]) else "mixed"


# --- by name ------------------------------------------------------------------------------------------------


def _prefix(n: int) -> Callable[[str], str | None]:
    return lambda word: word[:n] if len(word) >= n else None


def _suffix(n: int) -> Callable[[str], str | None]:
    return lambda word: word[-n:] if len(word) >= n else None


WORD_ATOMS: dict[str, Callable[[str], str | None]] = {
    "lower": str.lower,
    "normal": normal,
    "shape": shape,
    "short_shape": short_shape,
    "skeleton": skeleton,
    **{f"prefix{n}": _prefix(n) for n in range(1, 6)},
    **{f"suffix{n}": _suffix(n) for n in range(1, 10)},
    "capital": capital,
    "allcaps": allcaps,
    "digits": digits,
    "hyphen": hyphen,
    "punctuation": punctuation,
    "greek": greek,
    "number": number,
    "date": date,
    "length": length,
    "orthography": orthography,
    "type": script_type,
}
