"""Documents of UIMA as INCEpTION sends them, in XMI: the text, the sentences, the tokens and one layer are read, and
predictions are added. Places count UTF-16 units there and characters here."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from palmette.data.formats.raw import Spans, sentence_spans, token_spans
from palmette.errors import DataError

XMI = "http://www.omg.org/XMI"
CAS = "http:///uima/cas.ecore"
ID = f"{{{XMI}}}id"
SEGMENTS = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type."
SENTENCE, TOKEN = f"{SEGMENTS}Sentence", f"{SEGMENTS}Token"
PREDICTED = "inception_internal_predicted"
_DECLARES = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)


class Marked(NamedTuple):
    """An annotation of a layer, by characters."""

    start: int
    end: int
    label: str
    score: float | None = None


class CasSentence(NamedTuple):
    """The tokens of a sentence, by characters of the text."""

    tokens: Spans


def parsed(xml: str, what: str) -> ElementTree.Element:
    """An XML text without declarations of entities; DataError for any other."""
    if _DECLARES.search(xml):
        raise DataError(f"{what} declares a document type or entities, which are not read")
    try:
        return ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise DataError(f"{what} is not well-formed XML: {error}") from None


def tag_of(name: str) -> str:
    """The element of a type: `a.b.C` is C in the namespace of the package a.b."""
    package, _, own = name.rpartition(".")
    return f"{{http:///{package.replace('.', '/') or 'uima/noNamespace'}.ecore}}{own}"


class Cas:
    """A document."""

    def __init__(self, xmi: str) -> None:
        self.root = parsed(xmi, "the XMI of the document")
        sofa = next(self.root.iter(f"{{{CAS}}}Sofa"), None)
        text = None if sofa is None else sofa.get("sofaString")
        if sofa is None or text is None:
            raise DataError("the XMI has no text: no cas:Sofa with a sofaString")
        self.text, self.sofa = text, str(sofa.get(ID))
        self._wide = [k for k, character in enumerate(text) if ord(character) > 0xFFFF]
        self._wide_units = [k + before for before, k in enumerate(self._wide)]

    def _character(self, unit: int) -> int:
        """The character at a UTF-16 unit."""
        return unit - bisect_left(self._wide_units, unit)

    def _unit(self, character: int) -> int:
        return character + bisect_left(self._wide, character)

    def _places(self, name: str) -> Spans:
        found = [self._place(one) for one in self.root.iter(tag_of(name))]
        return sorted(place for place in found if place[0] < place[1])

    def _place(self, one: ElementTree.Element) -> tuple[int, int]:
        begin, end = one.get("begin", ""), one.get("end", "")
        if not (begin.isdecimal() and end.isdecimal()):
            raise DataError(f"an annotation {one.tag.rpartition('}')[2]} has no begin and end")
        place = self._character(int(begin)), self._character(int(end))
        if not place[0] <= place[1] <= len(self.text):
            raise DataError(f"an annotation at {begin} to {end} is not in the text of {len(self.text):,} characters")
        return place

    def sentences(self) -> list[CasSentence]:
        """The sentences with their tokens; those of our own where the document has none."""
        sentences = self._places(SENTENCE) or list(sentence_spans(self.text))
        tokens = self._places(TOKEN)
        starts = [start for start, _ in tokens]
        made = []
        for start, end in sentences:
            if tokens:
                own = tokens[bisect_left(starts, start) : bisect_right(starts, end - 1)]
            else:
                own = [(start + a, start + b) for a, b in token_spans(self.text[start:end])]
            if own:
                made.append(CasSentence(own))
        return made

    def layer(self, name: str, feature: str) -> list[Marked]:
        """The annotations of a layer that have a value of the feature and are not predictions."""
        made = []
        for one in self.root.iter(tag_of(name)):
            label = one.get(feature)
            if label and one.get(PREDICTED) != "true":
                made.append(Marked(*self._place(one), label))
        return sorted(made)

    def with_predictions(self, name: str, feature: str, found: Iterable[Marked], scored: bool) -> str:
        """The document with these annotations of a layer in place of earlier predictions."""
        tag = tag_of(name)
        gone = {str(one.get(ID)) for one in self.root.iter(tag) if one.get(PREDICTED) == "true"}
        for one in [one for one in self.root if str(one.get(ID)) in gone]:
            self.root.remove(one)
        free = 1 + max((int(key) for one in self.root if (key := one.get(ID, "")).isdecimal()), default=0)
        made = []
        for number, mark in enumerate(found, free):
            given = {
                ID: str(number), "sofa": self.sofa, "begin": str(self._unit(mark.start)),
                "end": str(self._unit(mark.end)), feature: mark.label, PREDICTED: "true",
            }  # fmt: skip
            if scored and mark.score is not None:
                given[f"{feature}_score"] = f"{mark.score:.6f}"
            made.append(ElementTree.Element(tag, given))
        view = next((one for one in self.root.iter(f"{{{CAS}}}View") if one.get("sofa") == self.sofa), None)
        if view is None:
            view = ElementTree.SubElement(self.root, f"{{{CAS}}}View", {"sofa": self.sofa, "members": ""})
        kept = [key for key in view.get("members", "").split() if key not in gone]
        view.set("members", " ".join([*kept, *(str(one.get(ID)) for one in made)]))
        at = list(self.root).index(next(self.root.iter(f"{{{CAS}}}Sofa")))
        for one in reversed(made):
            self.root.insert(at, one)
        ElementTree.register_namespace("xmi", XMI)
        ElementTree.register_namespace("cas", CAS)
        return ElementTree.tostring(self.root, encoding="unicode", xml_declaration=True)


def has_score(type_system: str, layer: str, feature: str) -> bool:
    """Whether a type system declares the feature in which INCEpTION keeps the score of another one."""
    if not type_system:
        return False
    space = "{http://uima.apache.org/resourceSpecifier}"
    for one in parsed(type_system, "the type system").iter(f"{space}typeDescription"):
        if (one.findtext(f"{space}name") or "").strip() == layer:
            names = [(each.text or "").strip() for each in one.iter(f"{space}name")]
            return f"{feature}_score" in names
    return False


def within(tokens: Sequence[tuple[int, int]], mark: Marked) -> tuple[int, int] | None:
    """The tokens that an annotation covers: the first, and the one after the last; None if it ends inside of one."""
    starts, ends = [a for a, _ in tokens], [b for _, b in tokens]
    if mark.start not in starts or mark.end not in ends:
        return None
    first, last = starts.index(mark.start), ends.index(mark.end) + 1
    return (first, last) if first < last else None
