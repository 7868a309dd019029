"""Threads that run one kernel together: they share out the examples of a batch, wait for each other, and share out the
rows of weights.

Each thread calls the kernel with a `Team` of its own number and the same `meeting`. A batch goes like this, with
`order` the examples of the batch, longest first:

    while (j := claim(team)) < n:  find the update of example order[j]         all at the same time
    if arrive(team, FIND):         one thread, while the others wait
        what must be done in one order: new rows, counts
        release(team)
    apply the updates of all examples, in order, to the own rows               all at the same time
    meet(team)

Waiting takes a fraction of a microsecond, since threads look at a shared number all the time; after a while they offer
their core to others. A thread that fails breaks the team up (`break_up`), so that nobody waits for it. The result is
the same for any number of threads: each row is changed by one thread, in the order of the examples.
"""

from __future__ import annotations

import platform
import sys
from typing import Any, NamedTuple

import numpy as np

from palmette.kernels.core.compile import JIT, MODE, inline, part
from palmette.kernels.core.types import I64, struct

# Places in `meeting`, each on a cache line of its own
ARRIVED, ROUND, CLAIMED, BROKEN, SIZE = 0, 8, 16, 24, 32
# Places in `spent`: what a thread does in a batch, waiting after the first and the second of them, the last reading
FIND, APPLY, IN_ORDER = np.int64(0), np.int64(1), np.int64(2)
WAIT, SINCE, PHASES = np.int64(3), np.int64(5), 6
HAS_CYCLES = platform.machine().lower() in ("x86_64", "amd64")  # others do not let programs read them
PATIENCE = 20000  # looks before a core is offered to others: some 50 microseconds
_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)
PAIRS, MANY = np.int64(1), np.int64(4)  # 2 ** PAIRS or 2 ** MANY neighbouring rows have one owner; see `share_of`
LISTS = np.int64(3)  # and so do 2 ** LISTS times as many lists


@struct
class Team(NamedTuple):
    """One of the threads that run a kernel together."""

    number: int  # of this thread, from 0
    size: int
    meeting: I64  # [SIZE]
    spent: I64  # [PHASES]  of this thread, in cycles


class Share(NamedTuple):
    """The rows of weights that one thread changes; see `row_to_change`."""

    number: np.int64
    size: np.int64
    step: np.uint64  # 2 ** 32 / size, rounded up
    shift: np.int64  # 2 ** shift neighbours have one owner


def make_team(size: int) -> list[Team]:
    """As many members; one of them is alone."""
    meeting, spent = np.zeros(SIZE, np.int64), np.zeros((size, 32), np.int64)  # on lines of their own
    return [Team(number, size, meeting, spent[number, :PHASES]) for number in range(size)]


def break_up(team: Team) -> None:
    """Let nobody wait any more: kernels return at their next meeting."""
    team.meeting[BROKEN] = 1


def _add(numbers: np.ndarray, at: int, value: int) -> int:
    """numbers[at] += value in one step; what was there."""
    before = int(numbers[at])
    numbers[at] += value
    return before


def _get(numbers: np.ndarray, at: int) -> int:
    """numbers[at] as other threads have left it."""
    return int(numbers[at])


def _offer_core() -> None:
    """Let another thread run on this core."""


def _cycles() -> int:
    """A clock of the processor; 0 if there is none that programs may read."""
    return 0


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    _OFFER = "SwitchToThread" if sys.platform == "win32" else "sched_yield"

    def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.gep(made.data, [args[1]])

    @intrinsic
    def _add(typingctx, numbers, at, value):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.atomic_rmw("add", _place(context, builder, signature, args), args[2], "seq_cst")

        return types.int64(numbers, types.int64, types.int64), code

    @intrinsic
    def _get(typingctx, numbers, at):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load_atomic(_place(context, builder, signature, args), "seq_cst", 8)

        return types.int64(numbers, types.int64), code

    @intrinsic
    def _offer_core(typingctx):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, _OFFER), [])
            return context.get_dummy_value()

        return types.void(), code

    @intrinsic
    def _cycles(typingctx):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.IntType(64), [])
            if not HAS_CYCLES:
                return ir.Constant(ir.IntType(64), 0)
            return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind), [])

        return types.int64(), code


@inline
def _note(team: Team, phase: np.int64) -> None:
    """Add the time since the last note of this thread to that of a phase."""
    now = _cycles()
    team.spent[phase] += now - team.spent[SINCE]
    team.spent[SINCE] = now


