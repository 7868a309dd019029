"""Over HTTP on loopback: a chunker of CoNLL-2000 served by `palmette serve`, beside a python-crfsuite tagger behind a
Starlette application under the same uvicorn, in the same run, the sides in turn.

Requests of one sentence with 1, 8 and 64 clients, and requests of many sentences (batches). A client sends its next
request when it has the answer to the last one. The number of requests and the time are bounded. Per side: requests per
second, latencies (median, 99th percentile), and the CPU time of the server, which other programs on the machine
disturb least. Both sides get words and tags and make the same 19 features of them.

`python -m bench.soak --minutes 10` is about bad requests.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

import msgspec

from bench import rival
from bench.measure import TEMPLATES, keep
from palmette import Tagger

CLIENTS = (1, 8, 64)
REQUESTS = 2000  # of one sentence, per side and number of clients
MOST_SECONDS = 10.0  # for them
BATCH = 500  # sentences
BATCHES = 12
PASSES = 10
SIDES = ("palmette", "python-crfsuite")
ADDRESS = {"palmette": "/models/chunk", "python-crfsuite": "/tag"}


class Server:
    """A server process of one side."""

    def __init__(self, command: list[str], stderr: IO[bytes] | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        words = [*command, "--port", str(self.port)]
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
        self._wait()

    def _wait(self) -> None:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("the server has ended") from None
                time.sleep(0.1)
        raise RuntimeError("the server does not answer")

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident megabytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def request_bytes(path: str, body: bytes) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    ).encode() + body


async def client(port: int, requests: list[bytes], todo: list[int], until: float, took: list[float]) -> None:
    """Send requests one after the other, as long as some are left and there is time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        while todo and (begun := time.perf_counter()) < until:
            writer.write(requests[todo.pop() % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode(errors="replace"))
            at = head.lower().index(b"content-length:") + 15
            await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
            took.append(time.perf_counter() - begun)
    finally:
        writer.close()


def load(server: Server, requests: list[bytes], n: int, clients: int) -> dict[str, float]:
    """What a server does under load."""

    async def run() -> list[float]:
        took: list[float] = []
        todo, until = list(range(n)), time.perf_counter() + MOST_SECONDS
        await asyncio.gather(*(client(server.port, requests, todo, until, took) for _ in range(clients)))
        return took

    cpu, begun = server.cpu(), time.perf_counter()
    took = sorted(asyncio.run(run()))
    seconds, used = time.perf_counter() - begun, server.cpu() - cpu
    return {
        "requests": len(took), "per second": len(took) / seconds, "p50": 1e3 * took[len(took) // 2],
        "p99": 1e3 * took[len(took) * 99 // 100], "cpu": 1e6 * used / len(took),
    }  # fmt: skip


def make_models(data: Path, folder: Path) -> list[Any]:
    """Train both sides on the same data with the same templates; the test sentences."""
    train = data / "conll2000" / "train.txt"
    tagger = Tagger(template=TEMPLATES / "crfpp.txt", learner="perceptron", passes=PASSES, seed=1)
    tagger.fit_file(train).save(folder / "chunk.palm")
    rival.train(train, folder / "chunk.crfsuite", PASSES)
    return [[row[:2] for row in sentence] for sentence in rival.read(data / "conll2000" / "test.txt")]


def servers(folder: Path) -> dict[str, Server]:
    palmette = [sys.executable, "-m", "palmette", "serve", str(folder / "chunk.palm")]
    theirs = [sys.executable, "-m", "bench.http_rival", str(folder / "chunk.crfsuite")]
    return {"palmette": Server(palmette), "python-crfsuite": Server(theirs)}


def bench_http(data: Path, times: int) -> None:
    """Requests per second and latencies of both sides."""
    with tempfile.TemporaryDirectory() as name:
        sentences = make_models(data, Path(name))
        running = servers(Path(name))
        try:
            found = measured(running, sentences, times)
        finally:
            for server in running.values():
                server.stop()
    keep("http", found)
    print("\n".join(table(found)))


def measured(running: dict[str, Server], sentences: list[Any], times: int) -> dict[str, Any]:
    """All loads, the sides in turn; of several runs the one with the most requests per second."""
    one = {side: [_body(side, [sentence]) for sentence in sentences if len(sentence) <= 40] for side in SIDES}
    parts = [sentences[k : k + BATCH] for k in range(0, len(sentences), BATCH)]
    many = {side: [_body(side, part) for part in parts if len(part) == BATCH] for side in SIDES}
    found: dict[str, Any] = {"single": {}, "batch": {}, "sentences": BATCH}
    for side, server in running.items():  # compiled code and caches are warm in all that follows
        load(server, one[side], 500, 8)
    for clients in CLIENTS:
        found["single"][str(clients)] = _best(running, one, REQUESTS, clients, times)
    for clients in (1, 8):
        found["batch"][str(clients)] = _best(running, many, BATCHES, clients, times)
    found["memory"] = {side: server.memory() for side, server in running.items()}
    return found


def _best(running: dict[str, Server], bodies: dict[str, list[bytes]], n: int, clients: int, times: int) -> Any:
    """Of several runs of each side the one with the most requests per second."""
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(times):
        for side, server in running.items():
            runs[side].append(load(server, bodies[side], n, clients))
    return {side: max(own, key=lambda row: row["per second"]) for side, own in runs.items()}


def _body(side: str, sentences: list[Any]) -> bytes:
    return request_bytes(ADDRESS[side], msgspec.json.encode({"sentences": sentences}))


def table(found: dict[str, Any]) -> list[str]:
    """The table of docs/serve.md."""
    lines = ["| | palmette | python-crfsuite | |", "|---|--:|--:|--:|"]
    for part, size in (("single", "one sentence"), ("batch", f"{found['sentences']} sentences")):
        for clients, own in found[part].items():
            mine, theirs = (own[side] for side in SIDES)
            who = f"{size} per request, {clients} client{'s' if clients != '1' else ''}"
            rows = {
                f"{who}: requests per second": ([f"{side['per second']:,.0f}" for side in (mine, theirs)],
                                                mine["per second"] / theirs["per second"]),
                "median / 99%, ms": ([f"{side['p50']:.2f} / {side['p99']:.2f}" for side in (mine, theirs)], None),
                "CPU of the server per request, µs": ([f"{side['cpu']:,.0f}" for side in (mine, theirs)],
                                                      theirs["cpu"] / mine["cpu"]),
            }  # fmt: skip
            for what, (cells, ratio) in rows.items():
                lines.append(f"| {what} | {' | '.join(cells)} | {'' if ratio is None else f'**{ratio:.1f}x**'} |")
    mine, theirs = (found["memory"][side] for side in SIDES)
    lines.append(f"| resident memory, MB | {mine:.0f} | {theirs:.0f} | {theirs / mine:.1f}x |")
    return lines
