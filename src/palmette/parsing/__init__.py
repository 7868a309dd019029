"""Dependency parsers: templates, transitions, training, drawings, commands.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.parsing.hypergraph import Hypergraph
    from palmette.parsing.inspection import inspect_parser
    from palmette.parsing.model import ParserModel, best_trees, make_grammar
    from palmette.parsing.options import TreeSettings
    from palmette.parsing.projective import projective_sentences
    from palmette.parsing.retag import jackknife
    from palmette.parsing.templates import compile_templates
    from palmette.parsing.training import ParserLearning

__getattr__, __dir__ = door(__name__)
