"""How much memory is free, and how much a training in memory takes, about."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from palmette.data.files import FilePath

SHARE = 0.5  # of the free memory that the data of a training in memory may take
GZIP = 5  # bytes that a compressed one stands for, about
PER_BYTE = 30  # bytes in memory per byte of text: columns, attributes and their index, with some twenty templates
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def free_memory() -> int | None:
    """Bytes of memory that this process can still have, by the machine and its cgroup; None if unknown."""
    found = [free for free in (_of_machine(), *(_of_cgroup(*files) for files in CGROUPS)) if free is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    with contextlib.suppress(OSError, ValueError, StopIteration), open("/proc/meminfo") as rows:
        return 1024 * int(next(row for row in rows if row.startswith("MemAvailable:")).split()[1])
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return None


def _of_cgroup(limit: str, used: str) -> int | None:
    with contextlib.suppress(OSError, ValueError), open(limit) as most, open(used) as now:
        return max(0, int(most.read()) - int(now.read()))  # `max` for no limit is no number
    return None


def estimated_memory(paths: Sequence[FilePath]) -> int:
    """Bytes that a training in memory on these files takes, about; what is no file on disk counts as nothing."""
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):
            if os.path.isfile(path):
                total += os.path.getsize(path) * (GZIP if os.fspath(path).endswith(".gz") else 1)
    return PER_BYTE * total
