"""Templates that fit a treebank: `features="auto"`.

A rule makes them from the training data:

- the tag is XPOS if it tells relations apart better than UPOS alone, else UPOS. Templates that would then be the same
  are there once, and those that read a column without content (no lemmas, no FEATS) are left out.
- if the categories of a word tell much about its relation, those that tell most (Case, VerbForm) become part of its
  tag wherever the set `rich` reads one; with them come templates that read UPOS alone, and pairs of a dependant's with
  a head's categories. Else FEATS are read as in `rich`.

Development data is used for one thing: an XPOS column in other tags than those of the training data is not read.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, column_of_strings
from palmette.data.treebank import NOTHING, Treebank
from palmette.parsing.templates import FIELDS, SETS, Templates, compile_templates

# Tags and morphological categories that distinguish the relations of a treebank, for templates to read.
#
# A category (Case, VerbForm, Number[psor] ...) is worth reading if it is informative about the relation of a word
# beyond the tags. Relations with the side of the head are predicted from what is known of a word and its head, by
# relative frequencies that back off from more to less:
#
#     p(r | a, b) = (n(r, a, b) - 1 + C p(r | a)) / (n(a, b) - 1 + C)
#
# and so on down to p(r) = 1 / R. The 1 leaves the word itself out, so that knowledge that does not carry over to
# other words gains nothing. The gain of a category is the number of bits per word by which it lowers -log2 p, in the
# values of the dependant or of the head.

BACKING_OFF = 4.0  # C
WORDS = 40_000  # that are looked at, at most
ENOUGH = 0.01  # bits per word that a category or XPOS must gain
MUCH = 0.05  # bits per word that the first category of a word itself must gain, or none is chosen
MOST = 4  # categories of either kind
_SPELT = re.compile(r"[^\s#+]+")  # names that a template line can hold
RAREST = 0.002  # share of the words that have the category


class CategoryGains(NamedTuple):
    """What templates read: whether XPOS is better than UPOS, and categories by their gain in bits per word."""

    xpos: float  # the gain of XPOS beyond UPOS
    dependant: dict[str, float]
    head: dict[str, float]

    @property
    def reads_xpos(self) -> bool:
        return self.xpos >= ENOUGH


class _Arcs:
    """Relations to predict, and what is known of words and heads; all arrays i64[N]."""

    def __init__(self, treebank: Treebank) -> None:
        offset, heads = treebank.offset, treebank.heads
        start = np.repeat(offset[:-1], np.diff(offset))
        place = np.arange(heads.size) - start + 1
        self.is_root = heads <= 0
        self.head = np.where(self.is_root, 0, start + heads - 1)
        side = np.where(self.is_root, 0, np.where(heads > place, 1, 2))
        self.relation = numbered(treebank.relations.ids.astype(np.int64) * 3 + side)

    def of_heads(self, values: np.ndarray) -> np.ndarray:
        """The value of each word's head; that of the root's head is one of its own."""
        return np.where(self.is_root, 0, values[self.head] + 1)


def numbered(values: np.ndarray) -> np.ndarray:
    """Equal values as equal numbers 0, 1, ..., in the order of the values."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A number for each pair of values."""
    return numbered(one * (int(other.max(initial=0)) + 1) + other)


def refined(relation: np.ndarray, known: np.ndarray, less: np.ndarray) -> np.ndarray:
    """p(relation | known) f64[N] of each word by the others, backing off to the probabilities `less`."""
    pairs = both(known, relation)
    n_pairs, n_known = np.bincount(pairs), np.bincount(known)
    return (n_pairs[pairs] - 1 + BACKING_OFF * less) / (n_known[known] - 1 + BACKING_OFF)


def bits(probability: np.ndarray) -> float:
    """The mean of -log2."""
    return float(-np.log2(probability).mean())


