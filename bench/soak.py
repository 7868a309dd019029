"""`python -m bench.soak [--minutes 10] [--seed 0]`: a server under good and bad requests at once, on loopback.

Good clients ask for labels, lists and explanations, of one sentence and of many. Bad ones send broken JSON, bodies and
heads that are too large, stop in the middle, read nothing, or send a byte at a time. Schemathesis reads the description
of the interface and sends whatever fits it, and what does not. It fails if an answer has a status of 500 or more, if
the server logs an error or ends, or if its memory grows after the first quarter of the time by more than GROWTH.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import random
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bench.http import Server, request_bytes
from bench.measure import HERE, keep
from bench.report import fill
from palmette import Parser, Pipeline, Tagger
from palmette.datasets import load_demo, load_trees

GROWTH = 0.10  # of the resident memory, and GRACE
GRACE = 10.0  # megabytes
TIMEOUT = "2"  # seconds of a request
MARKS = "<!-- soak: begin -->", "<!-- soak: end -->"
MODELS = ("chunk", "pos", "parser", "en")
STATUS = re.compile(r'palmette_requests_total\{address="([^"]*)",status="(\d+)"\} (\d+)')
Client = Callable[["Soak", random.Random], Coroutine[Any, Any, None]]


def make_models(folder: Path) -> None:
    """Small models of several kinds."""
    rows, chunks = load_demo("train")
    Tagger(learner="perceptron", passes=3).fit(rows, chunks).save(folder / "chunk.palm")
    words, tags = [[w for w, _ in s] for s in rows], [[t for _, t in s] for s in rows]
    Tagger("pos", learner="perceptron", passes=3).fit(words, tags).save(folder / "pos.palm")
    Parser(passes=2).fit(load_trees()).save(folder / "parser.palm")
    Pipeline(passes=1).fit(load_trees()).save(folder / "en.palm")


class Soak:
    """A server, and what its clients have seen."""

    def __init__(self, server: Server, seconds: float, seed: int) -> None:
        self.server, self.until, self.seed = server, time.monotonic() + seconds, seed
        self.seen: Counter[str] = Counter()
        self.rows = [[list(row) for row in s] for s in load_demo("dev")[0]]

    @property
    def on(self) -> bool:
        return time.monotonic() < self.until

    async def exchange(self, data: bytes, wait: float = 10.0) -> str:
        """Send bytes; the status of the answer, or what happened instead."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            writer.write(data)
            line = await asyncio.wait_for(reader.readline(), wait)
            return line.split(b" ")[1].decode() if line else "closed"
        except (ConnectionError, TimeoutError) as error:
            return type(error).__name__
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def good(soak: Soak, draw: random.Random) -> None:
    """Sentences, texts, lists, confidences; one sentence and many."""
    n = draw.choice([1, 1, 1, 5, 60])
    rows = [draw.choice(soak.rows) for _ in range(n)]
    words = [[word for word, _ in sentence] for sentence in rows]
    text = " ".join(" ".join(sentence) for sentence in words)
    name, body = draw.choice([
        ("chunk", {"sentences": rows}), ("chunk", {"sentences": rows, "nbest": 5, "confidence": True}),
        ("chunk", {"text": text}), ("chunk", {"tokens": rows[0], "marginals": True, "explain": True}),
        ("pos", {"sentences": words}), ("en", {"text": text[:2000]}), ("parser", {"sentences": words[:5], "nbest": 2}),
    ])  # fmt: skip
    soak.seen[f"good {await soak.exchange(request_bytes(f'/models/{name}', json.dumps(body).encode()))}"] += 1


