"""Every option, declared once: checks, flags, help and stored settings follow from the declaration.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.options.chain import TAGGER_LEARNERS, ChainOptions, ChainSettings, TaggerOptions
    from palmette.options.declare import Option, OptionError, Options, Value, option
    from palmette.options.learners import LEARNERS, PARSER_LEARNERS, Learner
    from palmette.options.search import LIST_UPDATES, MOST_BEAM, UPDATE_NUMBERS, UPDATES
    from palmette.options.spelling import argument, assemble, flat_name, flat_options, named, spelt, variant_options
    from palmette.options.training import automatic_batch_size

__getattr__, __dir__ = door(__name__)
