"""Training in the background, in a process of its own: it reports by lines of JSON, and writes a new model file that
takes the place of the old one when it is complete."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec

from palmette.serve.failure import Failure
from palmette.serve.types import Correction, RetrainState

logger = logging.getLogger(__name__)
BEFORE = ".before.palm"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a training learns from, and where it writes."""

    model: str
    kind: str
    train: str
    dev: str | None
    corrections: list[Correction]
    weight: int = 1
    helpers: dict[str, str] = {}  # files of taggers that make columns or tags, by name
    output: str = ""


class Retraining:
    """The trainings of one model, one at a time. `replaced` is called when the file has another model."""

    def __init__(self, path: str, replaced: Callable[[], None]) -> None:
        self.path, self.replaced = path, replaced
        self._lock = threading.Lock()
        self._state = RetrainState()
        self._begun = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False

    def state(self) -> RetrainState:
        """How it is going."""
        with self._lock:
            found = msgspec.structs.replace(self._state, log=list(self._state.log))
        if found.state == "running":
            found.seconds = round(time.monotonic() - self._begun, 3)
        return found

    def start(self, job: Job, replace: str) -> None:
        """Begin a training; Failure if one is running."""
        with self._lock:
            if self._state.state == "running":
                raise Failure(409, "a training is running; see GET, or stop it by DELETE")
            number = self._state.id + 1
            self._state = RetrainState(state="running", id=number, corrections=len(job.corrections))
            self._begun, self._stopped = time.monotonic(), False
            self._thread = threading.Thread(target=self._run, args=(job, replace), daemon=True, name="palmette-retrain")
            self._thread.start()

    def stop(self) -> None:
        """End the training that runs, if one does, and wait until it has ended."""
        with self._lock:
            self._stopped = True
            process, thread = self._process, self._thread
        if process is not None and process.poll() is None:
            process.terminate()
        if thread is not None and thread is not threading.current_thread():
            thread.join(10)

    def _run(self, job: Job, replace: str) -> None:
        """Watch the process, in a thread."""
        try:
            with tempfile.TemporaryDirectory(dir=Path(self.path).resolve().parent, prefix=".retrain-") as folder:
                job = msgspec.structs.replace(job, output=str(Path(folder) / "model.palm"))
                error = self._watched(job)
                if error is None:
                    self._finish(job, replace)
                    return
        except OSError as failed:
            error = f"cannot train: {failed.strerror or failed}"
        self._end("stopped" if self._stopped else "failed", None if self._stopped else error)

    def _watched(self, job: Job) -> str | None:
        """Run the process; what went wrong, or None."""
        command = [sys.executable, "-m", "palmette.serve.retrain_job"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with self._lock:
            self._process = process
            stopped = self._stopped
        if stopped:
            process.terminate()
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(job))
            process.stdin.close()
        error = self._read(process.stdout)
        code = process.wait()
        with self._lock:
            self._process = None
        if self._stopped:
            return "stopped"
        return error or (None if code == 0 else f"the training process ended with exit code {code}")

    def _read(self, out: IO[bytes]) -> str | None:
        """Take over what the process reports; its error, if it has one."""
        error = None
        for line in out:
            try:
                record: dict[str, Any] = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            with self._lock:
                state = self._state
                if "pass" in record:
                    state.log.append(record)
                state.measure = record.get("measure", state.measure)
                state.before = record.get("before", state.before)
                state.after = record.get("after", state.after)
            error = record.get("error", error)
        return error

    def _finish(self, job: Job, replace: str) -> None:
        """Put the new model in the place of the old one, if it is wanted."""
        found = self.state()
        wanted = replace == "always"
        if replace == "better":
            wanted = found.before is not None and found.after is not None and found.after >= found.before
        if wanted:
            _replace(job.output, self.path)
            self.replaced()
        self._end("done", None, replaced=wanted)

    def _end(self, state: Any, error: str | None, replaced: bool = False) -> None:
        with self._lock:
            self._state.state, self._state.error, self._state.replaced = state, error, replaced
            self._state.seconds = round(time.monotonic() - self._begun, 3)
        if error:
            logger.warning("a training failed: %s", error)


def _replace(new: str, path: str) -> None:
    """Rename a new model over the old one, of which a second name stays: whoever reads has one of the two whole."""
    target = os.path.realpath(path)
    before = Path(target).with_name(f"{Path(target).name.removesuffix('.palm')}{BEFORE}")
    spare = before.with_name(f".{before.name}.new")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(spare)
    os.link(target, spare)
    os.replace(spare, before)
    with open(new, "rb") as file:
        os.fsync(file.fileno())
    os.chmod(new, os.stat(target).st_mode & 0o777)
    os.replace(new, target)
