"""Text files as lines of UTF-8, whatever their encoding and line ends; and text written in an encoding.

A line ends with LF, CRLF or a lone CR (files of old Macintoshes). LF and CRLF stay as they are, so that a file can be
written back byte for byte; a lone CR becomes LF, wherever it is. CR CR LF, which programs for Windows make when they
convert line ends twice, is one line end. No line may be longer than `max_line` bytes, which is checked while the file
is read and decompressed: a small gzip file may unpack to a line that does not fit into memory.
"""

from __future__ import annotations

import codecs
import contextlib
import logging
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, cast

from palmette.data.files import BLOCK, FilePath, read_blocks, shown, write_whole
from palmette.errors import DataError
from palmette.options.declare import OptionError, Value, option
from palmette.options.spelling import argument, spelt

# Unicode normal form C: what looks the same is the same.
#
# A letter with an accent can be one character (NFC) or a letter and a mark that follows it (NFD, as macOS writes
# names of files). Models read NFC, so that both are one word; text is written back as it was. Most text is in NFC
# already, and finding that out is nearly free: characters below U+0300 are, which bytes show.

NFC, NONE = "nfc", "none"


def nfc(text: str) -> str:
    """A string in NFC."""
    if text.isascii():
        return text
    from unicodedata import is_normalized, normalize

    return text if is_normalized("NFC", text) else normalize("NFC", text)


def in_form(texts: Iterable[str], form: str) -> list[str]:
    """Strings in a form, NFC or NONE."""
    return list(map(nfc, texts)) if form == NFC else list(texts)


logger = logging.getLogger(__name__)

UTF8 = "utf-8"
MAX_LINE, MAX_CELL = 16 << 20, 1 << 20  # bytes of UTF-8 that are read, unless the user allows more
SENTENCE = 4
"""Times as long as a line may be, a sentence of several lines may be when a file is read in blocks."""

CONVERT = "convert the file to UTF-8, for example from Latin-1: iconv -f LATIN1 -t UTF-8"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_STREAM = ("idna", "punycode", "undefined")  # text encodings that a text cannot be cut in, or that do nothing
_LONE_CR = re.compile(rb"\r(?!\n)")
_LINE_END = re.compile(r"\r\n|\r|\n")


