"""Documents, sentences and words of pipelines as notebooks and `print` show them: entities marked, trees drawn."""

from __future__ import annotations

from palmette.data.analysed import TaggedSentence
from palmette.data.formats.conllu_light import tree_of
from palmette.data.labels.schemes import Span, from_spans
from palmette.data.treebank import NOTHING
from palmette.parsing.drawing import draw_tree, svg_of
from palmette.pipeline.document import ParsedDocument, Sentence, Word
from palmette.reports.html import Html, element, facts, folded, page, quiet
from palmette.reports.notebook import tagged_html
from palmette.reports.sentence import aligned

MOST = 20  # sentences of a document that are shown


def document_html(document: ParsedDocument) -> str:
    """The sentences with coloured entities; their trees open by a click."""
    shown = document.sentences[:MOST]
    left = len(document.sentences) - len(shown)
    more = [quiet(f"and {left} more sentences")] if left else []
    return page(*(_marked(sentence) for sentence in shown), *(_folded_tree(sentence) for sentence in shown), *more)


def sentence_html(sentence: Sentence) -> str:
    """The sentence with coloured entities, and its tree."""
    return page(_marked(sentence), *([_tree_svg(sentence)] if _has_tree(sentence) else []))


def word_html(word: Word) -> str:
    """What is known of a word."""
    head = word.head_word
    above = "" if word.head is None else "root" if head is None else f"{word.deprel} of {head.form}"
    rows = {"lemma": word.lemma, "UPOS": word.upos, "XPOS": word.xpos, "FEATS": word.feats_text, "tree": above}
    known = {name: value for name, value in rows.items() if value != NOTHING}
    return page(element("b", word.form), facts(known))


def sentence_text(sentence: Sentence) -> str:
    """The tree with a word per line, or the words with their tags; below them the entities."""
    if _has_tree(sentence):
        drawn = draw_tree(tree_of(sentence.document.treebank, sentence.index)).plain.rstrip("\n")
    else:
        drawn = aligned([[str(word.id), word.form, word.upos] for word in sentence.words])
    entities = entities_text(sentence)
    return f"{drawn}\n{entities}" if entities else drawn


def entities_text(sentence: Sentence) -> str:
    """The entities in a line: `PER Ann Lee, LOC Paris`."""
    return ", ".join(f"{entity.label} {entity.text}" for entity in sentence.entities)


def _marked(sentence: Sentence) -> Html:
    words = sentence.words
    chunks = [Span(one.label, one.words[0].id - 1, one.words[-1].id) for one in sentence.entities]
    return Html(tagged_html(TaggedSentence.of([word.form for word in words], from_spans(chunks, len(words), "IOB2"))))


def _has_tree(sentence: Sentence) -> bool:
    return sentence.root is not None


def _tree_svg(sentence: Sentence) -> Html:
    return Html(svg_of([("", tree_of(sentence.document.treebank, sentence.index), None)]))


def _folded_tree(sentence: Sentence) -> Html | str:
    return folded(f"tree of sentence {sentence.index + 1}", _tree_svg(sentence)) if _has_tree(sentence) else ""