def category_gains(treebank: Treebank) -> CategoryGains:
    """What the trees of a treebank ask for."""
    ends = np.searchsorted(treebank.offset, WORDS, side="right")
    if ends < treebank.offset.size:
        treebank = treebank.take(np.arange(max(1, int(ends) - 1)))
    arcs = _Arcs(treebank)
    upos, xpos = (treebank.column(field).ids.astype(np.int64) for field in ("upos", "xpos"))
    start = np.full(upos.size, 1.0 / (int(arcs.relation.max()) + 1))
    known = both(upos, arcs.of_heads(upos))
    p = refined(arcs.relation, known, refined(arcs.relation, upos, start))
    finer = both(both(known, xpos), arcs.of_heads(xpos))
    with_xpos = refined(arcs.relation, finer, p)
    gain = bits(refined(arcs.relation, known, p)) - bits(with_xpos)
    if gain >= ENOUGH:
        known, p = finer, with_xpos
    values = _values(treebank.column("feats"))
    own = _chosen(arcs.relation, known, p, values)
    if max(own.values(), default=0.0) < MUCH:
        return CategoryGains(gain, {}, {})
    head = _chosen(arcs.relation, known, p, {name: arcs.of_heads(value) for name, value in values.items()})
    return CategoryGains(gain, own, head)


def _values(feats: Column) -> dict[str, np.ndarray]:
    """The value of each category that is not too rare, of each word."""
    parts = [dict(part.partition("=")[::2] for part in cell.split("|") if cell != NOTHING) for cell in feats.types]
    times = np.bincount(feats.ids, minlength=len(parts))
    counts: Counter[str] = Counter()
    for own, count in zip(parts, times.tolist(), strict=True):
        counts.update(dict.fromkeys(own, count))
    names = sorted(
        name for name, count in counts.items() if count >= RAREST * feats.ids.size and _SPELT.fullmatch(name)
    )
    found = {}
    for name in names:
        column = column_of_strings(own.get(name, NOTHING) for own in parts)
        found[name] = column.ids[feats.ids].astype(np.int64)
    return found


def _chosen(relation: np.ndarray, known: np.ndarray, p: np.ndarray, values: dict[str, np.ndarray]) -> dict[str, float]:
    """The categories that gain enough beside those before them, the best one first. All back off to p, which knows
    tags only; so does what they are compared with."""
    found: dict[str, float] = {}
    now = bits(refined(relation, known, p))
    while len(found) < MOST:
        trials = {name: both(known, value) for name, value in values.items() if name not in found}
        gains = {name: now - bits(refined(relation, trial, p)) for name, trial in trials.items()}
        name = max(gains, key=lambda name: gains[name], default="")
        if not name or gains[name] < ENOUGH:
            break
        values = {name: values[name] for name, gain in gains.items() if gain > 0}
        found[name], known, now = gains[name], trials[name], now - gains[name]
    return found


logger = logging.getLogger(__name__)

AUTO = "auto"
WHOLE = ("rel", "v", "vl", "vr", "sl", "sr")  # what is read of a node and is not a letter
OTHER_LEMMAS = 0.02  # share of the words whose lemma is not the form, case aside
UNKNOWN_TAGS = 0.05  # share of the words of development data whose XPOS training data does not know: another tag set

# With morphology: UPOS where `rich` reads finer tags ($D: tag and categories of a dependant, $H: of a head)
COARSE = """
s0.u
s1.u
q0.u
s0.u s1.u
s0.u q0.u
s1.u q0.u
s0.u s1.u q0.u
s0.wu s1.u
s0.u s1.wu
s0.u s1.u s0.l.u
s0.u s1.u s0.r.u
s0.u s1.u s1.l.u
s0.u s1.u s1.r.u
s0.u s1.u distance
"""
PAIRS = """
s0.$D s1.$H
s0.$H s1.$D
s0.$D s1.u
s0.u s1.$D
s0.$H s1.u
s0.u s1.$H
"""


def fitted_templates(treebank: Treebank, dev: Treebank | None = None) -> Templates:
    """Return the templates for a parser trained on a treebank. The choice is logged and noted in their text."""
    found = category_gains(treebank)
    if dev is not None and found.reads_xpos and (share := unknown_tags(treebank, dev)) > UNKNOWN_TAGS:
        logger.info(
            f"templates: XPOS is not read: {share:.0%} of the words of the development data have tags that the "
            "training data does not have"
        )
        found = category_gains(treebank.without(["xpos"]))
    templates = compile_templates(fitted_text(treebank, found), AUTO)
    logger.info(f"templates: {len(templates.lists)}; {described(found)}")
    return templates


