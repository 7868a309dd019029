"""The factories of the components, by which spaCy makes them; pyproject.toml names them as entry points.

spaCy checks a config against the annotations of the factory's parameters, so these must not be strings: no
`annotations` from `__future__` here.
"""

from collections.abc import Callable

import spacy
from pydantic import StrictBool, StrictInt, StrictStr
from spacy.language import Language

from palmette.connect.spacy.components import PalmetteNER, PalmetteParser, PalmetteSpans, PalmetteTagger
from palmette.connect.spacy.pipelines import TOKENIZER, PalmettePipeline, PalmetteTokenizer
from palmette.models import path_of
from palmette.pipeline.pipeline import Pipeline

Columns = list[StrictStr] | None
Fields = dict[StrictStr, StrictStr | None] | None


@Language.factory(
    "palmette_tagger",
    assigns=["token.tag", "token.pos", "token.morph"],
    default_config={"model": None, "columns": None, "set": "tag", "overwrite": True},
    default_score_weights={"tag_acc": None, "pos_acc": None, "morph_acc": None},
)
def make_tagger(
    nlp: Language, name: str, model: StrictStr | None, columns: Columns, set: StrictStr, overwrite: StrictBool
) -> PalmetteTagger:
    """Tags of tokens.

    model: the model file of a Tagger. columns: the token attributes that it reads, such as ["text", "tag_"]; None: as
    trained. set: tag, pos, morph, or _.NAME for an extension. overwrite: also where there is a value already."""
    return PalmetteTagger(name, model, columns, set, overwrite)


@Language.factory(
    "palmette_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config={"model": None, "columns": None, "overwrite": True, "label": "ENTITY"},
    default_score_weights={"ents_f": None, "ents_p": None, "ents_r": None, "ents_per_type": None},
)
def make_ner(
    nlp: Language, name: str, model: StrictStr | None, columns: Columns, overwrite: StrictBool, label: StrictStr
) -> PalmetteNER:
    """Entities.

    overwrite: an entity that is there already gives way to a new one that overlaps with it, not the other way round.
    label: what entities are called if the model's labels have no types (B, I, O)."""
    return PalmetteNER(name, model, columns, overwrite, label)


@Language.factory(
    "palmette_spans",
    assigns=["doc.spans"],
    default_config={"model": None, "columns": None, "key": "palmette", "confidence": False, "label": "SPAN"},
)
def make_spans(
    nlp: Language, name: str, model: StrictStr | None, columns: Columns, key: StrictStr, confidence: StrictBool,
    label: StrictStr,
) -> PalmetteSpans:  # fmt: skip
    """Groups of spans.

    key: doc.spans[key] holds them. confidence: doc.spans[key].attrs["scores"] holds a number for each."""
    return PalmetteSpans(name, model, columns, key, confidence, label)


@Language.factory(
    "palmette_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config={"model": None, "fields": None, "beam": None},
    default_score_weights={"dep_uas": None, "dep_las": None, "dep_las_per_type": None, "sents_f": None},
)
def make_parser(
    nlp: Language, name: str, model: StrictStr | None, fields: Fields, beam: StrictInt | None
) -> PalmetteParser:
    """Dependency trees.

    model: the model file of a Parser. fields: the token attribute of each field that it reads, if not as usual (lemma:
    lemma_, upos: pos_, xpos: tag_, feats: morph); None for one that training did not have. beam: the width of the
    search, if not as trained."""
    return PalmetteParser(name, model, fields, beam)


@Language.factory(
    "palmette_pipeline",
    assigns=[
        "token.tag", "token.pos", "token.morph", "token.lemma", "token.dep", "token.head", "token.is_sent_start",
        "doc.sents", "doc.ents",
    ],
    default_config={"model": None, "beam": None},
    default_score_weights={
        "tag_acc": None, "pos_acc": None, "morph_acc": None, "lemma_acc": None, "dep_uas": None, "dep_las": None,
        "sents_f": None, "ents_f": None,
    },
)  # fmt: skip
def make_pipeline(nlp: Language, name: str, model: StrictStr | None, beam: StrictInt | None) -> PalmettePipeline:
    """All annotations of a pipeline.

    model: the name of an installed model, or the file of a pipeline. beam: the width of the parser's search, if not as
    trained."""
    return PalmettePipeline(name, model, beam)


@spacy.registry.tokenizers(TOKENIZER)
def make_tokenizer(model: str) -> Callable[[Language], PalmetteTokenizer]:
    """The tokens and sentences that a pipeline finds."""
    return lambda nlp: PalmetteTokenizer(Pipeline.load(path_of(model)), nlp.vocab)