def check_encoding(name: str) -> None:
    """OptionError if Python has no such text encoding."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.name in _NO_STREAM or found.incrementaldecoder is None:
        raise OptionError("encoding", f"there is no text encoding {name!r}; examples: utf-8, latin-1, cp1252, utf-16")


class TextSpec(Value):
    """How the bytes of a text file become lines and cells."""

    parameter = "spec"
    called = "FormatSpec"  # which has these options too, and which every function takes
    encoding: str = option(
        default=UTF8, group="data", metavar="NAME", check=check_encoding,
        help="Encoding of the data, by its name in Python: utf-8, latin-1, cp1252, utf-16, ... What is made from the "
        "data is written in it, too. A model does not remember it.",
    )  # fmt: skip
    max_line: int = option(
        default=MAX_LINE, low=1, high=1 << 40, group="data", metavar="BYTES",
        help=f"Longest line that is read, in UTF-8; a sentence of several lines may have {SENTENCE} times as many "
        "bytes when a file is tagged or parsed.",
    )  # fmt: skip
    max_cell: int = option(
        default=MAX_CELL, low=1, high=1 << 40, group="data", metavar="BYTES",
        help="Longest cell, label or name of an attribute that is read, in UTF-8.",
    )  # fmt: skip


PLAIN = TextSpec()


def is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == UTF8


# Reading

_LOOKED, _ENOUGH = 1 << 16, 16  # bytes of a file by which its kind is known: at most, and at least
# What other files begin with, what they are, and what to do
_NOT_TEXT = (
    (b"lCRF", "a model of CRFsuite", "give the file with the sentences here"),
    (b"PAR1", "a Parquet file", "`palmette tag MODEL FILE -o out.parquet` reads it; else write it as JSON lines"),
    (b"ARROW1", "an Arrow file", "`palmette tag MODEL FILE -o out.arrow` reads it; else write it as JSON lines"),
    (b"PK\x03\x04", "a zip file (as .xlsx, .docx and .npz are)", "unpack it, or save its text"),
    (b"SQLite format 3\0", "an SQLite database", "export the sentences as text"),
    (b"%PDF-", "a PDF file", "extract its text first, for example by pdftotext"),
    (b"\x7fELF", "a program", None),
    (b"\x89PNG", "a picture", None),
    (b"\xff\xd8\xff", "a picture", None),
    ((b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a pickle", "write its sentences as JSON lines"),
)


def text_blocks(path: FilePath, spec: TextSpec = PLAIN, block: int = BLOCK) -> Iterator[bytes]:
    """A file in pieces of about `block` bytes of UTF-8 (which is not checked if it is the file's own encoding), with
    line ends LF and CRLF; from a pipe, in pieces as they arrive."""
    file = shown(path)
    pieces: Iterable[bytes] = _checked_head(read_blocks(path, block), file, is_utf8(spec.encoding))
    if not is_utf8(spec.encoding):
        pieces = _decoded(pieces, spec.encoding, file)
    return _lines(pieces, spec.max_line, file)


def _checked_head(pieces: Iterable[bytes], file: str, utf8: bool) -> Iterator[bytes]:
    """The pieces of a file; DataError if it begins as a file of another kind. Pieces may be of any size: the first ones
    are joined until there is a line, or enough to tell."""
    head, rest = b"", iter(pieces)
    for piece in rest:
        head += piece
        if len(head) >= _ENOUGH or b"\n" in head:
            break
    if head:
        _check_is_text(head, file)
        if utf8 and b"\0" in head[:_LOOKED] and not head.startswith(_UTF16) and not _is_utf8(head[:_LOOKED]):
            raise DataError("is a binary file, not text", file=file, hint="is it the file that you mean?")
        yield head
    yield from rest


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.utf_8_decode(head, "strict", False)
    except UnicodeDecodeError:
        return False
    return True


def _check_is_text(head: bytes, file: str) -> None:
    if head[8:9] == b"{":
        from palmette.data.model_file import HEADER_LIMIT

        if int.from_bytes(head[:8], "little") <= HEADER_LIMIT:  # eight characters of a text are a large number
            raise DataError("is a model, not data", file=file, hint="give the file with the sentences here")
    for magic, what, hint in _NOT_TEXT:
        if head.startswith(magic):
            raise DataError(f"is {what}, not text", file=file, hint=hint)


def read_text(path: FilePath, spec: TextSpec = PLAIN) -> bytes:
    """A whole file as UTF-8 with line ends LF and CRLF."""
    return b"".join(text_blocks(path, spec))


def n_line_ends(data: bytes) -> int:
    """The number of LFs."""
    import numpy as np  # the help of commands, which reads the options above, does not wait for it

    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))  # a third of the time of bytes.count


class _LoneCrs:
    """Replaces lone CRs by LF, piece by piece, and remembers where they were."""

    def __init__(self) -> None:
        self.held = b""  # what ended the last piece and may be half of a line end
        self.n = 0
        self.first: int | None = None  # the line that the first one ends
        self.others = False  # whether some lines end with LF

    def without(self, piece: bytes, line: int) -> bytes:
        """A piece that begins in a line with LF in place of lone CRs."""
        data = self.held + piece if self.held else piece
        self.held = b""
        if b"\r" in data:
            self.held = b"\r" * min(2, len(data) - len(data.rstrip(b"\r")))
            data = data.removesuffix(self.held).replace(b"\r\r\n", b"\r\n")
        self.others = self.others or b"\n" in data
        at = _LONE_CR.search(data) if b"\r" in data else None
        if at is None:
            return data
        self.first = self.first or line + n_line_ends(data[: at.start()])
        data, n = _LONE_CR.subn(b"\n", data)
        self.n += n
        return data

    def rest(self) -> bytes:
        """The line ends at the end of the file."""
        self.n += len(self.held)
        return b"\n" * len(self.held)

    def report(self, file: str) -> None:
        if self.first is not None and self.others:
            ends = f"{self.n:,} lone CRs end lines" if self.n > 1 else "a lone CR ends a line"
            logger.warning("%s:%d: %s here; other lines end with LF", file, self.first, ends)


def _lines(pieces: Iterable[bytes], most: int, file: str) -> Iterator[bytes]:
    """Pieces with LF in place of lone CRs, whose lines are not longer than `most` bytes: DataError at a longer one."""
    crs = _LoneCrs()
    line, size = 1, 0  # the line that the piece begins in, and its bytes so far
    for given in chain(pieces, (None,)):
        piece = crs.rest() if given is None else crs.without(given, line)
        start = -size
        while len(piece) - start > most:
            end = piece.rfind(b"\n", max(start, 0), start + most + 1)
            if end < 0:
                raise _too_long(piece[max(start, 0) :], most, file, line + n_line_ends(piece[: max(start, 0)]))
            start = end + 1
        if piece:
            yield piece
        line += n_line_ends(piece)
        last = piece.rfind(b"\n")
        size = size + len(piece) if last < 0 else len(piece) - last - 1
    crs.report(file)


def _too_long(text: bytes, most: int, file: str, line: int) -> DataError:
    return DataError(
        f"a line of more than {most:,} bytes: {text[:40].decode(errors='replace')!r} ...", file=file, line=line,
        hint=f"is this the right file? If lines are that long: {spelt(TextSpec, 'max_line')}",
    )  # fmt: skip


def _decoded(pieces: Iterable[bytes], encoding: str, file: str) -> Iterator[bytes]:
    """Pieces in UTF-8. Characters may be cut between pieces: the decoder keeps their first bytes."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, begun = 1, False
    try:
        for piece in pieces:
            text = decoder.decode(piece)
            if text and not begun:
                begun, text = True, text.removeprefix("\ufeff")
            yield text.encode()
            line += len(_LINE_END.findall(text))
        yield decoder.decode(b"", True).encode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(encoding, errors="replace")
        found = bytes(error.object[error.start : error.start + 1])
        message = f"not {encoding}: byte 0x{found.hex()} ({error.reason})"
        raise DataError(message, file=file, line=line + len(_LINE_END.findall(before)), hint=_other()) from None
    except UnicodeError as error:
        raise DataError(f"not {encoding}: {error}", file=file, hint=_other()) from None


def _other() -> str:
    return f"choose the encoding of the file: {spelt(TextSpec, 'encoding')}"


def decoded_head(head: bytes, encoding: str) -> bytes:
    """The beginning of a file as UTF-8, as far as it can be decoded."""
    if is_utf8(encoding):
        return head
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    try:
        return decoder.decode(head).removeprefix("\ufeff").encode(errors="replace")
    except UnicodeError:  # no byte order mark: whoever reads the file says so
        return b""


def check_utf8(data: bytes, file: str, first_line: int = 1, hint: str | None = None) -> None:
    """Raise DataError at the first byte that is not UTF-8.

    `data` begins at the start of line `first_line` and does not end inside a line. `hint`: what to do about it, if the
    file has no choice of encodings.
    """
    if data.isascii():
        return
    view = memoryview(data)
    at = 0
    # By slices: one emoji makes a Python string take four bytes per character.
    while at < len(data):
        end = at + BLOCK
        try:
            at += codecs.utf_8_decode(view[at:end], "strict", end >= len(data))[1]
        except UnicodeDecodeError as error:
            raise _not_utf8(data, at + error.start, error.reason, file, first_line, hint) from None


def _not_utf8(data: bytes, at: int, reason: str, file: str, first_line: int, hint: str | None) -> DataError:
    line = first_line + data.count(b"\n", 0, at)
    column = at - data.rfind(b"\n", 0, at)  # rfind is -1 on the first line: bytes count from 1 on every line
    if data.startswith(_UTF16):
        utf16 = spelt(TextSpec, "encoding", "utf-16")
        hint = f"this looks like UTF-16: {utf16}, or convert it: iconv -f UTF-16 -t UTF-8"
    elif hint is None:
        hint = f"is it in another encoding? For example: {spelt(TextSpec, 'encoding', 'latin-1')}"
    message = f"not UTF-8: byte 0x{data[at]:02x} at byte {column} of the line ({reason})"
    return DataError(message, file=file, line=line, hint=hint)


# Writing


@contextlib.contextmanager
def write_text(path: FilePath, encoding: str = UTF8) -> Iterator[BinaryIO]:
    """`write_whole` for text: what is written as UTF-8 comes out in another encoding."""
    with write_whole(path) as out:
        if is_utf8(encoding):
            yield out
            return
        encoded = _EncodedFile(out, encoding, shown(path, "<stdout>"))
        yield cast(BinaryIO, encoded)
        encoded.finish()


class _EncodedFile:
    """A file that takes whole characters of UTF-8."""

    def __init__(self, out: BinaryIO, encoding: str, file: str) -> None:
        self.out, self.encoding, self.file = out, encoding, file
        self.encoder = codecs.getincrementalencoder(encoding)()

    def write(self, data: Any) -> int:
        text = bytes(data).decode()
        try:
            return self.out.write(self.encoder.encode(text))
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            line = error.object[: error.start].rpartition("\n")[2] + error.object[error.start :].partition("\n")[0]
            raise DataError(
                f"{character!r} (U+{ord(character):04X}) cannot be written in {self.encoding}: {line[:60]!r}",
                file=self.file, hint=f"choose an encoding that has it: {argument('output_encoding')}",
            ) from None  # fmt: skip

    def finish(self) -> None:
        """Write what ends a text in this encoding."""
        self.out.write(self.encoder.encode("", True))