@inline
def begin_phases(team: Team) -> None:
    """Called when a kernel starts: the time of its phases is added up in `spent`."""
    team.spent[SINCE] = _cycles()


@inline
def share_among(number: np.int64, size: np.int64, shift: np.int64) -> Share:
    """What one of so many threads changes: 2 ** shift neighbouring rows have one owner."""
    return Share(number, size, np.uint64((np.int64(1 << 32) + size - 1) // size), shift)


@inline
def share_of(team: Team, width: int) -> Share:
    """The rows, of so many numbers each, that this thread changes. Threads write to different cache lines, which two
    rows of a multiple of 8 numbers fill; of others many rows are taken together."""
    return share_among(np.int64(team.number), np.int64(team.size), PAIRS if width % 8 == 0 else MANY)


@inline
def serial_share(team: Team, alone: bool) -> Share:
    """What the thread does that came last. Alone it changes all rows; otherwise it changes none, and only gives out
    rows to attributes that have none."""
    number, size = (0, 1) if alone else (-1, team.size)
    return share_among(np.int64(number), np.int64(size), PAIRS)


@inline
def claim(team: Team) -> int:
    """The number of an example that nobody has claimed, from 0; from the size of the batch on there is none left."""
    if team.size == 1:
        taken = team.meeting[CLAIMED]
        team.meeting[CLAIMED] = taken + 1
        return int(taken)
    return int(_add(team.meeting, CLAIMED, 1))


@part
def arrive(team: Team, done: np.int64) -> bool:
    """True for the thread that comes last: the others wait until it calls `release`. Claims start again. `done`: the
    phase that ends here, FIND or APPLY."""
    meeting = team.meeting
    _note(team, done)
    if team.size == 1:
        meeting[CLAIMED] = 0
        return True
    number = _get(meeting, ROUND)
    if _add(meeting, ARRIVED, 1) == team.size - 1:
        meeting[ARRIVED] = 0
        meeting[CLAIMED] = 0
        return True
    looks = 0
    while _get(meeting, ROUND) == number and _get(meeting, BROKEN) == 0:
        looks += 1
        if looks > PATIENCE:
            _offer_core()
    _note(team, WAIT + done)
    return False


@inline
def release(team: Team) -> None:
    """End the wait of the others."""
    _note(team, IN_ORDER)
    if team.size > 1:
        _add(team.meeting, ROUND, 1)


@inline
def meet(team: Team) -> None:
    """Wait until all are here, after APPLY."""
    if arrive(team, APPLY):
        release(team)


@inline
def is_broken(team: Team) -> bool:
    """Whether a thread has failed: the kernel ends."""
    return team.size > 1 and _get(team.meeting, BROKEN) != 0


@inline
def _owner(number: np.int64, share: Share) -> np.int64:
    """The thread that changes a row, or the list of an attribute: neighbours have the same, and the next ones another,
    so that all threads have about as many of the frequent ones, which come first. The remainder of a division by the
    number of threads, from two products: a third of the time."""
    part = np.uint64(number >> share.shift) * share.step & _LOW
    return np.int64(part * np.uint64(share.size) >> _32)


@inline
def row_to_change(slot: np.ndarray, used: np.ndarray, attribute: int, share: Share) -> np.int64:
    """The row of an attribute, which it gets at its first change; 0 if another thread changes it."""
    row = np.int64(slot[attribute])
    if row == 0:
        row = used[0]
        slot[attribute] = row
        used[0] = row + 1
    if share.size > 1 and _owner(row, share) != share.number:
        return np.int64(0)
    return row


@inline
def is_own_row(row: np.int64, share: Share) -> np.int64:
    """1 if this thread changes a row, else 0: a number, so that lists need no branch."""
    return np.int64(share.size == 1 or _owner(row, share) == share.number)


@inline
def is_own(attribute: int, share: Share) -> bool:
    """Whether this thread changes the list of weights of an attribute."""
    return share.size == 1 or _owner(np.int64(attribute) >> LISTS, share) == share.number


@part
def longest_first(order: np.ndarray, offset: np.ndarray, examples: np.ndarray, first: int) -> None:
    """order i64[n]: the n examples from `first` on, numbered from 0, longest first, so that threads end together."""
    for j in range(order.size):
        s = examples[first + j]
        length, at = offset[s + 1] - offset[s], j
        while at > 0:
            other = examples[first + order[at - 1]]
            if offset[other + 1] - offset[other] >= length:
                break
            order[at] = order[at - 1]
            at -= 1
        order[at] = j
