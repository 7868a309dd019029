"""Named template sets: `pos`, `chunk`, `ner`, `char` and `ngrams`, as template text that a user can print and change.

The text is CRF++ syntax with word atoms. Column 0 is the word (in `char`: the character), column 1 its part
of speech, which `chunk` needs and `ner` uses if the data have it. `named_set` adds the transitions of the
given order, and lines for the lexicons and clusters that are given.
"""

from __future__ import annotations

from typing import NamedTuple

from palmette.errors import UsageError
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet, parse


class NamedSet(NamedTuple):
    """`text` reads column 0 only, `pos_text` column 1 as well; `needs_pos`: column 1 is required."""

    about: str
    text: str
    pos_text: str = ""
    needs_pos: bool = False


_POS_TEXT = """\
# the word, and the words around
U00:%x[0,0]
U01:%x[0,0,lower]
U02:%x[0,0,lower.normal]
U03:%x[-2,0,lower]
U04:%x[-1,0,lower]
U05:%x[1,0,lower]
U06:%x[2,0,lower]
U07:%x[-2,0,lower]/%x[-1,0,lower]
U08:%x[-1,0,lower]/%x[0,0,lower]
U09:%x[0,0,lower]/%x[1,0,lower]
U10:%x[1,0,lower]/%x[2,0,lower]
U11:%x[-1,0,lower]/%x[1,0,lower]
# affixes: unknown words are known by them
U20:%x[0,0,lower.prefix1]
U21:%x[0,0,lower.prefix2]
U22:%x[0,0,lower.prefix3]
U23:%x[0,0,lower.prefix4]
U24:%x[0,0,lower.suffix1]
U25:%x[0,0,lower.suffix2]
U26:%x[0,0,lower.suffix3]
U27:%x[0,0,lower.suffix4]
U28:%x[0,0,lower.suffix5]
U30:%x[-1,0,lower.suffix2]
U31:%x[-1,0,lower.suffix3]
U32:%x[1,0,lower.suffix2]
U33:%x[1,0,lower.suffix3]
U34:%x[-1,0,lower.suffix3]/%x[0,0,lower]
U35:%x[0,0,lower]/%x[1,0,lower.suffix3]
# form
U40:%x[0,0,short_shape]
U41:%x[-1,0,lower]/%x[0,0,short_shape]
U42:%x[0,0,short_shape]/%x[1,0,lower]
U43:%x[0,0,orthography]
U44:%x[0,0,capital]
U45:%x[0,0,digits]
U46:%x[0,0,hyphen]
U47:%x[0,0,number]
U48:%x[0,0,date]
"""

_NER_TEXT = """\
# the word as it is written; lower case with digits as 0
U00:%x[0,0]
U01:%x[-2,0,lower.normal]
U02:%x[-1,0,lower.normal]
U03:%x[0,0,lower.normal]
U04:%x[1,0,lower.normal]
U05:%x[2,0,lower.normal]
U06:%x[-1,0,lower.normal]/%x[0,0,lower.normal]
U07:%x[0,0,lower.normal]/%x[1,0,lower.normal]
# affixes
U10:%x[0,0,lower.prefix1]
U11:%x[0,0,lower.prefix2]
U12:%x[0,0,lower.prefix3]
U13:%x[0,0,lower.prefix4]
U14:%x[0,0,lower.prefix5]
U15:%x[0,0,lower.suffix1]
U16:%x[0,0,lower.suffix2]
U17:%x[0,0,lower.suffix3]
U18:%x[0,0,lower.suffix4]
U19:%x[0,0,lower.suffix5]
# form
U20:%x[-1,0,shape]
U21:%x[0,0,shape]
U22:%x[1,0,shape]
U23:%x[-2,0,short_shape]
U24:%x[-1,0,short_shape]
U25:%x[0,0,short_shape]
U26:%x[1,0,short_shape]
U27:%x[2,0,short_shape]
U28:%x[-1,0,short_shape]/%x[0,0,short_shape]
U29:%x[0,0,short_shape]/%x[1,0,short_shape]
U30:%x[-1,0]/%x[0,0,short_shape]
U31:%x[0,0,short_shape]/%x[1,0]
U32:%x[0,0,number]
U33:%x[0,0,date]
"""

_NER_POS_TEXT = """\
# parts of speech
U40:%x[-2,1]
U41:%x[-1,1]
U42:%x[0,1]
U43:%x[1,1]
U44:%x[2,1]
U45:%x[-2,1]/%x[-1,1]
U46:%x[-1,1]/%x[0,1]
U47:%x[0,1]/%x[1,1]
U48:%x[1,1]/%x[2,1]
U50:%x[-2,1]/%x[-1,1]/%x[0,1]
U51:%x[-1,1]/%x[0,1]/%x[1,1]
U52:%x[0,1]/%x[1,1]/%x[2,1]
"""

