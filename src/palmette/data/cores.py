"""How many cores there are to work with."""

from __future__ import annotations

import os

QUOTA = "/sys/fs/cgroup/cpu.max"  # of a container: microseconds of a core per period


def available_cores() -> int:
    """The cores that this process may use: those it is bound to, at most as many as its container has."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open(QUOTA, encoding="ascii") as file:
            quota, period = file.read().split()
        return max(1, min(bound, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no container, or one without a limit
        return bound