def unknown_tags(treebank: Treebank, dev: Treebank) -> float:
    """The share of words of development data whose XPOS training data does not know."""
    column, known = dev.column("xpos"), set(treebank.column("xpos").types)
    new = np.array([tag not in known for tag in column.types], np.bool_)
    return float(new[column.ids].mean()) if column.ids.size else 0.0


def has_lemmas(treebank: Treebank) -> bool:
    """Return whether lemmas are more informative than forms: enough of them differ by more than case."""
    lemma, form = treebank.column("lemma"), treebank.forms
    if set(lemma.types) <= {NOTHING}:
        return False
    number: dict[str, int] = {}
    one, other = (
        np.array([number.setdefault(cell.casefold(), len(number)) for cell in column.types])[column.ids]
        for column in (lemma, form)
    )
    return float((one != other).mean()) >= OTHER_LEMMAS


def described(found: CategoryGains) -> str:
    """What was chosen, in words."""
    tag = f"tags are XPOS ({found.xpos:.2f} bits a word beyond UPOS)" if found.reads_xpos else "tags are UPOS"
    parts = [tag]
    for whose, gains in (("its own", found.dependant), ("its head's", found.head)):
        if gains:
            parts.append(f"of {whose} features " + ", ".join(f"{name} ({bits:.2f})" for name, bits in gains.items()))
    return "; ".join(parts) if len(parts) > 1 else f"{tag}; no morphological category adds much"


def fitted_text(treebank: Treebank, found: CategoryGains) -> str:
    """The lines of a set: those of `rich` with the chosen tags and categories, and more if there is morphology."""
    tag = "t" if found.reads_xpos else "u"
    own = [tag, *_joined(found.dependant)]
    head = ["u", *_joined(found.head)]
    lines = SETS["rich"] + (COARSE + PAIRS if found.dependant or found.head else "")
    empty = {letter for letter, field in FIELDS.items() if set(treebank.column(field).types) <= {NOTHING}}
    if {"u", "x"} <= empty:
        empty.add("t")
    if not has_lemmas(treebank):
        empty.add("m")
    kept: dict[frozenset[str], list[str]] = {}
    for line in lines.splitlines():
        atoms = [atom for word in line.split() for atom in _expanded(word, own, head)]
        seen = [atom for atom in atoms if _letter(atom) not in empty]
        if seen and not {_letter(atom) for atom in atoms} & empty & {"m", "f"}:
            kept.setdefault(frozenset(seen), list(dict.fromkeys(seen)))
    return "".join(f"{line}\n" for line in [f"# {described(found)}", *map(_spelt, kept.values())])


def _joined(categories: Iterable[str]) -> list[str]:
    names = "+".join(categories)
    return [f"f:{names}"] if names else []


def _letter(atom: str) -> str:
    """What an atom reads, the categories of f as f."""
    read = atom.rpartition(".")[2]
    return "f" if ".f:" in atom else read


def _expanded(word: str, own: list[str], head: list[str]) -> list[str]:
    """The atoms of a word of a line, each `node.what`."""
    node, dot, read = word.rpartition(".")
    if not dot or read in WHOLE:
        return [word]
    names = head if read == "$H" else [name for letter in read for name in (own if letter in "t$D" else [letter])]
    return [f"{node}.{name}" for name in dict.fromkeys(names)]


def _spelt(atoms: Iterable[str]) -> str:
    """A line: the letters of a node stand together, as in s0.wt."""
    words: dict[str, str] = {}
    for atom in atoms:
        node, _, read = atom.rpartition(".") if ".f:" not in atom else atom.partition(".f:")
        single = len(read) == 1 and ".f:" not in atom
        key = node if single else atom
        words[key] = words.get(key, f"{node}.") + read if single else atom
    return " ".join(words.values())