async def broken(soak: Soak, draw: random.Random) -> None:
    """What is no request, or no request of ours."""
    body = json.dumps({"sentences": [draw.choice(soak.rows)]}).encode()
    cut = body[: draw.randrange(len(body))]
    head = b"POST /models/chunk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    data = draw.choice([
        request_bytes("/models/chunk", cut), request_bytes("/models/" + "x" * 2000, body),
        request_bytes("/models/chunk", b"[" * 20_000), request_bytes("/models/chunk", draw.randbytes(300)),
        request_bytes("/models/chunk", b'{"text": "' + b"a " * 200_000 + b'"}'),
        head + b"content-length: 99999999999\r\n\r\n", head + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        head + b"x: " + b"y" * 100_000 + b"\r\n\r\n", draw.randbytes(200) + b"\r\n\r\n",
        request_bytes("/models/chunk", b'{"text": "' + b"a " * 3_000_000 + b'"}'),
    ])  # fmt: skip
    soak.seen[f"broken {await soak.exchange(data)}"] += 1


async def slow(soak: Soak, draw: random.Random) -> None:
    """A byte at a time, a request that stops, an answer that nobody reads."""
    body = json.dumps({"sentences": [soak.rows[0]] * draw.choice([1, 300]), "nbest": 10}).encode()
    data = request_bytes("/models/chunk", body)
    reader, writer = await asyncio.open_connection("127.0.0.1", soak.server.port)
    kind = draw.choice(["drip", "stop", "deaf", "leave"])
    with contextlib.suppress(ConnectionError, TimeoutError):
        if kind == "drip":
            for k in range(0, min(len(data), 400), 3):
                if writer.transport.is_closing():
                    break
                writer.write(data[k : k + 3])
                await asyncio.sleep(0.02)
        elif kind == "stop":
            writer.write(data[: draw.randrange(1, len(data))])
            await asyncio.wait_for(reader.read(), 5)
        elif kind == "deaf":
            for _ in range(20):
                writer.write(data)
            await asyncio.sleep(3)
        else:
            writer.write(data[: draw.randrange(1, len(data))])
    writer.close()
    soak.seen[f"slow {kind}"] += 1


async def clients(soak: Soak) -> None:
    async def repeat(work: Client, number: int) -> None:
        draw = random.Random(f"{soak.seed} {work.__name__} {number}")
        while soak.on:
            try:
                await work(soak, draw)
            except OSError as error:
                soak.seen[f"{work.__name__}: {type(error).__name__}"] += 1
                await asyncio.sleep(0.1)

    await asyncio.gather(*(repeat(work, k) for work, n in ((good, 4), (broken, 2), (slow, 6)) for k in range(n)))


async def watch(soak: Soak, memory: list[tuple[float, float]]) -> None:
    """The seconds so far and the memory of the server, twice a second."""
    begun = time.monotonic()
    while soak.on:
        memory.append((time.monotonic() - begun, soak.server.memory()))
        await asyncio.sleep(0.5)


async def schema(soak: Soak, reports: list[str]) -> None:
    """Schemathesis, again and again with other seeds."""
    seed = soak.seed
    while soak.on:
        seed += 1
        url = f"http://127.0.0.1:{soak.server.port}"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--checks", "not_a_server_error",
            "--max-examples", "15", "--seed", str(seed), "--request-timeout", "10", "--no-color",
            "--phases", "examples,fuzzing", "--suppress-health-check", "all",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tempfile.gettempdir(),
        )  # fmt: skip
        try:
            out, _ = await asyncio.wait_for(process.communicate(), max(1.0, soak.until - time.monotonic()) + 20)
        except TimeoutError:
            process.terminate()
            await process.wait()
            soak.seen["schemathesis run, cut off at the end"] += 1
            return
        soak.seen[f"schemathesis run, exit {process.returncode}"] += 1
        if process.returncode:
            reports.append(out.decode(errors="replace")[-3000:])
            return


