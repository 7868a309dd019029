"""Training in the background, in a process of its own: it reports by lines of JSON, and writes a new model file that
takes the place of the old one when it is complete."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from palmette.data.files import lock_file
from palmette.errors import counted
from palmette.serve.failure import Failure
from palmette.serve.types import Correction, RetrainState

logger = logging.getLogger(__name__)
BEFORE = ".before.palm"
WORK, LOCK, ERRORS = ".retrain-", "lock", "errors.txt"
FEW = 20  # corrections below which a difference is hardly ever measurable
MEASURED = ("before_interval", "after_interval", "difference_interval", "within_noise", "continued")
MOST_ERRORS = 1 << 16  # bytes of what a training writes to standard error that are kept


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
        self.folder = Path(path).resolve().parent
        _remove_abandoned(self.folder)
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
            self._state.warning = few(len(job.corrections))
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
            with _work_folder(self.folder) as folder:
                job = msgspec.structs.replace(job, output=str(folder / "model.palm"))
                error = self._watched(job, folder / ERRORS)
                if error is None:
                    self._finish(job, replace)
                    return
        except OSError as failed:
            error = f"cannot train: {failed.strerror or failed}"
        except Exception as failed:  # an error of ours: the state must not stay at running
            logger.exception("a training failed")
            error = f"an error of the server, which its log shows: {type(failed).__name__}"
        self._end("stopped" if self._stopped else "failed", None if self._stopped else error)

    def _watched(self, job: Job, errors: Path) -> str | None:
        """Run the process; what went wrong, or None. What it writes to standard error is kept in a file."""
        command = [sys.executable, "-m", "palmette.serve.retrain_job"]
        with open(errors, "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
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
        return error or (None if code == 0 else _unexpected(code, errors))

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
                for name in MEASURED:
                    setattr(state, name, record.get(name, getattr(state, name)))
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


def few(corrections: int) -> str | None:
    """A warning if there are not enough corrections to tell whether they help."""
    if corrections >= FEW:
        return None
    return (
        f"{counted(corrections, 'correction')}: with fewer than {FEW}, the score on development data does not show "
        "whether they help"
    )


def _unexpected(code: int, errors: Path) -> str:
    """What ended a process that reported no error; the log shows all of it."""
    with open(errors, "rb") as file:
        file.seek(max(0, errors.stat().st_size - MOST_ERRORS))
        text = file.read().decode("utf-8", "replace").strip()
    if text:
        logger.error("the training process wrote:\n%s", text)
    if code < 0:
        return f"the training process was ended by signal {-code}{', as if memory is short' if code == -9 else ''}"
    last = text.rpartition("\n")[2]
    return f"the training process ended with exit code {code}{f': {last[:500]}' if last else ''}"


@contextlib.contextmanager
def _work_folder(beside: Path) -> Iterator[Path]:
    """A folder for the files of a training, locked while it is used."""
    with tempfile.TemporaryDirectory(dir=beside, prefix=WORK) as name:
        fd = os.open(Path(name) / LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            lock_file(fd)
            yield Path(name)
        finally:
            os.close(fd)


def _remove_abandoned(folder: Path) -> None:
    """Delete the folders of trainings whose server was killed: those with a lock that no process holds."""
    for found in folder.glob(f"{WORK}*"):
        with contextlib.suppress(OSError):
            fd = os.open(found / LOCK, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                lock_file(fd, wait=False)
                if not found.is_symlink():
                    shutil.rmtree(found, ignore_errors=True)
            finally:
                os.close(fd)


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
