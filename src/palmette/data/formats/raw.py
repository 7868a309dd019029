"""Raw text as a format: one sentence per line (text) or running text (plain), cut into tokens by `tokeniser`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate, chain

import numpy as np

from palmette.data.corpus import Corpus, Lines, Surface, column_of_strings
from palmette.data.formats.jsonl import write_objects
from palmette.data.formats.labelling import token_records, write_cells
from palmette.data.formats.registry import Format, Output, Parser
from palmette.data.formats.spec import UNITS, FormatSpec
from palmette.data.stream import LINES, Cut, after_blank_line
from palmette.data.text import check_utf8
from palmette.errors import UsageError
from palmette.kernels.io.columns import TAB

# A small tokeniser in the manner of the Penn Treebank, and a simple sentence splitter.
#
# Words are cut at white space, then:
# - punctuation, quotes, brackets, currency and percent signs become tokens; `--`, `...`, two backquotes and two
#   apostrophes stay whole, and so does a run of symbols (an emoji with its modifiers)
# - kept whole: words with inner - & / . ' (hard-fought, AT&T, and/or, O'Neil), numbers (3.5, 1,000, -5, 10:30,
#   1/2, '90s), addresses of web and e-mail, @names and #tags, Penn's brackets (-LRB-)
# - clitics are cut off: do n't, it 's, they 're; so is can not
# - a period stays with an abbreviation (Mr. etc. Inc.), an acronym (U.S. e.g.) and an initial (J.)
# - quotes stay as they are; with `penn_quotes` they become `` and '', for models trained on Penn data
#
# Text without spaces (Chinese, Japanese, Thai) gives one token between punctuation marks; models over
# characters take `character_spans` (unit="char"): each character that is not white space is a token.

Spans = list[tuple[int, int]]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES = _words("mr mrs ms dr prof rev hon gen col lt capt sgt maj cmdr gov sen rep pres messrs mme mlle st mt ft")
ABBREVIATIONS = TITLES | _words(
    "jr sr inc corp co ltd bros dept univ assn etc al cf ca vs viz approx vol pp ph.d jan feb apr aug sep "
    "sept oct nov dec tues thurs fri ave blvd rd calif ariz colo conn fla okla tenn minn"
)
# After an abbreviation that may end a sentence, these capitalised words show that it did.
STARTERS = _words("The A An In On At It He She We They This That These Those But And I If When There His Her")

_REMEMBERED = 64  # characters: the memory is for words
_CHUNK = re.compile(r"\S+")
_ADDRESS = re.compile(
    r"(?:https?://|ftp://|www\.)\S+|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+|-[LR][RSC]B-", re.IGNORECASE
)
_ADDRESS_TAIL = ".,;:!?'\"”’»>]}"
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))\Z", re.IGNORECASE)
_CLITIC_ALONE = re.compile(r"['’](?:s|re|ve|ll|d|m)(?!\w)", re.IGNORECASE)
# Over the classes of characters, see _Classes: a letters, 0 digits, m marks that join to what is before them.
_WORD = r"[a0m]+(?:(?:[-&/.'](?=[a0m])|\\/(?=[a0m])|(?<=0)[,:](?=0))[a0m]+)*"
_TOKEN = re.compile(rf"\.\.+|--+|``|''|'00a?(?![a0m])|[-+]?\.?(?=0){_WORD}|[@#]?{_WORD}|s[sm]*|.", re.DOTALL)
_ACRONYM = re.compile(r"(?:a\.)+a")
_DOUBLE_QUOTES = frozenset(('"', "“", "”", "„", "``", "''"))


class _Classes(dict[int, str]):
    """The class of each character, filled on demand: str.translate turns a text into its shape."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character in "'’":
            kind = "'"
        elif character in "-\u2010\u2011":
            kind = "-"
        elif category[0] == "N":
            kind = "0"
        elif category[0] == "M" or category == "Cf":
            kind = "m"
        elif category[0] in "PS" and character != "_":
            kind = character if code < 128 else "s" if category in ("So", "Sk", "Sm") else "p"
        else:
            kind = "a"
        self[code] = kind
        return kind


_CLASSES = _Classes()