def soak(minutes: float, seed: int) -> int:
    """Run everything, and leave a record; 0 if nothing was found."""
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name), Path(name) / "log"
        make_models(folder)
        options = ["--with", f"pos={folder / 'pos.palm'}", "--timeout", TIMEOUT]
        models = [str(folder / f"{each}.palm") for each in MODELS]
        memory: list[tuple[float, float]] = []
        reports: list[str] = []
        with open(log, "wb") as err:
            server = Server([sys.executable, "-m", "palmette", "serve", *models, *options], stderr=err)
            running = Soak(server, 60 * minutes, seed)
            try:
                asyncio.run(_all(running, memory, reports))
                with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as answer:
                    metrics = answer.read().decode()
            finally:
                code = server.stop()
        found = record(minutes, running, memory, metrics)
        faults = faults_of(found, log.read_text(errors="replace"), code)
    faults += [f"schemathesis:\n{report}" for report in reports]
    found["verdict"] = "; ".join(fault.partition("\n")[0] for fault in faults) or "nothing found"
    keep("soak", found, "python -m bench.soak " + " ".join(sys.argv[1:]))
    fill(HERE.parent / "docs" / "serve.md", sentence(found), MARKS)
    print("\n".join([*lines(found), *faults, f"VERDICT: {found['verdict']}"]))
    return 1 if faults else 0


async def _all(running: Soak, memory: list[tuple[float, float]], reports: list[str]) -> None:
    await asyncio.gather(clients(running), watch(running, memory), schema(running, reports))


def record(minutes: float, running: Soak, memory: list[tuple[float, float]], metrics: str) -> dict[str, Any]:
    """What is kept of a run: answers by status, and the most memory in each minute."""
    statuses: Counter[str] = Counter()
    for _, status, n in STATUS.findall(metrics):
        statuses[status] += int(n)
    by_minute: dict[int, float] = {}
    for at, size in memory:
        by_minute[int(at // 60)] = max(size, by_minute.get(int(at // 60), 0.0))
    seen = any(" 5" in one and one.split()[-1].startswith("5") for one in running.seen)
    return {
        "minutes": minutes, "requests": sum(statuses.values()), "statuses": dict(sorted(statuses.items())),
        "5xx": sum(n for status, n in statuses.items() if status >= "500") + seen,
        "clients": dict(sorted(running.seen.items())), "start": round(memory[0][1], 1),
        "megabytes": [round(by_minute[minute], 1) for minute in sorted(by_minute)],
        "quarters": [round(max(size for _, size in part), 1) for part in quarters(memory)],
    }  # fmt: skip


def quarters(memory: list[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """The time in four parts."""
    last = memory[-1][0] + 1e-9
    parts = [[row for row in memory if int(4 * row[0] / last) == k] for k in range(4)]
    return [part or memory for part in parts]


def faults_of(found: dict[str, Any], log: str, code: int) -> list[str]:
    """What must not be."""
    faults = []
    if found["5xx"]:
        faults.append("a status of 500 or more")
    if "Traceback" in log or code:
        faults.append(f"the server failed with exit code {code}\n{log[-3000:]}")
    second, last = found["quarters"][1], found["quarters"][3]
    if last > second * (1 + GROWTH) + GRACE:
        faults.append(f"memory has grown from {second} MB in the second quarter to {last} MB in the last")
    return faults


def sentence(found: dict[str, Any]) -> str:
    """The record as docs/serve.md quotes it."""
    by_minute = ", ".join(f"{size:.0f}" for size in found["megabytes"])
    return textwrap.fill(
        f"The last run took {found['minutes']:g} minutes: {found['requests']:,} answers, {found['5xx']} of them with a "
        f"status of 500 or more; memory of the server, with a tagger, a chunker, a parser and a pipeline, at most "
        f"{by_minute} MB in each minute. Verdict: {found['verdict']}.",
        120,
    )


def lines(found: dict[str, Any]) -> list[str]:
    """The record as text."""
    by_minute = ", ".join(f"{size:.0f}" for size in found["megabytes"])
    quarter = ", ".join(f"{size:.0f}" for size in found["quarters"])
    return [
        f"clients saw {found['clients']}",
        f"{found['requests']:,} answers by status: {found['statuses']}; of 500 and more: {found['5xx']}",
        f"memory, MB: {found['start']:.0f} at the start; most in each minute: {by_minute}; in each quarter: {quarter}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # clients that leave are no news
    if shutil.which("schemathesis") is None:
        print("schemathesis is missing: pip install schemathesis", file=sys.stderr)
    return soak(given.minutes, given.seed)


if __name__ == "__main__":
    sys.exit(main())
