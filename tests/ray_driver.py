"""A process of its own for tests that use Ray, so that the process of the tests never has Ray's threads and memory, and
outlives whatever happens to a cluster on a busy machine.

    @pytest.fixture(scope="module")
    def driver():
        yield from ray_driver(nodes=2)

    def test_something(driver):
        assert driver(work, 1, 2) == 3        # work(1, 2) in that process, connected to the cluster of the module
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

ATTEMPTS = 3  # a node has 30 s to start, which may be too little
SECONDS = 900  # for one piece of work, also on a machine with much else to do
STORE = 80 << 20  # bytes of the object store of a node, the least that Ray takes
ADDRESS = "PALMETTE_TEST_CLUSTER"

_cluster: Any = None  # in the process of the driver


class RayDriver:
    """Runs functions of test modules one after the other in a process that is connected to a cluster of so many nodes
    with two CPUs each; 0: to none. If the process dies, it is started again, and the function too."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        try:
            pool.submit(_start, self.nodes).result(SECONDS)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return pool

    def __call__(self, work: Callable[..., Any], *arguments: Any) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                return self.pool.submit(work, *arguments).result(SECONDS)
            except BrokenProcessPool:
                if attempt == ATTEMPTS - 1:
                    raise
                self.pool = self._started()
        raise AssertionError

    def close(self) -> None:
        with contextlib.suppress(BrokenProcessPool):
            self.pool.submit(_stop).result(SECONDS)
        self.pool.shutdown()


def ray_driver(nodes: int) -> Iterator[RayDriver]:
    """The body of a fixture."""
    driver = RayDriver(nodes)
    yield driver
    driver.close()


def _start(nodes: int) -> None:
    from palmette.connect.ray_cluster import PATIENT

    os.environ |= {f"RAY_{name}": str(value) for name, value in PATIENT.items()}
    for attempt in range(ATTEMPTS if nodes else 0):
        try:
            _start_cluster(nodes)
            return
        except Exception:
            _stop()
            if attempt == ATTEMPTS - 1:
                raise


def _start_cluster(nodes: int) -> None:
    global _cluster
    import ray
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 2, "object_store_memory": STORE}
    _cluster = Cluster(initialize_head=True, head_node_args=small | {"include_dashboard": False})
    for _ in range(nodes - 1):
        _cluster.add_node(**small)
    ray.init(address=_cluster.address, log_to_driver=False)
    os.environ[ADDRESS] = _cluster.address


def _stop() -> None:
    import ray

    ray.shutdown()
    if _cluster is not None:
        _cluster.shutdown()


def address() -> str:
    """That of the cluster, for work in the process of the driver."""
    return os.environ[ADDRESS]
