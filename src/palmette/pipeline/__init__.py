"""Language pipelines: from a treebank to plain text in, trees out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.pipeline.conll18 import read_spans
    from palmette.pipeline.document import ParsedDocument
    from palmette.pipeline.lemmas import Lemmas
    from palmette.pipeline.output import conllu_bytes
    from palmette.pipeline.split_text import SplitText, empty_split, gold_split

__getattr__, __dir__ = door(__name__)
