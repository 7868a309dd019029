"""Hashes of atoms by the kernel: as of the strings that the functions of `wordforms` make."""

from __future__ import annotations

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.data import bytes_of, column_of_strings
from palmette.features import atom_function
from palmette.features.atoms import HashedAtoms, TypeMemo, hash_optional, word_atoms
from tests.test_atoms import CASES

CHAINS = ["lower.suffix3", "lower.normal", "normal.short_shape.prefix2", "suffix5.orthography", "number.lower"]
NAMES = [*word_atoms(), *CHAINS, "test:^[A-Z]", "match_lower:[A-Z]+"]
ATOMS = {name: atom_function(name) for name in NAMES}
HASHED, OF_FEW = HashedAtoms(ATOMS), HashedAtoms(ATOMS)
HASHED.many = 0

words = st.lists(
    st.one_of(
        st.text("aBcXIVMm09.-–,'%$/:_½ßΣςéÉǅªʼn�北İſ\u0301", max_size=9),
        st.text(max_size=12),
        st.text("abXIV", min_size=60, max_size=70),
        st.sampled_from([word for cases in CASES.values() for word in cases]),
    ),
    max_size=20,
)


def _expected(cells: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """By calling every atom on every word."""
    pairs = [hash_optional([atom(cell) for cell in cells]) for atom in ATOMS.values()]
    return np.stack([hash for hash, _ in pairs]), np.stack([power for _, power in pairs])


def _assert_as_defined(cells: list[str]) -> None:
    data, offset = bytes_of(cells)
    for atoms in (HASHED, OF_FEW):
        found = atoms.of_words(data, offset[:-1].copy(), offset[1:].copy())
        for own, wanted in zip(found, _expected(cells), strict=True):
            for name, a, b in zip(NAMES, own, wanted, strict=True):
                wrong = np.flatnonzero(a != b)
                assert not wrong.size, (name, cells[wrong[0]])


@given(words)
def test_hashes_are_those_of_the_strings(cells: list[str]) -> None:
    _assert_as_defined([cell for cell in cells if cell.isprintable() or "\ud800" not in cell])


def test_words_of_the_definitions() -> None:
    given = [word for cases in CASES.values() for word in cases]
    _assert_as_defined(
        [cased for word in given for cased in (word, word.upper(), word.title(), word + ".", word + "s")]
    )


@pytest.mark.parametrize("around", ["{}", "{}a", "A{}", "a{}b"])
def test_every_character_of_the_tables(around: str) -> None:
    codes = range(sys.maxunicode + 1) if around == "{}" else range(0x900)
    kept = [chr(code) for code in codes if unicodedata.category(chr(code)) not in ("Cs", "Co", "Cn")]
    step = 97 if around == "{}" else 1
    _assert_as_defined(
        [around.format(character) for character in [*kept[: 0x900 if step > 1 else None], *kept[::step]]]
    )


def test_a_memo_gives_what_it_was_asked_for_first() -> None:
    memo = TypeMemo(ATOMS, most=40)
    for cells in (
        ["IL-2", "a", "b"],
        ["b", "May", "IL-2", "x" * 300],
        [f"word{k}" for k in range(50)],
        ["May", "word3"],
    ):
        for _ in range(2):
            column = column_of_strings(cells)
            for own, wanted in zip(memo.hashed(column), _expected(column.types), strict=True):
                assert np.array_equal(own, wanted)
    assert memo.known.places.size == 5  # one was too long, fifty too many at once, and then one more found room


def test_a_memo_serves_several_threads() -> None:
    memo = TypeMemo({"lower": str.lower}, most=5000)
    blocks = [column_of_strings([f"W{k}" for k in range(b, b + 400)]) for b in range(0, 4000, 100)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(memo.hashed, blocks))
    for block, (hash, power) in zip(blocks, found, strict=True):
        wanted = hash_optional([cell.lower() for cell in block.types])
        assert np.array_equal(hash[0], wanted[0])
        assert np.array_equal(power[0], wanted[1])
    assert memo.known.places.size == 4300