# As for entities, but for full shapes, which say little about phrases, and with words beside the tags of neighbours
_CHUNK_TEXT = "".join(line for line in _NER_TEXT.splitlines(keepends=True) if ",shape]" not in line)
_CHUNK_POS_TEXT = (
    _NER_POS_TEXT
    + """\
U53:%x[-1,1]/%x[0,0,lower.normal]
U54:%x[0,0,lower.normal]/%x[1,1]
"""
)

_CHAR_TEXT = """\
# characters around the current one
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-2,0]/%x[-1,0]
U06:%x[-1,0]/%x[0,0]
U07:%x[0,0]/%x[1,0]
U08:%x[1,0]/%x[2,0]
U09:%x[-1,0]/%x[1,0]
U10:%x[-2,0]/%x[-1,0]/%x[0,0]
U11:%x[-1,0]/%x[0,0]/%x[1,0]
U12:%x[0,0]/%x[1,0]/%x[2,0]
# their scripts
U20:%x[-1,0,type]
U21:%x[0,0,type]
U22:%x[1,0,type]
U23:%x[-1,0,type]/%x[0,0,type]
U24:%x[0,0,type]/%x[1,0,type]
U25:%x[-1,0,type]/%x[0,0,type]/%x[1,0,type]
U26:%x[-2,0,type]/%x[-1,0,type]/%x[0,0,type]/%x[1,0,type]/%x[2,0,type]
"""

# As classifiers over latent chunkings cross them with a chunk tag
_NGRAMS_TEXT = """\
U00:%x[0,0]
U01:%x[-1,0]/%x[0,0]
U02:%x[-1,0]/%x[0,0]/%x[1,0]
"""

_NGRAMS_POS_TEXT = """\
U10:%x[0,1]
U11:%x[-1,1]/%x[0,1]
U12:%x[-1,1]/%x[0,1]/%x[1,1]
"""

NAMED_SETS: dict[str, NamedSet] = {
    "pos": NamedSet("parts of speech, from the words", _POS_TEXT),
    "chunk": NamedSet("chunks, from words and parts of speech", _CHUNK_TEXT, _CHUNK_POS_TEXT, needs_pos=True),
    "ner": NamedSet("named entities, from words and, if given, parts of speech", _NER_TEXT, _NER_POS_TEXT),
    "char": NamedSet("word segmentation, from characters", _CHAR_TEXT),
    "ngrams": NamedSet("1- to 3-grams of words and, if given, parts of speech", _NGRAMS_TEXT, _NGRAMS_POS_TEXT),
}

# Order -> transitions
_TRANSITIONS = {0: "", 1: "B\n", 2: "B\nT\n"}
# Prefixes of Brown paths: coarse to fine, as is usual for named entities
_PATH_SIZES = (4, 6, 10)


def named_text(name: str, order: int = 1, n_columns: int = 2, resources: Resources | None = None) -> str:
    """The template file of a named set; `n_columns` is the number of feature columns that the data have."""
    if name not in NAMED_SETS:
        raise UsageError(f"unknown template set {name!r}: choose {', '.join(NAMED_SETS)}, or give a file")
    if order not in _TRANSITIONS:
        raise UsageError(f"the order must be 0, 1 or 2, not {order}")
    chosen = NAMED_SETS[name]
    if chosen.needs_pos and n_columns < 2:
        raise UsageError(
            f"the template set {name!r} needs the part of speech in column 1, the data have only column 0: "
            "add the column, or choose another set"
        )
    parts = [f"# {name}: {chosen.about}\n"]
    if n_columns >= 2:
        parts.append(chosen.pos_text)
    parts.append(chosen.text)
    parts.append(resource_text(resources or Resources()))
    parts.append(_TRANSITIONS[order])
    return "".join(parts)


def named_set(name: str, order: int = 1, n_columns: int = 2, resources: Resources | None = None) -> TemplateSet:
    """A named set, parsed."""
    return parse(named_text(name, order, n_columns, resources), name, "crfpp")


# Chosen on development data of English entities, trained on 500, 2,000 and 16,870 sentences (F, two seeds): without
# clusters 28.9, 43.3, 60.8; as here 43.4, 51.9, 62.9; without pairs of neighbours 41.3, 52.4, 63.0; full classes alone
# 34.4, 49.5; paths of 4, 8 and 12 41.2, 52.5, 62.3.
def resource_text(resources: Resources) -> str:
    """Templates for each lexicon and each kind of cluster at the token and its neighbours, and for pairs of them."""
    atoms = [f"lexicon:{name}" for name in sorted(resources.lexicons)]
    for name in sorted(resources.clusters):
        atoms.append(f"cluster:{name}")
        if resources.clusters[name].paths:
            atoms += [f"cluster:{name}:{size}" for size in _PATH_SIZES]
    lines = []
    for atom in atoms:
        left, here, right = (f"%x[{row},0,{atom}]" for row in (-1, 0, 1))
        for place, cells in (
            ("-1", left),
            ("0", here),
            ("1", right),
            ("-1,0", f"{left}/{here}"),
            ("0,1", f"{here}/{right}"),
        ):
            lines.append(f"U:{atom}[{place}]={cells}\n")
    return "".join(lines)
