"""Damaged and hostile `.crfsuite` files: a ModelError that names the file and the part, or a model that tags."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import few
from test_imported_crfsuite import trained

from palmette import Tagger
from palmette.connect.crfsuite_models import read_crfsuite
from palmette.errors import DataError, ModelError

GOOD = trained([[(["a", "b"], "X"), (["c"], "Y")], [(["a"], "Y"), (["d", "b"], "Z")]])
INTERESTING = st.one_of(
    st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4, len(GOOD), 48]), st.integers(0, 9999)
)


def reads_or_says(data: bytes) -> None:
    """A model that tags, or a ModelError that names the file."""
    try:
        model = read_crfsuite(data, "bad.crfsuite")
    except ModelError as error:
        if not str(error).startswith("bad.crfsuite"):
            raise
        return
    tagged = model.session().tag([["a", "c"], ["b"], ["nothing"]])
    assert len(tagged) == 3
    assert np.isfinite(model.exact.w).all()


@few(4)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for place, byte in changes:
        data[place] = byte
    reads_or_says(bytes(data))


@few(4)
@given(st.integers(1, 11), INTERESTING)
def test_changed_numbers_of_the_header(place: int, value: int) -> None:
    data = bytearray(GOOD)
    struct.pack_into("<I", data, 4 * place, value)
    reads_or_says(bytes(data))


@few(4)
@given(st.integers(0, len(GOOD) // 4 - 1), INTERESTING)
def test_changed_numbers_anywhere(place: int, value: int) -> None:
    data = bytearray(GOOD)
    struct.pack_into("<I", data, 4 * place, value)
    reads_or_says(bytes(data))


@few(1)
@given(st.integers(0, len(GOOD) - 1))
def test_truncated(size: int) -> None:
    with pytest.raises(ModelError, match="bad"):
        read_crfsuite(GOOD[:size], "bad.crfsuite")


def changed(place: int, form: str, *values: Any) -> bytes:
    data = bytearray(GOOD)
    struct.pack_into(form, data, place, *values)
    return bytes(data)


def header(number: int) -> int:
    return struct.unpack_from("<I", GOOD, 4 * number)[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"lCRF", "truncated|there are 4"),
        (changed(8, "4s", b"XXXX"), "FOMC"),
        (changed(12, "<I", 200), "version 200"),
        (changed(4, "<I", 10**6), "truncated"),
        (changed(20, "<I", 10**8), "labels do not fit"),
        (changed(24, "<I", 10**8), "attributes do not fit"),
        (changed(28, "<I", 2**32 - 1), "features: it should be at byte"),
        (changed(header(7) + 8, "<I", 2**31), "the last of 2,147,483,648 features"),
        (changed(header(7) + 12, "<I", 7), "another kind"),
        (changed(header(7) + 16, "<I", 3), "another kind or source"),
        (changed(header(7) + 20, "<I", 3), "label 3 of 3"),
        (changed(header(7) + 24, "<d", float("nan")), "a weight is nan"),
        (changed(header(7) + 24, "<d", float("inf")), "a weight is inf"),
        (changed(header(8) + 12, "<I", 0x71534462), "big-endian"),
        (changed(header(8) + 24 + 2048 + 8, "1s", b"\xff"), "not UTF-8"),
        (changed(header(8) + 24 + 2048, "<I", 1), "has the string of"),
        (changed(header(8) + 24 + 2048 + 4, "<I", 2**32 - 1), "overlap, or lie outside"),
        (changed(header(10) + 12, "<I", 0), "a reference is at byte"),
        (changed(header(11) + 8, "<I", 1), "are needed"),
    ],
)  # fmt: skip
def test_messages_name_the_field(data: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read_crfsuite(data, "bad.crfsuite")


def test_an_attribute_twice() -> None:
    begin = header(9) + 24 + 2048
    with pytest.raises(ModelError, match="the attribute 'a' occurs twice"):
        read_crfsuite(changed(begin + 10 + 8, "1s", b"a"), "bad.crfsuite")


def test_other_files_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "x.crfsuite"
    path.write_bytes(b"something else entirely")
    with pytest.raises(DataError, match=r"x\.crfsuite"):
        Tagger.load(path)
