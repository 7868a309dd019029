"""Feature templates of the parser: one template per line, made of named atoms.

    s0.wt s1.t          # word and tag of the top of the stack, tag of the second
    s0.l.t s0.t s1.t
    s0.w distance

An atom is a node and what is read of it. Nodes: s0, s1, s2 (stack), q0 ... q3 (the words to come), and the outermost
children of a stack node: s0.l, s0.r, and the ones next to them, s0.l2, s0.r2. What is read: w form, m lemma, u UPOS,
x XPOS, t tag (XPOS, or UPOS if there is none), f all morphological features, f:Case one of them, f:Case+Number several
as one, c the cluster of the form, c4 the first 4 characters of its path; of a child also `rel`, its relation, and `v`,
the hidden variant of its arc; of a stack node vl and vr (how many dependants it has on a side) and sl and sr (the set
of their relations). Letters may stand together: s0.wt is s0.w s0.t. `distance` is that between s0 and s1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from palmette.data.corpus import Column, bytes_of, column_of_strings
from palmette.data.files import FilePath, shown
from palmette.data.text import CONVERT, check_utf8, read_text
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import PalmetteError, UsageError
from palmette.features.resources import Clusters
from palmette.kernels.core.hashing import hash_pieces
from palmette.options.declare import OptionError
from palmette.parsing.kernels.forms import (
    CELL,
    CHILDREN,
    DISTANCE,
    LEFT_SET,
    LEFT_VALENCY,
    Q0,
    RELATION,
    RIGHT_SET,
    RIGHT_VALENCY,
    S2,
    VARIANT,
)

# After Huang & Sagae 2010: words and tags of the top of the stack and of the buffer, tags of outermost children. It
# reads no relations, so that many states look alike and merge.
BASIC = """
s0.w
s0.t
s0.wt
s1.w
s1.t
s1.wt
q0.w
q0.t
q0.wt
s0.w s1.w
s0.t s1.t
s0.t q0.t
s0.wt s1.t
s0.t s1.wt
s0.w s1.wt
s0.wt s1.w
s0.wt s1.wt
s0.t q0.t q1.t
s1.t s0.t q0.t
s0.w q0.t q1.t
s1.t s0.w q0.t
s1.t s1.l.t s0.t
s1.t s1.r.t s0.t
s1.t s0.t s0.l.t
s1.t s0.t s0.r.t
s1.t s1.l.t s0.w
s1.t s1.r.t s0.w
s1.t s0.w s0.l.t
s2.t s1.t s0.t
"""

# More of the same, and what Zhang & Nivre 2011 added: distance, valency, second children, sets of relations
MORE = """
q1.w
q1.t
q1.wt
q2.t
q2.wt
s2.t
s2.w
s0.w q0.w
s0.wt q0.t
s0.t q0.wt
s0.wt q0.wt
s1.t q0.t
s1.w q0.w
s1.wt q0.t
q0.t q1.t
q0.t q1.t q2.t
s1.t q0.t q1.t
s0.u s1.u
s0.u s1.u q0.u
s0.wu s1.u
s0.u s1.wu
s0.f s1.f
s0.m s1.m
s0.m s1.u
s0.u s1.m
s0.u q0.m
s0.m q0.u

s0.w distance
s0.t distance
s1.w distance
s1.t distance
s0.w s1.w distance
s0.t s1.t distance

s0.w s0.vl
s0.t s0.vl
s0.w s0.vr
s0.t s0.vr
s1.w s1.vl
s1.t s1.vl
s1.w s1.vr
s1.t s1.vr
s0.t s1.t s0.vl s1.vr

s0.l.w
s0.l.t
s0.l.rel
s0.r.w
s0.r.t
s0.r.rel
s1.l.w
s1.l.t
s1.l.rel
s1.r.w
s1.r.t
s1.r.rel
s0.l2.t
s0.l2.rel
s0.r2.t
s0.r2.rel
s1.l2.t
s1.l2.rel
s1.r2.t
s1.r2.rel
s0.t s0.l.t s0.l2.t
s0.t s0.r.t s0.r2.t
s1.t s1.l.t s1.l2.t
s1.t s1.r.t s1.r2.t
s0.t s0.l.rel s0.l2.rel
s0.t s0.r.rel s0.r2.rel
s1.t s1.l.rel s1.l2.rel
s1.t s1.r.rel s1.r2.rel
s0.t s1.t s1.r.rel
s0.t s1.t s0.l.rel
s0.t s1.t s1.r.w
s0.t s1.t s0.l.w
s1.t s0.t s1.r.t s0.l.t
s1.t s0.t s0.r.t q0.t

