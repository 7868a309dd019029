"""A server as a process of its own: it stops without losing a request, takes over a replaced file, survives slow and
broken clients, and keeps what it has confirmed when it is killed."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli_run import Cli
from serve_cases import folder
from starlette.testclient import TestClient

from palmette import Tagger
from palmette.cli import main

COMMAND = [sys.executable, "-m", "palmette"]
HEAD = b"POST /models/chunk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
TOKENS = [["On", "IN"], ["Monday", "NNP"], ["we", "PRP"]]


class Process:
    """`palmette serve` in a folder with a model."""

    def __init__(self, home: Path, *options: str, **variables: str) -> None:
        command = [*COMMAND, "serve", str(home / "chunk.palm"), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | variables)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.address = line.split(" at ")[1].split()[0]
        self.port = int(self.address.rpartition(":")[2])

    def post(self, path: str, body: Any) -> Any:
        return httpx.post(self.address + path, json=body, timeout=30)

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("serve")
    shutil.copy(folder() / "chunk.palm", made / "chunk.palm")
    return made


@pytest.fixture(scope="module")
def server(shared_home: Path) -> Iterator[Process]:
    """One server for several tests, the last of which stops it."""
    made = Process(shared_home, "--timeout", "2")
    yield made
    made.end()


@pytest.fixture
def server_in_python(shared_home: Path, tmp_path: Path) -> Iterator[Process]:
    """A server that parses requests in Python, since httptools cannot be imported."""
    missing = "raise ModuleNotFoundError('there is no httptools', name='httptools')\n"
    (tmp_path / "httptools.py").write_text(missing, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    made = Process(shared_home, "--timeout", "2", PYTHONPATH=path)
    yield made
    made.end()


def test_slow_endless_and_broken_clients_are_sent_away(server: Process, server_in_python: Process) -> None:
    servers = [server, server_in_python]
    cases = {
        b"GET /health HTT": b" 408 ",  # a head that does not end
        HEAD + b"content-length: 100\r\n\r\n{": b" 408 ",  # a body that does not come
        HEAD + b"content-length: 99999999\r\n\r\n{": b" 413 ",
        HEAD + b"x: " + b"y" * 70_000: b" 431 ",
        b"\0\1\2\3\r\n\r\n": b" 400 ",
        HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n": b" 400 ",
    }
    open_: list[tuple[socket.socket, bytes]] = []
    for own in servers:
        for data, status in cases.items():
            one = own.connected()
            one.sendall(data)
            open_.append((one, status))
    idle = [own.connected() for own in servers]
    for own in servers:
        assert own.post("/models/chunk", {"tokens": TOKENS}).status_code == 200  # others are served meanwhile
    for one, status in open_:
        with one:
            assert status in one.recv(65536)
    for one in idle:
        with one:
            assert one.recv(1) == b""  # a connection without a request is closed
    for own in servers:
        with httpx.Client(base_url=own.address, timeout=30) as client:  # one connection, a part of a head after another
            assert [client.post("/models/chunk", json={"tokens": TOKENS}).status_code for _ in range(3)] == [200] * 3


def test_a_replaced_file_is_taken_over_and_no_request_is_lost(server: Process, shared_home: Path) -> None:
    home, sentence = shared_home, [list(row) for row in TOKENS]
    Tagger().fit([[tuple(row) for row in TOKENS]] * 3, [["X", "Y", "Z"]] * 3).save(home / "new.palm")
    answers: list[Any] = []
    stop = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=server.address, timeout=30) as c:
            while not stop.is_set():
                found = c.post("/models/chunk", json={"tokens": sentence})
                answers.append((found.status_code, found.json()["sentences"][0]["labels"]))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    (home / "broken.palm").write_bytes(b"not a model")
    os.replace(home / "new.palm", home / "chunk.palm")
    until = time.monotonic() + 20
    while not (answers and answers[-1][1] == ["X", "Y", "Z"]) and time.monotonic() < until:
        time.sleep(0.02)
    os.replace(home / "broken.palm", home / "chunk.palm")
    while not httpx.get(f"{server.address}/models/chunk").json()["reload_error"] and time.monotonic() < until:
        time.sleep(0.02)
    stop.set()
    for thread in threads:
        thread.join()
    assert {status for status, _ in answers} == {200}
    assert answers[-1][1] == ["X", "Y", "Z"]  # a file that is no model changes nothing
    assert httpx.get(f"{server.address}/health").json()["models"] == {"chunk": 2}


def test_it_stops_when_what_it_began_is_answered(server: Process) -> None:
    """A request that is half sent when the signal comes is read to its end and answered."""
    body = json.dumps({"tokens": TOKENS}).encode()
    with server.connected() as half:
        half.sendall(HEAD + f"content-length: {len(body)}\r\n\r\n".encode() + body[:10])
        httpx.get(f"{server.address}/health")  # the loop has seen the head by now
        server.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + 5
        while time.monotonic() < until:  # it does not listen any more
            try:
                server.connected().close()
            except OSError:
                break
        half.sendall(body[10:])
        answer = half.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200")
    assert server.process.wait(10) == 0


def test_a_busy_port_a_missing_file_and_an_open_door_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli, model = Cli(tmp_path, capsys, monkeypatch), str(folder() / "chunk.palm")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = cli("serve", model, "--port", str(taken.getsockname()[1]))
    assert busy.code == 2
    assert "choose another --port" in busy.err
    lost = cli("serve nothing.palm")
    assert lost.code == 1
    assert "nothing.palm" in lost.err
    assert cli("serve", model, "--train", "nothing.txt").code == 2
    monkeypatch.setattr("palmette.serve.run.serve", lambda app, listener, ready: listener.close())
    assert "--token" in cli("serve", model, "--host", "0.0.0.0", "--port", "0").err
    assert "--token" not in cli("serve", model, "--host", "0.0.0.0", "--port", "0", "--token", "x").err
    for command in (["--token", ""], []):
        monkeypatch.setenv("PALMETTE_TOKEN", "")
        empty = cli("serve", model, "--port", "0", *command)
        assert empty.code == 2
        assert "the token is empty" in empty.err


@pytest.mark.parametrize(
    ("host", "options", "status"),
    [
        ("0.0.0.0", [], 403),
        ("0.0.0.0", ["--allow-host", "Evil.example"], 200),
        ("0.0.0.0", ["--token", "x"], 200),
        ("0.0.0.0", ["--token", "x", "--allow-host", "other.example"], 403),
        ("127.0.0.1", ["--token", "x"], 403),
    ],
)
def test_names_that_may_be_pointed_here_are_refused_at_every_address(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    options: list[str],
    status: int,
) -> None:
    found = []

    def asked(app: Any, listener: socket.socket, ready: Any) -> None:
        listener.close()
        with TestClient(app, base_url="http://evil.example", headers={"authorization": "Bearer x"}) as c:
            found.append(c.get("/models").status_code)
            assert c.get("/models", headers={"host": "192.168.1.7:8080"}).status_code == 200
            assert c.get("/models", headers={"host": "localhost"}).status_code == 200

    monkeypatch.setattr("palmette.serve.run.serve", asked)
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli("serve", str(folder() / "chunk.palm"), "--host", host, "--port", "0", *options)
    assert found == [status]


def test_idle_connections_of_one_address_leave_room_for_others(tmp_path: Path) -> None:
    shutil.copy(folder() / "chunk.palm", tmp_path / "chunk.palm")
    server = Process(tmp_path, "--max-connections", "8", "--max-client-connections", "4")
    idle: list[socket.socket] = []
    try:
        idle += [server.connected() for _ in range(20)]
        for one in idle[4:]:
            assert b" 429 " in one.recv(65536)
        other = socket.create_connection(("127.0.0.1", server.port), 10, source_address=("127.0.0.2", 0))
        with other:
            other.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert other.recv(65536).startswith(b"HTTP/1.1 200")
        for one in idle:
            one.close()
        until = time.monotonic() + 10
        while time.monotonic() < until:  # closed connections do not count
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{server.address}/health").status_code == 200:
                    break
        assert httpx.get(f"{server.address}/health").status_code == 200
    finally:
        for one in idle:
            one.close()
        server.end()


def test_a_traceback_reaches_the_terminal_also_if_it_is_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(app: Any, listener: socket.socket, ready: Any) -> None:
        listener.close()
        app.service.views = {"broken": lambda model, request: 1 / 0}
        with TestClient(app, base_url="http://localhost") as c:
            assert c.post("/models/chunk/view/broken", json={}).status_code == 500

    monkeypatch.setattr("palmette.serve.run.serve", asked)
    for quiet in ([], ["--quiet"]):
        main(["serve", str(folder() / "chunk.palm"), "--port", "0", *quiet])
        err = capsys.readouterr().err
        assert "error: POST '/models/chunk/view/broken' failed" in err
        assert "ZeroDivisionError" in err


@pytest.mark.heavy("openapi_python_client")
def test_a_generated_client_calls_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a client that openapi-python-client makes from the description."""
    shutil.copy(folder() / "pos.palm", tmp_path / "chunk.palm")
    server = Process(tmp_path)
    try:
        (tmp_path / "openapi.json").write_bytes(httpx.get(f"{server.address}/openapi.json").content)
        assert "prefixItems" not in (tmp_path / "openapi.json").read_text()
        made = subprocess.run(
            [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none",
             "--path", "openapi.json", "--output-path", "palmette_client"],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout + made.stderr
        monkeypatch.syspath_prepend(str(tmp_path))
        api = "palmette_client.api.default"
        client = importlib.import_module("palmette_client").Client(base_url=server.address)
        types = importlib.import_module("palmette_client.models")
        ask = importlib.import_module(f"{api}.post_models_name")
        answer = ask.sync("chunk", client=client, body=types.Request(text="We go. They stay.", confidence=True))
        direct = server.post("/models/chunk", {"text": "We go. They stay.", "confidence": True}).json()
        assert answer.to_dict() == direct
        assert answer.sentences[1].offsets == [[7, 11], [12, 16], [16, 17]]
        keep = importlib.import_module(f"{api}.post_models_name_corrections")
        label = answer.sentences[0].labels[0]
        one = types.Correction(tokens=["We"], labels=[label], id="a/b")
        kept = keep.sync("chunk", client=client, body=types.CorrectionsRequest(corrections=[one]))
        assert (kept.ids, kept.corrections) == (["a/b"], 1)
        delete = importlib.import_module(f"{api}.delete_models_name_corrections_id")
        assert delete.sync("chunk", "a/b", client=client).corrections == 0
        wrong = types.Correction(tokens=["We"], labels=["no label"])
        refused = keep.sync("chunk", client=client, body=types.CorrectionsRequest(corrections=[wrong]))
        assert "no label" in refused.error
    finally:
        server.end()
        for name in [name for name in sys.modules if name.startswith("palmette_client")]:
            del sys.modules[name]


def test_a_killed_server_has_kept_every_correction_that_it_confirmed(tmp_path: Path) -> None:
    home = tmp_path
    shutil.copy(folder() / "chunk.palm", home / "chunk.palm")
    server = Process(home)
    confirmed: list[str] = []

    def correct(name: str) -> None:
        with httpx.Client(base_url=server.address, timeout=10) as c:
            for k in range(10_000):
                one = {"id": f"{name}-{k}", "tokens": TOKENS, "labels": ["B-PP", None, "O"]}
                try:
                    answer = c.post("/models/chunk/corrections", json={"corrections": [one]})
                except httpx.HTTPError:
                    return
                if answer.status_code == 201:
                    confirmed.extend(answer.json()["ids"])

    threads = [threading.Thread(target=correct, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    while len(confirmed) < 30:
        time.sleep(0.005)
    server.process.kill()  # in the middle of requests
    for thread in threads:
        thread.join()
    server.end()
    again = Process(home)
    try:
        found = httpx.get(f"{again.address}/models/chunk/corrections").json()["corrections"]
        assert set(confirmed) <= {one["id"] for one in found}
        assert all(one["labels"] == ["B-PP", None, "O"] for one in found)
    finally:
        again.end()


def test_the_folder_of_a_training_is_removed_after_its_server_was_killed(tmp_path: Path) -> None:
    shutil.copy(folder() / "chunk.palm", tmp_path / "chunk.palm")
    server = Process(tmp_path, "--train", str(folder() / "train.txt"))
    until = time.monotonic() + 20
    assert server.post("/models/chunk/retrain", {}).status_code == 202
    while not list(tmp_path.glob(".retrain-*/lock")) and time.monotonic() < until:
        time.sleep(0.001)
    server.end()
    assert list(tmp_path.glob(".retrain-*"))
    Process(tmp_path).end()
    assert not list(tmp_path.glob(".retrain-*"))


def test_tag_streams_over_a_pipe() -> None:
    model = folder() / "chunk.palm"
    process = subprocess.Popen(
        [*COMMAND, "tag", str(model), "-", "--stream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    expected = Tagger.load(model).predict([TOKENS])[0]
    for _ in range(3):
        process.stdin.write("".join(f"{word} {tag}\n" for word, tag in TOKENS) + "\n")
        process.stdin.flush()  # the input stays open
        lines = [process.stdout.readline() for _ in range(4)]
        assert lines == [f"{word} {tag} {label}\n" for (word, tag), label in zip(TOKENS, expected, strict=True)] + [
            "\n"
        ]
    process.stdin.close()
    assert process.stdout.read() == ""
    process.stdout.close()
    assert process.wait(20) == 0
