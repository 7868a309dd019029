"""Files and Python data to columns of numbered values.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.data.analysed import Candidate, Document, ParsedSentence, TaggedSentence, TextSpan
    from palmette.data.array_specs import (
        AddsUpTo,
        ArraySpec,
        CheckedArrays,
        Offsets,
        OneOwnerPerRow,
        RisingWithin,
        ZeroRow,
    )
    from palmette.data.convert import Conversion, convert_file, convert_labels
    from palmette.data.corpus import Attributes, Corpus, bytes_of, column_of_strings, column_of_types
    from palmette.data.files import check_apart, check_output, read_all, read_blocks, write_whole
    from palmette.data.formats.columns_light import read_guesses
    from palmette.data.formats.conllu import (
        parse_treebank,
        read_treebank,
        stream_treebank,
        treebank_bytes,
        write_treebank,
    )
    from palmette.data.formats.conllu_light import tree_of
    from palmette.data.formats.labelling import Confidence, ConfidenceOutput
    from palmette.data.formats.raw import make_penn_quotes, parse_plain, parse_text, sentence_spans, token_spans
    from palmette.data.formats.recognise import recognised
    from palmette.data.formats.registry import CheckedParser, Writer, read_corpus, stream_corpus
    from palmette.data.formats.spec import FormatSpec, format_by_name
    from palmette.data.items import corpus_from_items
    from palmette.data.kinds import kind_of
    from palmette.data.labels.automaton import LabelAutomaton
    from palmette.data.labels.mask import known_gold, label_names, mask_from_items, training_mask
    from palmette.data.labels.numbers import LabelNumbers, label_numbers
    from palmette.data.labels.repair import nearest, repaired, violations
    from palmette.data.labels.schemes import (
        HYPHEN,
        SCHEMES,
        Span,
        Transitions,
        allowed_transitions,
        are_chunk_labels,
        from_spans,
        reading,
        recognise,
        scheme_named,
        scheme_shown,
        spans,
        split_label,
    )
    from palmette.data.model_file import load_any, peek_kind, peek_task
    from palmette.data.notes import Notes
    from palmette.data.scratch import Scratch
    from palmette.data.stream import Processed, map_in_order, process_file
    from palmette.data.subset import take
    from palmette.data.text import TextSpec, check_utf8, nfc, read_text, write_text
    from palmette.data.treebank import Treebank, treebank_from_sentences

__getattr__, __dir__ = door(__name__)
