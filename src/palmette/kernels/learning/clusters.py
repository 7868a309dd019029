"""Classes of words from raw text: the exchange of words between classes, and the tree over the classes.

Words that follow each other give a table of pairs of classes, N(g, h): a word of class g stands before one of class h.
The likelihood of the text under the model p(w | v) = p(class of w | class of v) p(w | class of w) is, but for a
constant,

    F = sum over g, h of N(g, h) log N(g, h)  -  2 sum over g of N(g) log N(g)

(Martin, Liermann and Ney, 1998). A word w is moved to the class where F is largest. Without w, and with R(g) and L(g)
counting how often a word of class g follows and precedes w, s how often w follows itself, putting w into class b adds

    sum over g != b of  d(N(b, g), R(g)) + d(N(g, b), L(g))
    + d(N(b, b), R(b) + L(b) + s)  -  2 d(N(b), N(w))            d(n, r) = (n + r) log(n + r) - n log n

Threads find the best classes of a batch of words in the same classes. Then each thread makes the moves of the batch in
their own copy of the table, in the order of the words, and only those that still raise F: the classes are the same for
any number of threads.

The tree is made from its leaves: each step merges the two classes whose union loses least of F (Brown et al., 1992).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.team import FIND, Team, arrive, begin_phases, claim, is_broken, meet, release
from palmette.kernels.core.types import F64, F64_2D, I32, I32_2D, I64, Bool, struct

CONTEXTS = 2  # classes at the end that no word moves into: the ends of lines, and the words that are too rare
LEAST_GAIN = 1e-6  # of a move: less is rounding


@struct
class Pairs(NamedTuple):
    """How often each word occurs, and which words follow and precede it. The first CONTEXTS words do not move."""

    often: I64  # [W]
    after_ptr: I64  # [W+1]
    after: I32
    after_count: I32
    before_ptr: I64  # [W+1]
    before: I32
    before_count: I32


@struct
class Classes(NamedTuple):
    """The classes as one thread has them."""

    of: I32  # [W]
    pairs: I32_2D  # [K, K]  N(g, h)
    turned: I32_2D  # [K, K]  N(h, g)
    size: I64  # [K]  N(g)
    right: I32  # [K]  R
    left: I32  # [K]  L
    gain: F64  # [K]
    told: F64  # [2]  what the moves have added to F, and how many there were


@inline
def _x_log_x(table: np.ndarray, n: int) -> float:
    """n log n, of small numbers from a table."""
    if n < table.size:
        return table[n]
    return np.float64(n) * np.log(np.float64(n))


@part
def _profile(x: Pairs, classes: Classes, w: int) -> int:
    """Fill R and L of a word; how often it follows itself."""
    of, right, left = classes.of, classes.right, classes.left
    after, after_count, before, before_count = x.after, x.after_count, x.before, x.before_count
    for g in range(right.size):
        right[g] = 0
        left[g] = 0
    own = 0
    for k in range(x.after_ptr[w], x.after_ptr[w + 1]):
        if after[k] == w:
            own += after_count[k]
        else:
            right[of[after[k]]] += after_count[k]
    for k in range(x.before_ptr[w], x.before_ptr[w + 1]):
        if before[k] != w:
            left[of[before[k]]] += before_count[k]
    return own


@part
def _put(classes: Classes, c: int, own: int, count: int, sign: int) -> None:
    """Put the word of R and L into class c (sign 1), or take it out (-1)."""
    pairs, turned, right, left = classes.pairs, classes.turned, classes.right, classes.left
    for g in range(right.size):
        if right[g] > 0:
            pairs[c, g] += sign * right[g]
            turned[g, c] += sign * right[g]
        if left[g] > 0:
            pairs[g, c] += sign * left[g]
            turned[c, g] += sign * left[g]
    pairs[c, c] += sign * own
    turned[c, c] += sign * own
    classes.size[c] += sign * count


@inline
def _add_rows(gain: np.ndarray, row: np.ndarray, more: int, table: np.ndarray) -> None:
    """Add d(row[b], more) to the gain of each class b."""
    for b in range(gain.size):
        n = np.int64(row[b])
        if n + more < table.size:
            gain[b] += table[n + more] - table[n]
        else:
            gain[b] += _x_log_x(table, n + more) - _x_log_x(table, n)


@inline
def _ends(classes: Classes, b: int, own: int, count: int, table: np.ndarray) -> float:
    """What does not depend on the other classes."""
    both = np.int64(classes.right[b]) + np.int64(classes.left[b]) + own
    n, size = np.int64(classes.pairs[b, b]), np.int64(classes.size[b])
    same = _x_log_x(table, n + both) - _x_log_x(table, n)
    return same - 2.0 * (_x_log_x(table, size + count) - _x_log_x(table, size))


@part
def _gains(classes: Classes, own: int, count: int, table: np.ndarray) -> None:
    """What F gains by the word of R and L in each class, in `gain`."""
    right, left = classes.right, classes.left
    K = right.size
    C = K - CONTEXTS
    gain = classes.gain[:C]
    for b in range(C):
        gain[b] = _ends(classes, b, own, count, table)
    for g in range(K):
        same = gain[g] if g < C else 0.0
        if right[g] > 0:
            _add_rows(gain, classes.turned[g, :C], np.int64(right[g]), table)
        if left[g] > 0:
            _add_rows(gain, classes.pairs[g, :C], np.int64(left[g]), table)
        if g < C:
            gain[g] = same


@part
def _gain_of(classes: Classes, b: int, own: int, count: int, table: np.ndarray) -> float:
    """What F gains by the word of R and L in class b."""
    right, left, turned, pairs = classes.right, classes.left, classes.turned, classes.pairs
    gain = _ends(classes, b, own, count, table)
    for g in range(right.size):
        if g != b and right[g] > 0:
            n = np.int64(pairs[b, g])
            gain += _x_log_x(table, n + right[g]) - _x_log_x(table, n)
        if g != b and left[g] > 0:
            n = np.int64(turned[b, g])
            gain += _x_log_x(table, n + left[g]) - _x_log_x(table, n)
    return gain


@part
def _best_class(x: Pairs, classes: Classes, table: np.ndarray, w: int) -> int:
    """The class where F is largest; its own if no other one is better."""
    own, count, c = _profile(x, classes, w), x.often[w], classes.of[w]
    _put(classes, c, own, count, -1)
    _gains(classes, own, count, table)
    _put(classes, c, own, count, 1)
    gain = classes.gain
    best, value = int(c), gain[c] + LEAST_GAIN
    for b in range(gain.size - CONTEXTS):
        if gain[b] > value:
            best, value = b, gain[b]
    return best


@part
def _move(x: Pairs, classes: Classes, table: np.ndarray, w: int, b: int) -> None:
    """Move a word into class b if that raises F."""
    own, count, c = _profile(x, classes, w), x.often[w], np.int64(classes.of[w])
    _put(classes, c, own, count, -1)
    more = _gain_of(classes, b, own, count, table) - _gain_of(classes, c, own, count, table)
    if more > LEAST_GAIN:
        classes.of[w] = b
        classes.told[0] += more
        classes.told[1] += 1.0
        c = np.int64(b)
    _put(classes, c, own, count, 1)


@kernel
def exchange(team: Team, x: Pairs, classes: Classes, table: F64, best: I32, first: int, last: int) -> None:
    """Move the words first..last - 1, in batches of the size of `best`, which all threads share. table: n log n."""
    batch = best.size
    begin_phases(team)
    for start in range(first, last, batch):
        n = min(batch, last - start)
        while True:
            j = claim(team)
            if j >= n:
                break
            best[j] = _best_class(x, classes, table, start + j)
        if arrive(team, FIND):
            release(team)
        for j in range(n):
            if best[j] != classes.of[start + j]:
                _move(x, classes, table, start + j, np.int64(best[j]))
        meet(team)
        if is_broken(team):
            return


# --- the tree -------------------------------------------------------------------------------------------------


@part
def _loss(pairs: np.ndarray, turned: np.ndarray, size: np.ndarray, a: int, b: int, table: np.ndarray) -> float:
    """What F loses by the union of two classes."""
    loss = 0.0
    for side in range(2):
        rows = pairs if side == 0 else turned
        one, other = rows[a], rows[b]
        for g in range(one.size):
            m, n = np.int64(one[g]), np.int64(other[g])
            if m > 0 and n > 0 and g != a and g != b:
                loss += _x_log_x(table, m) + _x_log_x(table, n) - _x_log_x(table, m + n)
    total = np.int64(0)
    for g in (a, b):
        for h in (a, b):
            loss += _x_log_x(table, np.int64(pairs[g, h]))
            total += np.int64(pairs[g, h])
    loss -= _x_log_x(table, total)
    m, n = np.int64(size[a]), np.int64(size[b])
    return loss - 2.0 * (_x_log_x(table, m) + _x_log_x(table, n) - _x_log_x(table, m + n))


@kernel
def merge_losses(pairs: I32_2D, turned: I32_2D, size: I64, table: F64, losses: F64_2D, first: int, last: int) -> None:
    """losses[a, b], a < b, for the rows first..last - 1: what F loses by the union of the classes a and b."""
    for a in range(first, last):
        for b in range(a + 1, losses.shape[0]):
            losses[a, b] = _loss(pairs, turned, size, a, b, table)


@inline
def _term(m: int, n: int, table: np.ndarray) -> float:
    if m == 0 or n == 0:
        return 0.0
    return _x_log_x(table, m) + _x_log_x(table, n) - _x_log_x(table, m + n)


@part
def _add_terms(
    losses: np.ndarray, alive: np.ndarray, row: np.ndarray, column: np.ndarray, i: int, j: int, sign: float,
    table: np.ndarray,
) -> None:  # fmt: skip
    """Add to the losses of all pairs of other classes what they owe to one class, whose row and column these are."""
    C = losses.shape[0]
    for a in range(C):
        r, c = np.int64(row[a]), np.int64(column[a])
        if not alive[a] or a in (i, j) or (r == 0 and c == 0):
            continue
        for b in range(a + 1, C):
            if alive[b] and b not in (i, j):
                losses[a, b] += sign * (_term(r, np.int64(row[b]), table) + _term(c, np.int64(column[b]), table))


@part
def _unite(pairs: np.ndarray, i: int, j: int) -> None:
    """Add row and column j to row and column i."""
    for g in range(pairs.shape[0]):
        pairs[i, g] += pairs[j, g]
        pairs[j, g] = 0
    for g in range(pairs.shape[0]):
        pairs[g, i] += pairs[g, j]
        pairs[g, j] = 0


@kernel
def merge_classes(
    pairs: I32_2D, turned: I32_2D, size: I64, table: F64, losses: F64_2D, alive: Bool, merged: I32_2D
) -> None:
    """Merge the two classes that lose least, once for each row of `merged`, which gets their numbers; the union keeps
    the smaller one."""
    C = losses.shape[0]
    for step in range(merged.shape[0]):
        i, j, least = -1, -1, np.inf
        for a in range(C):
            if alive[a]:
                for b in range(a + 1, C):
                    if alive[b] and losses[a, b] < least:
                        i, j, least = a, b, losses[a, b]
        merged[step, 0], merged[step, 1] = i, j
        _add_terms(losses, alive, pairs[i], turned[i], i, j, -1.0, table)
        _add_terms(losses, alive, pairs[j], turned[j], i, j, -1.0, table)
        _unite(pairs, i, j)
        _unite(turned, i, j)
        size[i] += size[j]
        size[j] = 0
        alive[j] = False
        _add_terms(losses, alive, pairs[i], turned[i], i, j, 1.0, table)
        for b in range(C):
            if alive[b] and b != i:
                losses[min(i, b), max(i, b)] = _loss(pairs, turned, size, min(i, b), max(i, b), table)
