"""Palmette in spaCy pipelines: components, training data from documents, and documents of our pipelines as spaCy's.

    nlp.add_pipe("palmette_tagger", config={"model": "pos.palm"})
    nlp.add_pipe("palmette_ner", config={"model": "ner.palm"})

spaCy finds the components by their entry points, without an import. Needs the extra `spacy`.
"""

try:
    import spacy
except ImportError as error:
    raise ImportError("this needs spaCy: pip install 'palmette[spacy]'") from error

from palmette.connect.spacy.components import PalmetteNER, PalmetteParser, PalmetteSpans, PalmetteTagger
from palmette.connect.spacy.documents import Misaligned, docs_from_offsets, sentences, spacy_doc, trees
from palmette.connect.spacy.factories import (
    make_ner,
    make_parser,
    make_pipeline,
    make_spans,
    make_tagger,
    make_tokenizer,
)
from palmette.connect.spacy.pipelines import PalmettePipeline, PalmetteTokenizer, load

__all__ = [
    "Misaligned", "PalmetteNER", "PalmetteParser", "PalmettePipeline", "PalmetteSpans", "PalmetteTagger",
    "PalmetteTokenizer", "docs_from_offsets", "load", "make_ner", "make_parser", "make_pipeline", "make_spans",
    "make_tagger", "make_tokenizer", "sentences", "spacy_doc", "trees",
]  # fmt: skip
