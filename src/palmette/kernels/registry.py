"""Every kernel and its module, below this folder or in a room (`parsing.kernels.train`). Types are the annotations of
the function (core/types.py).

Building compiles this list, in this order: those that take longest first, so that processes end together. Loading and
`palmette doctor` read it too, and a test compares it with the `@kernel`s of the sources.
"""

from __future__ import annotations

import importlib
from typing import Any

KERNELS = {
    "train_beam": "chain.train_beam",
    "expectations": "chain.gradient",
    "decode_exact": "chain.exact",
    "descend": "chain.stochastic",
    "train_paths": "chain.train_paths",
    "train_tree": "parsing.kernels.train",
    "posteriors": "chain.posteriors",
    "train_margins": "chain.train_margins",
    "train_latent": "classification.kernels.train",
    "decode_nbest": "chain.nbest",
    "list_parses": "parsing.kernels.lists",
    "decode_marginal": "chain.posteriors",
    "margins": "chain.max_recursion",
    "local_expectations": "chain.gradient",
    "log_partitions": "chain.forward_backward",
    "encode": "encode.encode",
    "decode": "chain.viterbi",
    "unpack_rows": "chain.unpack",
    "decode_beam": "chain.beam",
    "posteriors_double": "chain.double",
    "decode_nbest_double": "chain.double",
    "decode_marginal_double": "chain.double",
    "log_partitions_double": "chain.double",
    "decode_double": "chain.double",
    "forest": "parsing.kernels.lists",
    "count_gold": "parsing.kernels.gold",
    "allow_features": "parsing.kernels.gold",
    "gather": "chain.gather",
    "train_bundles": "pipeline.kernels.bundles",
    "tag_bundles": "pipeline.kernels.bundles",
    "list_bundles": "pipeline.kernels.bundles",
    "parse": "parsing.kernels.train",
    "decide": "classification.kernels.train",
    "sample_sentences": "lab.kernels.ngrams",
    "split_attributes": "io.attributes",
    "encode_sentence": "encode.sentence",
    "hash_cells": "encode.sentence",
    "find_items": "io.items",
    "read_items": "io.items",
    "number_items": "io.items",
    "look_up_items": "io.items",
    "spell": "encode.encode",
    "hash_atoms": "encode.word_atoms",
    "exchange": "learning.clusters",
    "merge_classes": "learning.clusters",
    "merge_losses": "learning.clusters",
    "number_words": "io.words",
    "intern_cells": "io.columns",
    "split_cells": "io.columns",
    "split_lines": "io.columns",
    "paste_labels": "io.columns",
    "join_types": "io.columns",
    "unescaped": "io.attributes",
    "splice": "io.columns",
    "paste_blocks": "io.columns",
    "paste_columns": "io.columns",
    "hash_pieces": "core.hashing",
    "mixed_all": "core.hashing",
    "add_all": "core.hashing",
    "find_all": "core.hashing",
    "renumbered": "core.hashing",
    "add_counts": "core.hashing",
    "take_counts": "core.hashing",
    "keep_attributes": "encode.encode",
    "inverted": "chain.gather",
    "fill_rows": "chain.gather",
    "seen_labels": "chain.gather",
    "changed_rows": "chain.mix",
    "take_cells": "chain.mix",
    "put_cells": "chain.mix",
    "add_cells": "chain.mix",
    "mix_cells": "chain.mix",
    "absorb": "learning.lbfgs",
    "combine": "learning.lbfgs",
    "measure": "learning.lbfgs",
    "move": "learning.lbfgs",
    "squares": "learning.lbfgs",
    "survey": "learning.lbfgs",
    "table_of": "chain.label_context",
    "bag_pass": "lab.kernels.bag",
    "bag_scores": "lab.kernels.bag",
    "add_new": "classification.kernels.train",
    "link_repeats": "classification.kernels.update",
    "score_words": "lab.kernels.ngrams",
    "split_words": "lab.kernels.text",
    "sentence_hashes": "lab.kernels.text",
    "crossing_arcs": "parsing.kernels.projective",
    "lift_arcs": "parsing.kernels.projective",
    "lower_arcs": "parsing.kernels.projective",
    "frozen": "parsing.kernels.weights",
    "larger_table": "parsing.kernels.weights",
    "lists_of": "parsing.kernels.weights",
    "restart_from_average": "parsing.kernels.weights",
    "spread_lists": "parsing.kernels.weights",
    "spread_small": "parsing.kernels.small",
    "small_sizes": "parsing.kernels.small",
    "small_lists": "parsing.kernels.small",
}


def module_of(name: str) -> str:
    """The module of a kernel, below the package."""
    place = KERNELS[name]
    return place if ".kernels." in place else f"kernels.{place}"


def find_kernel(name: str) -> Any:
    """The kernel of that name."""
    package = __name__.partition(".kernels.")[0]
    return getattr(importlib.import_module(f"{package}.{module_of(name)}"), name)
