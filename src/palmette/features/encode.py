"""From cells to attribute numbers: templates compiled to arrays once, atoms computed once per type.

An `Encoder` has one program per arity of label n-grams (1 label, 2 pair, 3 triple), and one for the observations of
templates that read earlier labels; templates without a cell (`B`) are the chain's own transition weights and have no
program. A `FeatureIndex` maps the 64-bit key of an attribute's string to its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus, bytes_of
from palmette.data.text import NFC, in_form
from palmette.errors import TemplateError, UsageError
from palmette.features.atoms import Atom, TypeMemo, atom_function, hash_optional, lexicon_name
from palmette.features.resources import Resources, match
from palmette.features.templates import LABEL_CONTEXT, Macro, Template, TemplateSet, outside
from palmette.kernels.core.hashing import FeatureIndex, add_all, hash_index, hash_pieces, renumbered, sorted_index
from palmette.kernels.encode import encode as kernels
from palmette.kernels.encode.encode import FIRST, HERE, LAST, AttributeTexts, Program, TemplateCells, Texts, spell
from palmette.kernels.io.columns import join_types
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import spelt

# Feature indexes in their two forms (kernels/core/hashing.py): sorting, growing, dropping attributes.

PER_BUCKET = 4
MOST_BITS = 31


def keys_of(index: FeatureIndex) -> np.ndarray:
    """The key of each attribute, u64[A]."""
    if index.first.size:
        if index.rest.size != index.low.size:
            raise UsageError("a compact model does not have the keys of its attributes: use the full model")
        sizes = index.first[1:] - index.first[:-1]
        bucket = np.repeat(np.arange(sizes.size, dtype=np.uint64), sizes)
        bits = np.uint64(index.bits)
        high = (bucket << (np.uint64(64) - bits)) | (index.low.astype(np.uint64) << (np.uint64(32) - bits))
        return np.asarray(high | index.rest)
    keys = np.zeros(index.size, np.uint64)
    full = index.keys != 0
    keys[index.numbers[full]] = index.keys[full]
    return keys


def in_order_of_keys(index: FeatureIndex) -> tuple[FeatureIndex, np.ndarray] | None:
    """The index in the form of sorted keys, and the old number of each attribute. None where that form cannot be: an
    attribute has no key, or two keys are equal in all bits that are compared."""
    if index.first.size:
        return index, np.arange(index.size)
    keys = keys_of(index)
    order = np.argsort(keys, kind="stable")
    made = of_sorted_keys(keys[order])
    return None if made is None else (made, order)


def of_sorted_keys(keys: np.ndarray) -> FeatureIndex | None:
    """The index of keys u64[A] in rising order. None where that form cannot be; see `in_order_of_keys`."""
    bits = min(MOST_BITS, max(1, (keys.size // PER_BUCKET).bit_length()))
    compared = keys >> np.uint64(32 - bits)
    if keys.size and (keys[0] == 0 or (compared[1:] == compared[:-1]).any()):
        return None
    edges = np.arange(1 << bits, dtype=np.uint64) << np.uint64(32)
    first = np.append(np.searchsorted(compared, edges), keys.size).astype(np.uint32)
    rest = (keys & ((np.uint64(1) << np.uint64(32 - bits)) - np.uint64(1))).astype(np.uint32)
    return sorted_index(first, compared.astype(np.uint32), rest)


def growing(index: FeatureIndex) -> FeatureIndex:
    """A copy of the index as a hash table, with the same numbers, which can grow."""
    if not index.first.size:
        return hash_index(index.keys.copy(), index.numbers.copy(), index.size)
    empty = np.zeros(1 << 12, np.uint64), np.full(1 << 12, -1, np.int32)
    keys, numbers, _, _ = add_all(*empty, 0, keys_of(index))
    return hash_index(keys, numbers, index.size)


def kept_attributes(index: FeatureIndex, keep: np.ndarray) -> FeatureIndex:
    """The index of the attributes in bool[A] alone, numbered anew in the same order."""
    if not index.first.size:
        new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        kept = int(np.count_nonzero(keep))
        keys, numbers = renumbered(index.keys, index.numbers, new, kept)
        return hash_index(keys, numbers, kept)
    made = of_sorted_keys(keys_of(index)[keep]) if index.rest.size else None
    if made is not None:
        return made
    before = np.concatenate(([0], np.cumsum(keep)))
    rest = index.rest[keep] if index.rest.size else index.rest
    return sorted_index(before[index.first].astype(np.uint32), index.low[keep], rest)


def without_keys(index: FeatureIndex) -> FeatureIndex:
    """The index without what only more training needs."""
    return index._replace(rest=np.zeros(0, np.uint32))


LEXICON = "lexicon:"
ANCHORS = {"here": HERE, "first": FIRST, "last": LAST}


class ColumnView(NamedTuple):
    """A column seen through an atom."""

    column: int
    atom: str


class Encoder:
    """A template set with its resources, ready to encode corpora. `unicode`: the form of the cells that it reads; the
    resources are in it already."""

    def __init__(self, templates: TemplateSet, resources: Resources, unicode: str = NFC) -> None:
        self.templates = templates
        self.resources = resources
        self.unicode = unicode
        self.views = sorted({ColumnView(m.column, m.atom) for t in templates.templates for m in t.macros})
        self._functions = {v: self._atom(v.atom) for v in self.views}
        self._memos = {column: TypeMemo(atoms) for column, atoms in self._named_atoms().items()}
        self.programs = {order: self._program(order) for order in (1, 2, 3, LABEL_CONTEXT) if self.of_order(order)}

    def _named_atoms(self) -> dict[int, dict[str, Atom]]:
        """The atoms of each column by name. They are functions of a cell alone, unlike lexicons."""
        found: dict[int, dict[str, Atom]] = {}
        for view, atom in self._functions.items():
            if atom is not None:
                found.setdefault(view.column, {})[view.atom] = atom
        return found

    @property
    def n_columns(self) -> int:
        """The number of columns that the templates read."""
        return max((view.column + 1 for view in self.views), default=0)

    def of_order(self, order: int) -> list[Template]:
        """The templates with weights of that order. A bare one of order 1 fires everywhere: a label's bias."""
        always = (1, LABEL_CONTEXT)
        return [t for t in self.templates.templates if order in t.orders and (t.macros or order in always)]

    def is_bare(self, order: int) -> bool:
        """Whether plain transitions of that order are asked for."""
        return any(order in t.orders and not t.macros for t in self.templates.templates)

    def _atom(self, name: str) -> Callable[[str], str | None] | None:
        lexicon = lexicon_name(name)
        if lexicon is not None and lexicon not in self.resources.lexicons:
            given = ", ".join(self.resources.lexicons) or "none"
            raise TemplateError(
                f"the templates ask for the lexicon `{lexicon}`",
                hint=f"given: {given}; give it: {spelt(TaggerOptions, 'lexicons', {lexicon: 'FILE'})}",
            )
        if not name or lexicon is not None:
            return None
        return atom_function(name, self.resources)

    def _program(self, order: int) -> Program:
        templates = self.of_order(order)
        macros = [macro for t in templates for macro in t.macros]
        numbers = {view: k for k, view in enumerate(self.views)}
        before, tail, edge = self._literal_texts(order)
        shape = (max(1, len(self.views)), -1)
        before_hash, before_power = hash_pieces(before.data, before.offset)
        tail_hash, tail_power = hash_pieces(tail.data, tail.offset)
        edge_hash, edge_power = hash_pieces(edge.data, edge.offset)
        edge_power[[value is None for value in self._edges(order)]] = 0
        return Program(
            np.cumsum([0, *(len(t.macros) for t in templates)]).astype(np.int32),
            np.array([m.row for m in macros], np.int32),
            np.array([ANCHORS[m.anchor] for m in macros], np.int32),
            np.array([numbers[_view(m)] for m in macros], np.int32),
            before_hash,
            before_power,
            tail_hash,
            tail_power,
            edge_hash.reshape(shape),
            edge_power.reshape(shape),
            max(0, order - 1),
        )

    def _edges(self, order: int) -> list[str | None]:
        """The cells of each view outside of the sentence, at the distances -R..R."""
        reach = max((abs(m.row) for t in self.of_order(order) for m in t.macros), default=0)
        distances = range(-reach, reach + 1)
        return [self._outside(v, d) for v in self.views for d in distances] or [None]

    def _outside(self, view: ColumnView, distance: int) -> str | None:
        if distance == 0:
            return None
        atom = self._functions[view] or (lambda cell: cell)
        return outside(self.templates.syntax, distance, atom)

    def _literal_texts(self, order: int) -> tuple[Texts, Texts, Texts]:
        """The literals before the macros, those after the last one, and the cells outside."""
        templates = self.of_order(order)
        before = [t.literals[k] for t in templates for k in range(len(t.macros))]
        tail = [t.literals[-1] for t in templates]
        edge = [value or "" for value in self._edges(order)]
        return Texts(*bytes_of(before)), Texts(*bytes_of(tail)), Texts(*bytes_of(edge))

    def column(self, corpus: Corpus, c: int) -> Column:
        """A column of the corpus as templates see it."""
        return corpus.columns[c].in_form(self.unicode)

    def cells(self, corpus: Corpus) -> TemplateCells:
        """The hashes of every view of the corpus' types."""
        ids = [self.column(corpus, c).ids for c in range(self.n_columns)]
        hashed = {c: self._hashed(c, self.column(corpus, c)) for c in self._memos}
        column_of, hashes, powers = [], [], []
        for view in self.views:
            column = self.column(corpus, view.column)
            if view.atom.startswith(LEXICON):
                matched, values = self._matched(view, corpus)
                hash, power = hash_optional(values)
                column_of.append(len(ids))
                ids.append(matched)
            elif view.atom:
                hash, power = hashed[view.column][view.atom]
                column_of.append(view.column)
            else:
                hash, power = column.hash, column.power
                column_of.append(view.column)
            hashes.append(hash)
            powers.append(power)
        start = np.cumsum([0, *(hash.size for hash in hashes)]).astype(np.int64)
        if not ids:
            ids = [np.zeros(corpus.n_tokens, np.int32)]
        empty = [np.zeros(0, np.uint64)]
        return TemplateCells(
            np.stack(ids), np.array(column_of, np.int32), start,
            np.concatenate(hashes or empty), np.concatenate(powers or empty),
        )  # fmt: skip

    def views_of(self, column: int) -> list[int]:
        """The views that look at a column, by number."""
        return [k for k, view in enumerate(self.views) if view.column == column]

    def texts_of(self, column: int, cells: Sequence[str]) -> list[str | None]:
        """Each cell of a column in each of its views, cell by cell. For views that look at single cells, not lexicons;
        nothing is remembered."""
        atoms = [self._functions[self.views[k]] for k in self.views_of(column)]
        return [cell if atom is None else atom(cell) for cell in in_form(cells, self.unicode) for atom in atoms]

    def _values(self, view: ColumnView, column: Column) -> list[str | None]:
        atom = self._functions[view]
        assert atom is not None
        return [atom(cell) for cell in column.types]

    def _hashed(self, c: int, column: Column) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Hash and power of each type of column c, by the name of an atom. The column keeps those that depend on the
        type alone: several models may read it, one after the other."""
        kept: dict[str, tuple[np.ndarray, np.ndarray]] = column.__dict__.setdefault("atoms", {})
        memo = self._memos[c]
        if all(":" not in name and name in kept for name in memo.names):
            return kept
        made = dict(zip(memo.names, zip(*memo.hashed(column), strict=True), strict=True))
        kept.update((name, pair) for name, pair in made.items() if ":" not in name)
        return made

    def _matched(self, view: ColumnView, corpus: Corpus) -> tuple[np.ndarray, list[str | None]]:
        lexicon = self.resources.lexicons[view.atom.removeprefix(LEXICON)]
        column = self.column(corpus, view.column)
        return match(lexicon, column.ids, corpus.offset, column.types)

    def _cell_texts(self, corpus: Corpus) -> Texts:
        """The strings of `cells`, in their order."""
        pieces = []
        for view in self.views:
            column = self.column(corpus, view.column)
            if not view.atom:
                text, offset = join_types(column.data, column.start, column.end)
            else:
                in_lexicon = view.atom.startswith(LEXICON)
                values = self._matched(view, corpus)[1] if in_lexicon else self._values(view, column)
                text, offset = bytes_of([value or "" for value in values])
                text = text[: offset[-1]]
            pieces.append((text, np.diff(offset)))
        sizes = np.concatenate([size for _, size in pieces] or [np.zeros(0, np.int64)])
        return Texts(
            np.concatenate([*(text for text, _ in pieces), np.zeros(1, np.uint8)]),
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        )

    def spell(
        self, order: int, corpus: Corpus, cells: TemplateCells, first: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Bytes and offsets of the strings of the attributes that first occurred at `first`."""
        texts = self._cell_texts(corpus)
        pieces = AttributeTexts(texts, *self._literal_texts(order))
        return spell(self.programs[order], cells, corpus.offset, first, pieces)

    def encode(
        self, order: int, cells: TemplateCells, offset: np.ndarray, feature_index: FeatureIndex, grow: bool
    ) -> tuple[np.ndarray, np.ndarray, FeatureIndex, np.ndarray]:
        """(ptr, att, feature_index, first) of one order; see the kernel."""
        program = self.programs[order]
        ptr, att, keys, numbers, first = kernels.encode(program, cells, offset, feature_index, grow)
        return ptr, att, hash_index(keys, numbers, first.size) if grow else feature_index, first


def _view(macro: Macro) -> ColumnView:
    return ColumnView(macro.column, macro.atom)


def new_feature_index(capacity: int = 1 << 12) -> FeatureIndex:
    """An empty feature index with places for about `capacity` attributes."""
    size = 1 << max(12, int(2 * capacity - 1).bit_length())
    return hash_index(np.zeros(size, np.uint64), np.full(size, -1, np.int32), 0)