def token_spans(text: str, most: int | None = None) -> Spans:
    """Where the tokens of one sentence start and end. They cover all that is not white space. `most`: end at the first
    word (white space around it) by which there are more tokens than that."""
    spans: Spans = []
    for found in _CHUNK.finditer(text):
        if most is not None and len(spans) > most:
            break
        at, stop = found.span()
        sizes = _remembered_pieces(found[0]) if stop - at <= _REMEMBERED else _pieces(found[0])
        for size in sizes:
            spans.append((at, at + size))
            at += size
    return spans


def character_spans(text: str) -> Spans:
    """The places of the characters that are not white space."""
    return [(k, k + 1) for k, character in enumerate(text) if not character.isspace()]


def _pieces(chunk: str) -> tuple[int, ...]:
    """The lengths of the tokens in a text without white space."""
    if chunk.isalpha() and chunk.lower() != "cannot":
        return (len(chunk),)
    shape = chunk.translate(_CLASSES)
    ends: list[int] = []
    at = 0
    while at < len(chunk):
        stop = _special(chunk, shape, at)
        if stop == 0:
            found = _TOKEN.match(shape, at)
            assert found is not None
            stop = found.end()
            if shape[stop - 1] in "a0m":
                ends += _clitics(chunk, at, stop)
                stop += _has_own_period(chunk, shape, at, stop)
        ends.append(stop)
        at = stop
    return tuple(end - start for start, end in zip([0, *ends[:-1]], ends, strict=True))


_remembered_pieces = lru_cache(1 << 16)(_pieces)


def _special(chunk: str, shape: str, at: int) -> int:
    """The end of an address or of a separate clitic; 0 if there is none."""
    if shape[at] == "'":
        found = _CLITIC_ALONE.match(chunk, at)
        return found.end() if found else 0
    found = _ADDRESS.match(chunk, at)
    if found is None:
        return 0
    address = found[0].rstrip(_ADDRESS_TAIL)
    while address.endswith(")") and address.count("(") < address.count(")"):
        address = address[:-1].rstrip(_ADDRESS_TAIL)
    return at + len(address) if any(c.isalnum() for c in address) else 0


def _clitics(chunk: str, start: int, stop: int) -> list[int]:
    """Where the word is cut before its clitics."""
    cuts: list[int] = []
    while (found := _CLITIC.search(chunk, max(start, stop - 3), stop)) and found.start() > start:
        stop = found.start()
        cuts.append(stop)
    if chunk[start:stop].lower() == "cannot":
        cuts.append(start + 3)
    return cuts[::-1]


def _has_own_period(chunk: str, shape: str, start: int, stop: int) -> bool:
    """Whether the period after a word belongs to it."""
    if shape[stop : stop + 1] != "." or shape[stop : stop + 2] == "..":
        return False
    return _is_abbreviation(chunk[start:stop])


def _is_abbreviation(word: str) -> bool:
    if word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I"):
        return True
    return len(word) <= 16 and _ACRONYM.fullmatch(word.translate(_CLASSES)) is not None


def make_penn_quotes(text: str, tokens: list[str], spans: Spans) -> list[str]:
    """Double quotes as `` and '', single ones as ` and '. A quote opens if a word follows it directly and
    none precedes it; one with spaces on both sides opens if the last one has closed."""
    made = []
    open_quote = False
    for token, (start, end) in zip(tokens, spans, strict=True):
        before = start > 0 and not text[start - 1].isspace() and text[start - 1] not in "([{-—"
        after = end < len(text) and not text[end].isspace()
        if token in _DOUBLE_QUOTES:
            opens = token in ("“", "„", "``") or (token == '"' and not before and (after or not open_quote))
            token = "``" if opens else "''"
            open_quote = opens
        elif token in ("‘", "’", "'"):
            token = "`" if token == "‘" or (token == "'" and after and not before) else "'"
        made.append(token.replace("’", "'"))
    return made


# Running text

