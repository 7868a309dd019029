"""What an output is: weights, search, n-best lists and files of chain models.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.structures.chain.calibrate import fit_temperature
    from palmette.structures.chain.compact import pruned
    from palmette.structures.chain.constraints import settle_scheme
    from palmette.structures.chain.data import Collected, allow_table, encode_corpus
    from palmette.structures.chain.explain import Explanation, attribute_words, explain
    from palmette.structures.chain.files import TagRequest, spec_for
    from palmette.structures.chain.gold import gold_and_guess, unseen
    from palmette.structures.chain.label_context import estimated_contexts
    from palmette.structures.chain.lists import as_lists, fixed, growing, is_list
    from palmette.structures.chain.model import ChainModel
    from palmette.structures.chain.posteriors import are_probabilities, confidence_of, named
    from palmette.structures.chain.python_data import corpus_of, items_of
    from palmette.structures.chain.search import BeamSearch
    from palmette.structures.chain.separation import longest_features, mistakes_bound, separation
    from palmette.structures.chain.serialise import load_chain
    from palmette.structures.chain.session import Session
    from palmette.structures.chain.temperature import with_temperature
    from palmette.structures.chain.trellis import TrellisRecord
    from palmette.structures.chain.weights import (
        Seen,
        Shape,
        estimated,
        everything_allowed,
        new_chain,
        norm,
        restart_from_average,
        with_state,
    )
    from palmette.structures.stored import Names
    from palmette.structures.training_log import Epoch, without_times

__getattr__, __dir__ = door(__name__)
