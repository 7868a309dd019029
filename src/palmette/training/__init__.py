"""Passes over the data, development data and resumption.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.training.chain.fit import fit, prepared
    from palmette.training.chain.learning import Averaging, DescentLearning, PathLearning, chunks_for
    from palmette.training.chain.objective import ChainObjective
    from palmette.training.chain.request import TrainRequest
    from palmette.training.cluster import WorkerProgress
    from palmette.training.clusters import learn_clusters
    from palmette.training.interrupt import Interrupt, interruptible, stop_on_sigterm
    from palmette.training.lbfgs import minimise
    from palmette.training.result import EpochLog, TrainResult
    from palmette.training.team import ThreadTeam, Workers
    from palmette.training.trainer import Counts, Learning, Monitor, Slices, shuffled, train_epochs

__getattr__, __dir__ = door(__name__)
