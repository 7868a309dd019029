"""Every kernel and the module that it is in. Types are the annotations of the function (core/signature.py).

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
    "train_tree": "tree.train",
    "posteriors": "chain.posteriors",
    "train_perceptron": "chain.train",
    "train_margins": "chain.train_margins",
    "train_latent": "latent.train",
    "decode_nbest": "chain.nbest",
    "list_parses": "tree.lists",
    "decode_marginal": "chain.marginals",
    "margins": "chain.margin",
    "local_expectations": "chain.local_gradient",
    "log_partitions": "chain.forward",
    "encode": "encode.encode",
    "decode": "chain.train",
    "decode_packed": "chain.packed",
    "decode_beam": "chain.decode_beam",
    "posteriors_double": "chain.double_sums",
    "decode_nbest_double": "chain.double_sums",
    "decode_marginal_double": "chain.double_sums",
    "log_partitions_double": "chain.double_sums",
    "decode_double": "chain.double",
    "forest": "tree.lists",
    "count_gold": "tree.cutoff",
    "allow_features": "tree.cutoff",
    "gather": "chain.gather",
    "parse": "tree.train",
    "decide": "latent.train",
    "sample_sentences": "lm.sample",
    "split_attributes": "io.attributes",
    "encode_sentence": "encode.sentence",
    "find_items": "io.items",
    "read_items": "io.items",
    "number_items": "io.items",
    "look_up_items": "io.items",
    "spell": "encode.spell",
    "intern_cells": "io.columns",
    "split_cells": "io.columns",
    "split_lines": "io.columns",
    "paste_labels": "io.columns",
    "join_types": "io.columns",
    "unescaped": "io.attributes",
    "splice": "io.splice",
    "hash_pieces": "core.hashing",
    "mixed_all": "core.hashing",
    "add_all": "core.table",
    "find_all": "core.index",
    "renumbered": "core.table",
    "keep_attributes": "encode.encode",
    "inverted": "chain.gather",
    "fill_rows": "chain.gather",
    "seen_labels": "chain.gather",
    "absorb": "lbfgs.vectors",
    "combine": "lbfgs.vectors",
    "measure": "lbfgs.vectors",
    "move": "lbfgs.vectors",
    "squares": "lbfgs.vectors",
    "survey": "lbfgs.vectors",
    "table_of": "chain.label_context",
    "bag_pass": "latent.bag",
    "bag_scores": "latent.bag",
    "add_new": "latent.cache",
    "link_repeats": "latent.update",
    "score_words": "lm.score",
    "split_words": "lm.text",
    "sentence_hashes": "lm.text",
    "crossing_arcs": "tree.projective",
    "lift_arcs": "tree.projective",
    "lower_arcs": "tree.projective",
    "frozen": "tree.weights",
    "larger_table": "tree.weights",
    "lists_of": "tree.weights",
    "restart_from_average": "tree.weights",
    "spread_lists": "tree.rows",
    "spread_small": "tree.small",
    "small_sizes": "tree.small",
    "small_lists": "tree.small",
}


def find_kernel(name: str) -> Any:
    """The kernel of that name."""
    package = __name__.rpartition(".")[0]
    return getattr(importlib.import_module(f"{package}.{KERNELS[name]}"), name)
