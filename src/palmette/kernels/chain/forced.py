"""Gold under a beam, if labels have several states: forced decoding.

A second beam search, of the same width and with the same weights, is restricted to the states of gold's labels. Gold
after i steps is

- the best prefix of forced decoding, if it scores at least as much as the right prefixes of the beam, and at most as
  much as the best prefix of the beam;
- else the best prefix with gold's labels that the beam has made at this step, as long as there is one;
- else, once gold has left the beam, the best prefix of forced decoding.

The second case covers what the beam has lost on the way: forced decoding may find a prefix that outscores the whole
beam because its beginning was pruned there. Against this one an update would fix no violation; against the prefix that
the beam made and then pruned it does. So after a wrong guess there always is a violation: the step after which gold
left the beam, or the end. If a label has one state, gold is the one path of its labels, as in beam.py; if the beam is
as wide as the space, gold is the best path of states with gold's labels, as in the exact latent perceptron.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.beam import Beam, BeamData, BeamWeights, search, trace
from palmette.kernels.chain.forms import Trellis
from palmette.kernels.chain.score import restrict
from palmette.kernels.core.compile import inline, part


@inline
def _made_by_beam(r: Beam, forced: Beam, fell: int, i: int) -> bool:
    """Whether gold after i steps is the right prefix that the beam has made, not that of forced decoding."""
    if fell > 0 and i > fell:
        return False
    return not r.own.score[i] <= forced.best[i] <= r.best[i]


@part
def force_gold(
    T: Trellis, r: Beam, forced: Beam, w: BeamWeights, d: BeamData, s: int, start: int, reached: int, fell: int
) -> bool:
    """Fill `r.gold` from `start` to `reached` steps. False: no path of gold's labels is allowed. Overwrites T.U."""
    x = d.data
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    restrict(T, w.chain, x, lo, n)
    steps, _, _ = search(T, forced, w, d, s, start, np.zeros(0, np.int32), False)
    if steps < n:
        return False
    for i in range(start + 1, reached + 1):
        r.gold[i] = r.own.score[i] if _made_by_beam(r, forced, fell, i) else forced.best[i]
    return True


@part
def trace_gold(r: Beam, forced: Beam, fell: int, steps: int, path: np.ndarray) -> None:
    """Write the states of gold after `steps` steps to path."""
    if _made_by_beam(r, forced, fell, steps):
        trace(r, steps - 1, r.own.back[steps], path)
        path[steps - 1] = r.own.state[steps]
    else:
        trace(forced, steps, 0, path)
