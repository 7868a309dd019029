"""Hashes of what atoms make of words, for the atoms of `features/wordforms.py` that are compiled here.

An atom is a list of steps over the characters of a word. Tables, one entry per character below a limit, have the facts
about characters. Words with other characters, long words, and the few whose answer takes more than tables (numbers,
dates, Roman numerals) are left to the caller: they are asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import BASE, RANDOM
from palmette.kernels.core.types import I32, I64, U64, U64_2D, Bool_2D, Bytes, struct

# Steps from characters to characters, then those that end in a name, which are the last of an atom
LOWER, NORMAL, SHAPE, RUNS, PREFIX, SUFFIX = 0, 1, 2, 3, 4, 5
CAPITAL, ALLCAPS, DIGITS, HYPHEN, PUNCTUATION, NUMBER, DATE, LENGTH, ORTHOGRAPHY, OTHER = range(6, 16)

# Facts about a character, as bits
IS_UPPER, IS_LOWER, IS_TITLE, IS_DECIMAL, IS_NUMBER, IS_LETTER, IS_WORD, IS_MARK, IS_HYPHEN, IS_ROMAN = (
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512,
)  # fmt: skip
ASCII = 128
LONGEST = 64  # characters of a word that is not asked for
LENGTHS = 16  # from so many characters on, all words have the same length

NAMES = (
    *("capital", "allcaps", "digits", "hyphen", "punctuation", "lower", "letter", "acronym", "initial", "mixed"),
    *("0", "1", "2", "3", "4", "5", "6-7", "6-7", "8-10", "8-10", "8-10", *["11-15"] * 5, "16+"),
)
_CAPITAL, _ALLCAPS, _DIGITS, _HYPHEN, _PUNCTUATION, _LOWER, _LETTER, _ACRONYM, _INITIAL, _MIXED, _LENGTH = range(11)
ABSENT, ASKED, TEXT = -1, -2, -3  # instead of the number of a name; TEXT: the characters are the answer


@struct
class Atoms(NamedTuple):
    """V atoms of M steps, tables of C characters, and what the definitions look up."""

    first: I64  # [V+1]   steps of an atom
    step: I32  # [M]
    size: I32  # [M]      of prefixes and suffixes
    lower: I32  # [C]     the character in lower case; -1: not a single one, or not always the same
    normal: I32  # [C]
    shape: I32  # [C]
    facts: I32  # [C]
    name_hash: U64  # [len(NAMES)]
    name_power: U64  # [len(NAMES)]
    dates: U64  # []      hashes of the names of months and weekdays
    greek: U64  # []      hashes of the names of Greek letters


@inline
def _read(data: np.ndarray, start: int, end: int, limit: int, word: np.ndarray) -> int:
    """Write the characters of a word; returns their number, -1: too many, or one that is not in the tables."""
    n = 0
    at = start
    while at < end:
        code = np.int64(data[at])
        at += 1
        if code >= ASCII:
            if (code & 0xE0) != 0xC0 or at >= end:
                return -1
            code = ((code & 0x1F) << 6) | (np.int64(data[at]) & 0x3F)
            at += 1
        if code >= limit or n == word.size:
            return -1
        word[n] = code
        n += 1
    return n


@inline
def _hashed(word: np.ndarray, first: int, last: int) -> tuple[np.uint64, np.uint64]:
    """Hash and power of the UTF-8 bytes of some characters."""
    hash, power = np.uint64(0), np.uint64(1)
    for i in range(first, last):
        code = word[i]
        if code >= ASCII:
            hash = hash * BASE + RANDOM[0xC0 | (code >> 6)]
            power = power * BASE
            code = 0x80 | (code & 0x3F)
        hash = hash * BASE + RANDOM[code]
        power = power * BASE
    return hash, power


@inline
def _among(names: np.ndarray, hash: np.uint64) -> bool:
    for k in range(names.size):  # noqa: SIM110 (no generators in kernels)
        if names[k] == hash:
            return True
    return False


@part
def _lower_among(word: np.ndarray, first: int, last: int, lower: np.ndarray, names: np.ndarray) -> bool:
    """Whether characters in lower case may be one of some names."""
    small = np.empty(last - first, np.int32)
    for i in range(first, last):
        small[i - first] = lower[word[i]]
        if small[i - first] < 0:
            return True
    return _among(names, _hashed(small, 0, last - first)[0])


@part
def _counted(word: np.ndarray, first: int, last: int, facts: np.ndarray, wanted: int) -> int:
    """How many characters have one of these facts."""
    n = 0
    for i in range(first, last):
        n += (facts[word[i]] & wanted) != 0
    return n


@part
def _is_title(word: np.ndarray, first: int, last: int, facts: np.ndarray) -> bool:
    """As `str.istitle`, for letters."""
    cased = False
    for i in range(first, last):
        fact = facts[word[i]]
        if (fact & (IS_UPPER | IS_TITLE)) != 0:
            if cased:
                return False
            cased = True
        elif (fact & IS_LOWER) != 0:
            if not cased:
                return False
        else:
            cased = False
    return True


@part
def _has_hyphen(word: np.ndarray, first: int, last: int, facts: np.ndarray) -> bool:
    for i in range(first + 1, last - 1):
        if (facts[word[i]] & IS_HYPHEN) != 0 and (facts[word[i - 1]] & facts[word[i + 1]] & IS_WORD) != 0:
            return True
    return False


@part
def _orthography(word: np.ndarray, first: int, last: int, p: Atoms) -> int:
    facts, n = p.facts, last - first
    if n > 0 and _counted(word, first, last, facts, IS_MARK) == n:
        return _PUNCTUATION
    for i in range(first, last):
        if word[i] >= ASCII or (facts[word[i]] & IS_LETTER) == 0:
            return ASKED
    if n == 0 or _lower_among(word, first, last, p.lower, p.greek):
        return ASKED
    upper = _counted(word, first, last, facts, IS_UPPER)
    if upper == 0:
        return _LOWER
    if upper == n:
        if n == 1:
            return _LETTER
        return ASKED if _counted(word, first, last, facts, IS_ROMAN) == n else _ACRONYM
    return _INITIAL if _is_title(word, first, last, facts) else _MIXED


@part
def _number(word: np.ndarray, first: int, last: int, facts: np.ndarray) -> int:
    if _counted(word, first, last, facts, IS_DECIMAL | IS_NUMBER) > 0:
        return ASKED
    n = last - first
    return ASKED if n > 1 and _counted(word, first, last, facts, IS_ROMAN) == n else ABSENT


@part
def _date(word: np.ndarray, first: int, last: int, p: Atoms) -> int:
    facts = p.facts
    if _counted(word, first, last, facts, IS_DECIMAL) > 0:
        return ASKED
    if first == last or (facts[word[first]] & (IS_UPPER | IS_TITLE)) == 0:
        return ABSENT
    while last > first and word[last - 1] == 46:
        last -= 1
    return ASKED if _lower_among(word, first, last, p.lower, p.dates) else ABSENT


@part
def _named(step: int, word: np.ndarray, first: int, last: int, p: Atoms) -> int:
    """The number of the name that a step ends in, ABSENT or ASKED."""
    facts, n = p.facts, last - first
    if step == NUMBER:
        return _number(word, first, last, facts)
    if step == DATE:
        return _date(word, first, last, p)
    if step == ORTHOGRAPHY:
        return _orthography(word, first, last, p)
    if step == CAPITAL:
        return _CAPITAL if n > 0 and (facts[word[first]] & (IS_UPPER | IS_TITLE)) != 0 else ABSENT
    if step == DIGITS:
        return _DIGITS if _counted(word, first, last, facts, IS_DECIMAL) > 0 else ABSENT
    if step == HYPHEN:
        return _HYPHEN if _has_hyphen(word, first, last, facts) else ABSENT
    if step == PUNCTUATION:
        return _PUNCTUATION if n > 0 and _counted(word, first, last, facts, IS_MARK) == n else ABSENT
    if step == LENGTH:
        return _LENGTH + min(n, LENGTHS)
    if step == ALLCAPS:
        upper = _counted(word, first, last, facts, IS_UPPER) > 0
        small = _counted(word, first, last, facts, IS_LOWER | IS_TITLE) > 0
        return _ALLCAPS if upper and not small and _counted(word, first, last, facts, IS_LETTER) > 1 else ABSENT
    return ASKED


@part
def _mapped(step: int, word: np.ndarray, first: int, last: int, p: Atoms) -> bool:
    """Map the characters; False if one of them is to be asked for."""
    table = p.lower if step == LOWER else p.normal if step == NORMAL else p.shape
    for i in range(first, last):
        word[i] = table[word[i]]
        if word[i] < 0:
            return False
    return True


@part
def _run(v: int, word: np.ndarray, n: int, p: Atoms) -> tuple[int, int, int]:
    """Take the steps of atom v: (a name, ABSENT, ASKED, or TEXT, and which characters these are)."""
    first, last = 0, n
    for k in range(p.first[v], p.first[v + 1]):
        step, size = p.step[k], int(p.size[k])
        if step in (PREFIX, SUFFIX):
            if last - first < size:
                return ABSENT, 0, 0
            first, last = (first, first + size) if step == PREFIX else (last - size, last)
        elif step == RUNS:
            kept = first
            for i in range(first, last):
                if i == first or word[i] != word[kept - 1]:
                    word[kept] = word[i]
                    kept += 1
            last = kept
        elif step > SUFFIX:
            return _named(step, word, first, last, p), 0, 0
        elif not _mapped(step, word, first, last, p):
            return ASKED, 0, 0
    return TEXT, first, last


@kernel
def hash_atoms(p: Atoms, data: Bytes, start: I64, end: I64) -> tuple[U64_2D, U64_2D, Bool_2D]:
    """Hash and power u64[V, T] of what V atoms make of the words data[start[t]:end[t]] (both 0 if it is absent), and
    which of them are asked for instead."""
    V, T = p.first.size - 1, start.size
    hashes = np.zeros((V, T), np.uint64)
    powers = np.zeros((V, T), np.uint64)
    asked = np.zeros((V, T), np.bool_)
    word = np.empty(LONGEST, np.int32)
    work = np.empty(LONGEST, np.int32)
    name_hash, name_power, limit = p.name_hash, p.name_power, p.facts.size
    for t in range(T):
        n = _read(data, start[t], end[t], limit, word)
        for v in range(V):
            if n < 0:
                asked[v, t] = True
                continue
            for i in range(n):
                work[i] = word[i]
            found, first, last = _run(v, work, n, p)
            if found == TEXT:
                hashes[v, t], powers[v, t] = _hashed(work, first, last)
            elif found >= 0:
                hashes[v, t], powers[v, t] = name_hash[found], name_power[found]
            else:
                asked[v, t] = found == ASKED
    return hashes, powers, asked
