"""Templates that fit a treebank: `features="auto"`.

A rule makes them from what the training data has (see categories.py):

- the tag is XPOS if it tells relations apart better than UPOS alone, else UPOS. Templates that would then be the same
  are there once, and those that read a column without content (no lemmas, no FEATS) are left out.
- if the categories of a word tell much about its relation, those that tell most (Case, VerbForm) become part of its
  tag wherever the set `rich` reads one; with them come templates that read UPOS alone, and pairs of a dependant's with
  a head's categories. Else FEATS are read as in `rich`.

Development data is used for one thing: an XPOS column in other tags than those of the training data is not read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import numpy as np

from palmette.data.treebank import NOTHING, Treebank
from palmette.structures.tree.categories import CategoryGains, category_gains
from palmette.structures.tree.named_templates import SETS
from palmette.structures.tree.templates import FIELDS, Templates, compile_templates

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
    """The templates for a parser that is trained on a treebank; what was chosen is logged, and said in their text."""
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
    """Whether lemmas say more than forms: enough of them differ by more than case."""
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
    return "; ".join(parts) if len(parts) > 1 else f"{tag}; no morphological category tells much more"


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
