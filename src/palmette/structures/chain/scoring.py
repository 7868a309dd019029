"""What a model computes beyond the best path: sums over paths, posteriors and lists of paths, with its weights at a
temperature and with a bias. Models bring their own kernels (`ChainModel.scoring`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.kernels.chain.forms import Chain, Data
from palmette.kernels.core.compile import prepared
from palmette.structures.chain.row_tables import with_rows_for

if TYPE_CHECKING:  # kernels are loaded by what asks for them
    from palmette.kernels.chain.posteriors import Marks, Places, Posteriors


class Lists:
    """The best paths of the sentences of a corpus, by `Scoring.lists`."""

    def __init__(self, chain: Chain, data: Data, n: int) -> None:
        from palmette.kernels.chain.nbest import make_list_workspace

        self.chain, self.data = with_rows_for(chain, data), data
        self.workspace: Any = make_list_workspace(chain, data, n)

    def fill(
        self, first: int, last: int, out: np.ndarray, scores: np.ndarray, probability: np.ndarray, restricted: bool
    ) -> np.ndarray:
        """Of the sentences first..last - 1: labels to out i32[n, their tokens], scores f64[sentences, n], and unless it
        is of size 0 probability f64[sentences, n]. How many each sentence has, i64[sentences]."""
        from palmette.kernels.chain.kbest import BestSequences
        from palmette.kernels.chain.nbest import decode_nbest

        best = BestSequences(out, scores, probability, np.zeros(last - first, np.int64))
        decode_nbest(self.chain, self.data, self.workspace, first, last, best, restricted)
        return best.found


class Scoring:
    """With the weights of a Chain, in float32; sums are float64."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def log_partitions(self, data: Data, restricted: bool) -> np.ndarray:
        """log Z of each sentence f64[S]: of all paths, or of those that the label mask allows."""
        from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace

        log_z, chain = np.zeros(data.offset.size - 1), with_rows_for(self.chain, data)
        log_partitions(chain, data, make_sum_workspace(chain, data), log_z, restricted)
        return log_z

    def most_probable(self, data: Data, restricted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The label with the largest posterior of each token i32[N], that posterior f64[N], and log Z f64[S]."""
        from palmette.kernels.chain.forward_backward import make_sum_workspace
        from palmette.kernels.chain.posteriors import decode_marginal

        labels, confidence, log_z = _results(data)
        workspace = make_sum_workspace(self.chain, data, both=True)
        decode_marginal(with_rows_for(self.chain, data), data, workspace, labels, confidence, log_z, restricted)
        return labels, confidence, log_z

    def posteriors(
        self, data: Data, labels: np.ndarray, places: Places, marks: Marks, out: Posteriors, restricted: bool
    ) -> None:
        """Fill `out` for the labels i32[N] and spans of a corpus."""
        from palmette.kernels.chain.posteriors import make_posterior_workspace, posteriors

        chain = with_rows_for(self.chain, data)
        posteriors(chain, data, make_posterior_workspace(chain, data), labels, places, marks, out, restricted)

    def prepared_posteriors(
        self, data: Data, labels: np.ndarray, places: Places, marks: Marks, out: Posteriors
    ) -> Callable[[], None]:
        """A call of `posteriors` on what is in the arrays then; sentences are at most as long as now."""
        from palmette.kernels.chain.posteriors import make_posterior_workspace, posteriors

        return prepared(
            posteriors, self.chain, data, make_posterior_workspace(self.chain, data), labels, places, marks, out, False
        )  # fmt: skip

    def prepared_partitions(self, data: Data, log_z: np.ndarray) -> Callable[[], None]:
        """A call that writes log Z of the allowed paths f64[S], likewise."""
        from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace

        return prepared(log_partitions, self.chain, data, make_sum_workspace(self.chain, data), log_z, True)

    def lists(self, data: Data, n: int) -> Lists:
        """The n best paths of each sentence."""
        return Lists(self.chain, data, n)

    def most_probable_sequence(
        self, data: Data, cap: int, restricted: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The label sequence with the largest posterior i32[N], that posterior f64[S], and whether it is proven."""
        from palmette.kernels.chain.exact import decode_exact, make_exact_workspace

        labels, posterior = np.zeros(data.known.size, np.int32), np.zeros(data.offset.size - 1)
        proven = np.zeros(posterior.size, np.bool_)
        workspace = make_exact_workspace(self.chain, data, cap)
        decode_exact(with_rows_for(self.chain, data), data, workspace, labels, proven, posterior, restricted)
        return labels, posterior, proven


def _results(data: Data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(data.known.size, np.int32), np.zeros(data.known.size), np.zeros(data.offset.size - 1)
