"""Tables for the runtime in C, `tables.h`, made from Python's Unicode database and the random numbers of the hashes.

A character has a record: flags, the distance to its small letter, its script and its combining class. Characters are
in blocks of 128; equal blocks and equal records are stored once.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from palmette.features.wordforms import DATE_WORDS, GREEK_NAMES, script_type, shape, skeleton
from palmette.kernels.core.hashing import BASE, RANDOM

BLOCK = 128
FLAGS = (
    "UPPER", "LOWER", "TITLE", "DECIMAL", "ALPHA", "ALNUM", "WORD", "MARK", "VOWEL", "CASED", "IGNORED", "CASELESS",
    "CHANGES", "LETTER_SHAPE", "MAYBE",
)  # fmt: skip
SCRIPTS = (
    "other", "han", "hiragana", "katakana", "hangul", "latin", "letter", "mark", "digit", "punct", "space",
)  # fmt: skip
SIGMA = "\u03a3"
HANGUL = range(0xAC00, 0xD7A4)
JAMO = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # follow others in a composed syllable


def _flags(character: str, seconds: frozenset[str]) -> int:
    upper, small = character.isupper(), character.lower()
    found = {
        "UPPER": upper,
        "LOWER": character.islower(),
        "TITLE": character.istitle() and not upper,
        "DECIMAL": character.isdecimal(),
        "ALPHA": character.isalpha(),
        "ALNUM": character.isalnum(),
        "WORD": character.isalnum() or character == "_",
        "MARK": unicodedata.category(character)[0] in "PS",
        "VOWEL": skeleton(character) == "*" and character != "*",
        "CASED": f"{character}{SIGMA}".lower().endswith("\u03c2"),  # what makes a final sigma of one that follows
        "IGNORED": f"A{character}{SIGMA}".lower().endswith("\u03c2"),
        "CASELESS": small == character.upper(),
        "CHANGES": small != character,
        "LETTER_SHAPE": shape(character) == "c" and character != "c",
        "MAYBE": character in seconds or not unicodedata.is_normalized("NFC", character),
    }
    return sum(1 << k for k, name in enumerate(FLAGS) if found[name])


def _record(code: int, seconds: frozenset[str]) -> tuple[int, ...]:
    character = chr(code)
    small = character.lower()
    delta = ord(small) - code if len(small) == 1 else 0  # the capital I with a dot is two: words.c knows it
    script = SCRIPTS.index(str(script_type(character)))
    return _flags(character, seconds), delta, script, unicodedata.combining(character)


def _compositions() -> list[tuple[int, int, int]]:
    """Characters and the two that they are made of, in canonical decompositions; the second is 0 if it is one."""
    found = []
    for code in range(0x110000):
        text = unicodedata.decomposition(chr(code))
        if text and not text.startswith("<"):
            parts = [int(part, 16) for part in text.split()]
            found.append((code, parts[0], parts[1] if len(parts) > 1 else 0))
    return found


def _lines(numbers: Iterable[int | str]) -> str:
    texts = [str(number) for number in numbers]
    return ",\n".join(",".join(texts[k : k + 32]) for k in range(0, len(texts), 32))


def tables() -> str:
    """The header."""
    compositions = _compositions()
    seconds = frozenset(chr(second) for code, _, second in compositions if second) | frozenset(map(chr, JAMO))
    records: dict[tuple[int, ...], int] = {_record(0x110000 - 1, seconds): 0}  # of characters that do not exist
    blocks: dict[tuple[int, ...], int] = {}
    index = []
    for start in range(0, 0x110000, BLOCK):
        own = []
        for code in range(start, start + BLOCK):
            exists = code not in range(0xD800, 0xE000) and unicodedata.category(chr(code)) not in ("Cn", "Co")
            record = _record(code, seconds) if exists else next(iter(records))
            own.append(records.setdefault(record, len(records)))
        index.append(blocks.setdefault(tuple(own), len(blocks)))
    composed = [_braced(one) for one in compositions]
    order = sorted(
        k for k, (code, _, second) in enumerate(compositions)
        if second and unicodedata.is_normalized("NFC", chr(code))
    )  # fmt: skip
    order.sort(key=lambda k: compositions[k][1:])
    dates = [f"{{{_quoted(row)}}}" for row in sorted(DATE_WORDS.items())]
    parts = [
        "/* Made by tables.py. */",
        f'#define UNICODE_VERSION "{unicodedata.unidata_version}"',
        f"#define BASE UINT64_C({int(BASE)})",
        *(f"#define {name} {1 << k}u" for k, name in enumerate(FLAGS)),
        f"static const uint64_t RANDOM[256] = {{{_lines(f'UINT64_C({int(number)})' for number in RANDOM)}}};",
        "typedef struct { uint32_t flags; int32_t lower; uint8_t script, combining; } record;",
        f"static const record RECORDS[] = {{{_lines(_braced(one) for one in records)}}};",
        f"static const uint16_t INDEX[] = {{{_lines(index)}}};",
        f"static const uint16_t BLOCKS[] = {{{_lines(number for block in blocks for number in block)}}};",
        "typedef struct { uint32_t whole, first, second; } composition;",
        f"static const composition COMPOSED[] = {{{_lines(composed)}}};",
        f"static const uint16_t PAIRS[] = {{{_lines(order)}}};",
        f"static const char *const SCRIPTS[] = {{{_quoted(SCRIPTS)}}};",
        f"static const char *const GREEK_NAMES[] = {{{_quoted(sorted(GREEK_NAMES))}}};",
        f"static const char *const DATE_WORDS[][2] = {{{','.join(dates)}}};",
    ]
    return "\n".join(parts) + "\n"


def _quoted(names: Iterable[str]) -> str:
    return ",".join(f'"{name}"' for name in names)


def _braced(numbers: Iterable[int]) -> str:
    return f"{{{','.join(map(str, numbers))}}}"