_END = re.compile(r"(?:[.!?]+|…)[\"'”’»)\]]*(?=\s|\Z)|[。！？｡]+[」』”’）】]*|\n[^\S\n]*\n")


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of running text start and end: at . ! ? before a word that does not begin in lower
    case, unless the period belongs to an abbreviation; and at blank lines."""
    start = 0
    for found in _END.finditer(text):
        if _ends_sentence(text, start, found):
            yield from _trimmed(text, start, found.end())
            start = found.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    if piece := piece.strip():
        yield start, start + len(piece)


def _ends_sentence(text: str, first: int, found: re.Match[str]) -> bool:
    mark = found[0]
    if mark[0] in "\n。！？｡":
        return True
    following = _CHUNK.search(text, found.end())
    if following is None:
        return True
    after = following[0].lstrip("\"'“‘«([`") or following[0]
    if after[0].islower():
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    start = found.start()
    while start > first and not text[start - 1].isspace():
        start -= 1
    word = text[start : found.start()].lstrip("\"'“‘«([`")
    if word.lower() in TITLES or (len(word) == 1 and word.isupper() and word != "I"):
        return False
    if word.lower() == "no" and after[0].isdigit():
        return False
    return not _is_abbreviation(word) or after in STARTERS


def parse_text(
    data: bytes, source: str, first_line: int = 1, *, unit: str = "word", penn_quotes: bool = False
) -> Corpus:
    """A corpus from raw text, one sentence per line; lines without a word are left out."""
    check_utf8(data, source, first_line)
    text = data.decode()
    rows = text.split("\n")
    starts = accumulate((len(row) + 1 for row in rows), initial=0)
    sentences = [
        (line, start, row.removesuffix("\r"))
        for line, (start, row) in enumerate(zip(starts, rows, strict=False))
        if row and not row.isspace()
    ]
    corpus = _corpus(text, sentences, source, first_line, unit, penn_quotes)
    assert corpus.surface is not None
    corpus.surface.by_line = True
    return corpus


def parse_plain(
    data: bytes, source: str, first_line: int = 1, *, unit: str = "word", penn_quotes: bool = False
) -> Corpus:
    """A corpus from running text. A token's line is the one where its sentence starts."""
    check_utf8(data, source, first_line)
    text = data.decode()
    sentences = []
    line = at = 0
    for start, end in sentence_spans(text):
        line += text.count("\n", at, start)
        at = start
        sentences.append((line, start, text[start:end]))
    return _corpus(text, sentences, source, first_line, unit, penn_quotes)


def _corpus(
    whole: str, sentences: list[tuple[int, int, str]], source: str, first_line: int, unit: str, penn_quotes: bool
) -> Corpus:
    """A corpus of sentences: the line and the character where each starts, and its text."""
    cut = cutter(unit)
    tokens: list[str] = []
    spans: Spans = []
    sizes = []
    for _, _, text in sentences:
        found = cut(text)
        words = [text[a:b] for a, b in found]
        tokens += make_penn_quotes(text, words, found) if penn_quotes else words
        spans += found
        sizes.append(len(found))
    none, at = np.zeros(0, np.int64), np.array([line for line, _, _ in sentences], np.int64)
    places = np.repeat(at, np.array(sizes, np.int64))
    lines = Lines(np.zeros(0, np.uint8), none, none, np.zeros(0, np.uint8), places, none, none, TAB, first_line)
    span = np.fromiter(chain.from_iterable(spans), np.int64, 2 * len(spans))
    starts = np.array([start for _, start, _ in sentences], np.int64)
    surface = Surface([text for _, _, text in sentences], span.reshape(-1, 2), starts, whole)
    offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    columns = [column_of_strings(tokens)] if tokens else []
    return Corpus(offset, columns, lines=lines, surface=surface, source=source)


def cutter(unit: str) -> Callable[[str], Spans]:
    """What cuts a sentence into units."""
    if unit not in UNITS:
        raise UsageError(f"unknown unit {unit!r} of raw text: choose {', '.join(UNITS)}")
    return character_spans if unit == "char" else token_spans


def last_sentence(data: bytes) -> int:
    """The byte where the last sentence of running text starts: the text before it can be read on its own."""
    text = data.decode(errors="surrogateescape")
    start = 0
    for start, _ in sentence_spans(text):  # noqa: B007
        pass
    return len(text[:start].encode(errors="surrogateescape"))


def _parser(spec: FormatSpec, source: str) -> Parser:
    cutter(spec.unit)
    parse = parse_text if spec.format == "text" else parse_plain
    return lambda data, line: parse(data, source, line, unit=spec.unit, penn_quotes=spec.penn_quotes)


_OUTPUTS = {"columns": Output(write_cells), "jsonl": Output(write_objects)}

TEXT = Format(_parser, LINES, _OUTPUTS, records=token_records)
PLAIN = Format(_parser, Cut(after_blank_line, last_sentence), _OUTPUTS, records=token_records)