s0.w s0.sl
s0.t s0.sl
s0.w s0.sr
s0.t s0.sr
s1.w s1.sl
s1.t s1.sl
s1.w s1.sr
s1.t s1.sr
"""

# The variants of arcs to children, for parsers with hidden variants
VARIANTS = """
s0.t s0.l.rel s0.l.v
s0.t s0.r.rel s0.r.v
s1.t s1.l.rel s1.l.v
s1.t s1.r.rel s1.r.v
s0.w s0.l.rel s0.l.v
s1.w s1.r.rel s1.r.v
s0.t s1.t s0.l.rel s0.l.v
s0.t s1.t s1.r.rel s1.r.v
"""

# Clusters of the words, for parsers that have some (Koo et al. 2008): beside and in place of words and tags
CLUSTERED = """
s0.c
s1.c
q0.c
s0.c4 s1.c4
s0.c6 s1.c6
s0.c10 s1.c10
s0.c s1.c
s0.c4 q0.c4
s0.c6 q0.c6
s0.c q0.c
s0.w s1.c
s0.c s1.w
s0.t s1.c
s0.c s1.t
s0.c4 s1.c4 q0.c4
s0.c6 s1.c6 q0.t
s0.c6 distance
s1.c6 distance
s0.c6 s1.c6 distance
s0.l.c6 s0.c6
s0.r.c6 s0.c6
s1.l.c6 s1.c6
s1.r.c6 s1.c6
"""

SETS = {"basic": BASIC, "rich": BASIC + MORE, "latent": BASIC + MORE + VARIANTS}


FIELDS = {"w": "form", "m": "lemma", "u": "upos", "x": "xpos", "f": "feats"}
_LETTERS = frozenset("wmuxtf")
_CLUSTER = re.compile(r"c(?:[1-9][0-9]{0,3})?")
_CHILD = {"l": 0, "l2": 1, "r": 2, "r2": 3}
_COUNTS = {"vl": LEFT_VALENCY, "vr": RIGHT_VALENCY, "sl": LEFT_SET, "sr": RIGHT_SET}
_NODE = re.compile(r"(s[012]|q[0123])(?:\.(l2?|r2?))?(?=\.|$)")
MOST_TEMPLATES = 1000

Atom = tuple[int, int, int]  # kind, node, column


@dataclass(frozen=True)
class Templates:
    """A set of templates, compiled."""

    name: str
    text: str
    columns: tuple[str, ...]  # what atoms of the kind CELL read, by column
    atoms: tuple[Atom, ...]  # those of the templates first
    lists: tuple[tuple[int, ...], ...]  # atoms of each template
    seeds: tuple[int, ...]  # a hash of each template's spelling
    clusters: Clusters | None = None  # what the atoms c read

    @property
    def stack(self) -> tuple[int, ...]:
        """The atoms that look at the stack: they distinguish states."""
        return tuple(k for k, (_, node, _) in enumerate(self.atoms) if node < Q0 or node > Q0 + 3)

    @property
    def reads_relations(self) -> bool:
        """Whether states with different relations, or variants of arcs, differ."""
        return any(kind in (RELATION, VARIANT, LEFT_SET, RIGHT_SET) for kind, _, _ in self.atoms)

    @property
    def reads_variants(self) -> bool:
        return any(kind == VARIANT for kind, _, _ in self.atoms)

    def with_clusters(self, clusters: Clusters) -> Templates:
        """The templates, and those of CLUSTERED unless they read clusters already."""
        more = "" if any(_is_cluster(name) for name in self.columns) else CLUSTERED
        return replace(compile_templates(self.text + more, self.name), clusters=clusters)

    def check_clusters(self) -> None:
        """UsageError if templates read clusters and there are none."""
        if self.clusters is None and any(_is_cluster(name) for name in self.columns):
            raise UsageError(f"{self.name}: its templates read clusters, and none are given")


def choose_templates(features: str | FilePath) -> Templates:
    """A named set, or a file."""
    if isinstance(features, str) and features in SETS:
        return compile_templates(SETS[features], features)
    try:
        data = read_text(features)
    except (PalmetteError, OSError, TypeError, ValueError) as error:  # also of a name that is none
        names = ", ".join(("auto", *SETS))
        raise OptionError(
            "features", f"{str(features)!r} is neither a named set ({names}) nor a readable file"
        ) from error
    check_utf8(data, shown(features), hint=CONVERT)
    return compile_templates(data.decode(), shown(features))


def compile_templates(text: str, name: str) -> Templates:
    """Compile the lines of a set; an error names the line."""
    columns: dict[str, int] = {}
    atoms: dict[Atom, int] = {}
    lists: dict[tuple[int, ...], str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        found = [atom for word in words for atom in _atoms(word, columns, f"{name}, line {number}")]
        chosen = tuple(sorted({atoms.setdefault(atom, len(atoms)) for atom in found}))
        spelt = " ".join(sorted(words))
        if chosen in lists:
            raise UsageError(f"{name}, line {number}: this template repeats `{lists[chosen]}`")
        lists[chosen] = spelt
    if not lists:
        raise UsageError(f"{name}: there is no template in it; write one per line, such as `s0.wt s1.t`")
    if len(lists) > MOST_TEMPLATES:
        raise UsageError(f"{name}: {len(lists)} templates; at most {MOST_TEMPLATES}")
    for atom in _seen_later(list(atoms)):
        atoms.setdefault(atom, len(atoms))
    hashes, _ = hash_pieces(*bytes_of(list(lists.values())))
    return Templates(name, text, tuple(columns), tuple(atoms), tuple(lists), tuple(int(h) for h in hashes))


def _seen_later(atoms: list[Atom]) -> list[Atom]:
    """Atoms that templates may read later of states that look alike to them now, so that such states are told apart:
    what is read of a deeper node is read of the higher ones, which sink; and what is read of a second child is read of
    the first one of the top, which becomes the second when there is another. The cells of the top itself are not
    needed, since its position is part of the signature."""
    found: list[Atom] = []
    for kind, node, column in atoms:
        if S2 < node < CHILDREN or kind == DISTANCE:
            continue
        depth, child = (node, None) if node < CHILDREN else divmod(node - CHILDREN, 4)
        for above in range(depth - 1, -1, -1):
            if child is not None:
                found.append((kind, CHILDREN + 4 * above + child, column))
            elif kind != CELL or above > 0:
                found.append((kind, above, column))
        if child in (_CHILD["l2"], _CHILD["r2"]):
            found.append((kind, CHILDREN + child - 1, column))
    return found


def _atoms(word: str, columns: dict[str, int], where: str) -> list[Atom]:
    """The atoms of one word of a template line."""
    if word == "distance":
        return [(DISTANCE, 0, 0)]
    node = _NODE.match(word)
    if node is None:
        raise UsageError(
            f"{where}: {word!r} does not begin with a node; nodes are s0 s1 s2 q0 q1 q2 q3 and s0.l, s0.r2 ..."
        )
    number = int(node[1][1]) + (0 if node[1][0] == "s" else Q0)
    if node[2]:
        if number > S2:
            raise UsageError(f"{where}: {word!r}: only nodes of the stack have children")
        number = CHILDREN + 4 * number + _CHILD[node[2]]
    read = word[node.end() + 1 :]
    if read in ("rel", "v"):
        if not node[2]:
            raise UsageError(f"{where}: {word!r}: only a child has a relation (s0.l.rel) or a variant (s0.l.v)")
        return [(RELATION if read == "rel" else VARIANT, number, 0)]
    if read in _COUNTS:
        if number > S2:
            raise UsageError(f"{where}: {word!r}: only stack nodes have {read}, as in s0.{read}")
        return [(_COUNTS[read], number, 0)]
    alone = (read.startswith("f:") and all(read[2:].split("+"))) or _is_cluster(read)
    names = [read] if alone else list(read)
    if not alone and not (names and _LETTERS.issuperset(names)):
        raise UsageError(
            f"{where}: {word!r}: {read!r} is not one of w m u x t f f:NAME f:NAME+NAME c c4 rel v vl vr sl sr"
        )
    return [(CELL, number, columns.setdefault(name, len(columns))) for name in names]


def _is_cluster(name: str) -> bool:
    """Whether a column is the cluster of a word, or the beginning of its path."""
    return _CLUSTER.fullmatch(name) is not None


def cluster_cells(forms: Sequence[str], name: str, clusters: Clusters) -> list[str]:
    """The cluster of each form, or as many characters of it as the name of the column says."""
    size = int(name[1:]) if len(name) > 1 else None
    return [NOTHING if label is None else label[:size] for label in map(clusters.find, forms)]


def chosen_features(cell: str, names: Sequence[str]) -> str:
    """The parts `Name=Value` of a cell of FEATS that have these names, in the order of the names."""
    parts = cell.split("|")
    found = [next((part for part in parts if part.startswith(f"{name}=")), "") for name in names]
    return "|".join(filter(None, found)) or NOTHING


def read_cells(treebank: Treebank, templates: Templates, unicode: str) -> np.ndarray:
    """u64[columns, N]: a hash of each column's value, in a form of Unicode, for each word."""
    made = np.zeros((len(templates.columns), treebank.n_tokens), np.uint64)
    for k, name in enumerate(templates.columns):
        if name in FIELDS:
            column = treebank.column(FIELDS[name]).in_form(unicode)
            made[k] = column.hash[column.ids]
        elif name == "t":
            upos, xpos = (treebank.column(field).in_form(unicode) for field in ("upos", "xpos"))
            empty = np.array([cell == NOTHING for cell in xpos.types], np.bool_)[xpos.ids]
            made[k] = np.where(empty, upos.hash[upos.ids], xpos.hash[xpos.ids])
        elif _is_cluster(name):
            assert templates.clusters is not None
            column = treebank.forms.in_form(unicode)
            made[k] = hash_pieces(*bytes_of(cluster_cells(column.types, name, templates.clusters)))[0][column.ids]
        else:
            column = treebank.column("feats").in_form(unicode)
            made[k] = _category_hashes(column, name)[column.ids] if column.types else 0
    return made


def _category_hashes(column: Column, name: str) -> np.ndarray:
    """The hash u64[T] of what each type of FEATS has of some categories. It is kept beside the atoms of the column,
    whose names have no colon."""
    kept: dict[str, tuple[np.ndarray, np.ndarray]] = column.__dict__.setdefault("atoms", {})
    if name not in kept:
        values = column_of_strings(chosen_features(cell, name[2:].split("+")) for cell in column.types)
        kept[name] = values.hash[values.ids], values.power[values.ids]
    return kept[name][0]
