"""Reading from and writing to the user's files: what comes through, and what is said when nothing can."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data import check_output, check_utf8, files, read_all, read_blocks, write_whole
from palmette.errors import DataError

BOM = b"\xef\xbb\xbf"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux devices")
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
NOBODY = 65534


def joined(path: Path | str, block: int = 1 << 20) -> bytes:
    return b"".join(read_blocks(path, block))


READERS = [pytest.param(joined, id="blocks"), pytest.param(read_all, id="all")]
reader = pytest.mark.parametrize("read", READERS)
Reader = Callable[[Path], bytes]


def python(code: str, *args: str, data: bytes = b"", **more: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False, **more)  # type: ignore[call-overload]


def only(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def device(folder: Path, name: str, minor: int) -> Path:
    """A device of the memory driver, one of our own for root, who could otherwise break the system's."""
    if os.geteuid() != 0:
        return Path("/dev") / name
    try:
        os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        os.close(os.open(folder / name, os.O_WRONLY))
    except OSError:
        pytest.skip("root, but no device can be made here")
    return folder / name


# Reading


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.booleans(), st.booleans(), st.integers(1, 40))
def test_bytes_come_through_in_any_block_size(content: bytes, bom: bool, packed: bool, block: int) -> None:
    if not bom and content.startswith((BOM, b"\x1f\x8b")):
        return
    text = (BOM if bom else b"") + content
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(gzip.compress(text) if packed else text)
        pieces = list(read_blocks(path, block))
        assert b"".join(pieces) == content
        assert all(pieces), "no empty piece, which a reader could take for the end"
        assert all(len(piece) <= max(block, 4) for piece in pieces[1:])
        assert read_all(path) == content


@reader
def test_gzip_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "plain.gz").write_bytes(b"the DT\n")
    (tmp_path / "packed.txt").write_bytes(gzip.compress(b"the DT\n"))
    assert read(tmp_path / "plain.gz") == b"the DT\n"
    assert read(tmp_path / "packed.txt") == b"the DT\n"


@reader
def test_gzip_files_one_after_the_other_are_one_text(tmp_path: Path, read: Reader) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert read(tmp_path / "x") == b"a\nb\n"


def test_only_the_first_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(BOM + BOM + b"a")
    assert read_all(tmp_path / "x") == joined(tmp_path / "x", 1) == BOM + b"a"


@reader
@pytest.mark.parametrize("cut", [1, 4, 8, 20])
def test_truncated_gzip(tmp_path: Path, read: Reader, cut: int) -> None:
    packed = gzip.compress(os.urandom(5000))
    (tmp_path / "x").write_bytes(packed[:-cut])
    with pytest.raises(DataError, match="truncated gzip"):
        read(tmp_path / "x")


@reader
def test_damaged_gzip(tmp_path: Path, read: Reader) -> None:
    packed = bytearray(gzip.compress(b"word tag\n" * 1000))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "x").write_bytes(packed)
    with pytest.raises(DataError, match="damaged gzip"):
        read(tmp_path / "x")


@reader
def test_missing_file_and_folder(tmp_path: Path, read: Reader) -> None:
    with pytest.raises(DataError, match="no such file") as caught:
        read(tmp_path / "none")
    assert caught.value.file == str(tmp_path / "none")
    with pytest.raises(DataError, match="folder, not a file"):
        read(tmp_path)
    with pytest.raises(DataError, match="not a file name"):
        read(Path("a\0b"))


STDIN = """
import sys
from palmette.errors import DataError
from palmette.data.files import read_all, read_blocks
try:
    data = read_all("-") if sys.argv[1] == "all" else b"".join(read_blocks("-"))
    sys.stdout.buffer.write(data)
except DataError as error:
    sys.stdout.write("ERROR " + str(error))
"""


@pytest.mark.parametrize("how", ["all", "blocks"])
def test_standard_input_plain_packed_and_cut(how: str) -> None:
    text = BOM + b"the DT\n" * 50_000
    assert python(STDIN, how, data=text).stdout == text[3:]
    assert python(STDIN, how, data=gzip.compress(text)).stdout == text[3:]
    cut = python(STDIN, how, data=gzip.compress(text)[:-9]).stdout
    assert cut.startswith(b"ERROR <stdin>: truncated gzip")


@POSIX
def test_standard_input_closed() -> None:
    command = f'exec "{sys.executable}" -c "$0" all <&-'
    ended = subprocess.run(["sh", "-c", command, STDIN], capture_output=True, timeout=60, check=False)
    assert ended.stdout.startswith(b"ERROR <stdin>: standard input is closed")


@POSIX
def test_a_pipe_gives_each_line_when_it_comes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    seen = threading.Event()
    in_time = []

    def write() -> None:
        with open(tmp_path / "pipe", "wb", buffering=0) as out:
            out.write(b"a\n")
            in_time.append(seen.wait(10))
            out.write(b"b\n")

    writer = threading.Thread(target=write)
    writer.start()
    blocks = read_blocks(tmp_path / "pipe")
    assert next(blocks) == b"a\n"
    seen.set()
    assert list(blocks) == [b"b\n"]
    writer.join()
    assert in_time == [True]


# UTF-8


def first_wrong_byte(data: bytes) -> int | None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"a", b"\n", "é".encode(), "😀".encode(), b"\xe9", b"\xff"]), max_size=12))
def test_utf8_is_what_python_says_and_the_place_is_right(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    wrong = first_wrong_byte(data)
    if wrong is None:
        check_utf8(data, "f")
        return
    before = data[:wrong].split(b"\n")
    with pytest.raises(DataError) as caught:
        check_utf8(data, "f", first_line=7)
    assert caught.value.line == 6 + len(before)
    assert f"byte 0x{data[wrong]:02x} at byte {len(before[-1]) + 1} of" in str(caught.value)


def test_utf8_across_slices() -> None:
    for shift in range(3):
        data = b"x" * shift + "€".encode() * (3 << 19)  # 4.5 MB: a character lies across the slices' border
        check_utf8(data, "f")
        with pytest.raises(DataError, match=f"byte 0xff at byte {len(data) + 1} of the line"):
            check_utf8(data + b"\xff\n", "f")
    with pytest.raises(DataError, match="unexpected end"):
        check_utf8("é".encode()[:1], "f")


def test_utf16_is_named() -> None:
    with pytest.raises(DataError, match="UTF-16"):
        check_utf8("the DT\n".encode("utf-16"), "f")


# Writing


def put(path: Path | str, content: bytes = b"new") -> None:
    with write_whole(path) as out:
        out.write(content)


def put_and_raise(path: Path, content: bytes, error: type[BaseException]) -> None:
    with write_whole(path) as out:
        out.write(content)
        raise error


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=2000), max_size=5), st.sampled_from(["x", "x.gz"]), st.booleans())
def test_what_is_written_is_read(pieces: list[bytes], name: str, sync: bool) -> None:
    content = b"".join(pieces)
    if content.startswith((BOM, b"\x1f\x8b")):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        with write_whole(path, sync=sync) as out:
            for piece in pieces:
                out.write(piece)
        assert read_all(path) == content
        assert only(Path(folder)) == [name]


def test_gzip_output_is_packed_and_the_same_each_time(tmp_path: Path) -> None:
    put(tmp_path / "a.gz", b"text\n" * 100)
    put(tmp_path / "b.gz", b"text\n" * 100)
    packed = (tmp_path / "a.gz").read_bytes()
    assert packed == (tmp_path / "b.gz").read_bytes()
    assert packed[4:8] == bytes(4), "no time stamp"
    assert gzip.decompress(packed) == b"text\n" * 100


@pytest.mark.parametrize("name", ["x", "x.gz"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
@pytest.mark.parametrize("size", [10, 3 << 20])
def test_an_exception_leaves_the_old_file(tmp_path: Path, name: str, error: type[BaseException], size: int) -> None:
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(error):
        put_and_raise(tmp_path / name, bytes(size), error)
    assert (tmp_path / name).read_bytes() == b"old"
    assert only(tmp_path) == [name]


def test_an_exception_leaves_no_new_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        put_and_raise(tmp_path / "x", b"half", ZeroDivisionError)
    assert only(tmp_path) == []


def test_the_name_appears_only_at_the_end(tmp_path: Path) -> None:
    with write_whole(tmp_path / "x") as out:
        out.write(b"new")
        out.flush()
        assert not (tmp_path / "x").exists()
    assert (tmp_path / "x").read_bytes() == b"new"


WRITER = """
import sys, time
from palmette.data.files import write_whole
from palmette.cli import _prepare_process
_prepare_process()
with write_whole(sys.argv[1]) as out:
    out.write(b"half")
    out.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the middle of a file."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def next_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Forget the folders that this process has looked into, as a new one does not know them."""
    return lambda: monkeypatch.setattr(files, "_visited", set())


@POSIX
def test_a_killed_writer_leaves_nothing_for_long(tmp_path: Path, next_process: Callable[[], None]) -> None:
    """SIGKILL cannot be handled: the next writer in the folder deletes what it left."""
    with writing(tmp_path / "x") as process:
        process.kill()
        process.wait()
    assert len(only(tmp_path)) == 1
    next_process()
    put(tmp_path / "y")
    assert only(tmp_path) == ["y"]


@POSIX
def test_sigterm_deletes_the_unfinished_file(tmp_path: Path) -> None:
    with writing(tmp_path / "x") as process:
        process.terminate()
        assert process.wait() == 143
    assert only(tmp_path) == []


@POSIX
def test_the_unfinished_file_of_a_living_writer_stays(tmp_path: Path, next_process: Callable[[], None]) -> None:
    with writing(tmp_path / "x"):
        (unfinished,) = only(tmp_path)
        next_process()
        put(tmp_path / "y")
        assert only(tmp_path) == sorted([unfinished, "y"])


@POSIX
def test_only_plain_files_with_our_names_are_deleted(tmp_path: Path, next_process: Callable[[], None]) -> None:
    """Neither what a link points to nor a pipe, which would block whoever opens it."""
    (tmp_path / "mine").write_bytes(b"data")
    (tmp_path / ".palmette-1.tmp").symlink_to("mine")
    os.mkfifo(tmp_path / ".palmette-2.tmp")
    (tmp_path / ".palmette-3.tmp").mkdir()
    (tmp_path / ".palmette-notes").touch()
    (tmp_path / ".palmette-4.tmp").touch()
    before = set(only(tmp_path))
    next_process()
    put(tmp_path / "y")
    assert set(only(tmp_path)) == before - {".palmette-4.tmp"} | {"y"}


@POSIX
def test_a_file_that_is_deleted_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may look into the folder between the two steps."""
    lock, taken = files.fcntl.flock, []

    def late(fd: int, how: int) -> None:
        if not taken:
            taken.extend(only(tmp_path))
            (tmp_path / taken[0]).unlink()
        lock(fd, how)

    monkeypatch.setattr(files.fcntl, "flock", late)
    put(tmp_path / "x", b"whole")
    assert (tmp_path / "x").read_bytes() == b"whole"
    assert len(taken) == 1
    assert only(tmp_path) == ["x"]


def test_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, write_whole(tmp_path / "x"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")


def test_the_body_may_close_the_file(tmp_path: Path) -> None:
    with write_whole(tmp_path / "x.gz", sync=True) as out, io.TextIOWrapper(out, "utf-8") as text:
        text.write("é\n")
    assert read_all(tmp_path / "x.gz") == "é\n".encode()


@POSIX
def test_mode_of_old_and_new_file(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(0o640)
    before = os.umask(0o027)
    try:
        put(tmp_path / "old")
        put(tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "old").chmod(0o666)
    put(tmp_path / "old", b"again")
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o666


@POSIX
def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("far/target")
    (tmp_path / "dangling").symlink_to("far/other")
    (tmp_path / "circle").symlink_to("circle")
    put(tmp_path / "link")
    put(tmp_path / "dangling")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "far" / "target").read_bytes() == b"new"
    assert (tmp_path / "far" / "other").read_bytes() == b"new"
    with pytest.raises(DataError, match="circle"):
        put(tmp_path / "circle")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "is a folder"),
        ("new/", "is a folder"),
        ("none/x", "no folder"),
        ("file/x", "is a file, not a folder"),
        ("n" * 300, "too long"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"old")
    for attempt in (put, check_output):
        with pytest.raises(DataError, match=message):
            attempt(f"{tmp_path}/{name}")
    with pytest.raises(DataError, match="not a file name"):
        put("")
    assert only(tmp_path) == ["file", "folder"]


def test_check_output_writes_nothing(tmp_path: Path) -> None:
    check_output(tmp_path / "x")
    check_output("-")
    assert only(tmp_path) == []


@LINUX
@pytest.mark.parametrize("size", [3, 3 << 20])
def test_full_disk(tmp_path: Path, size: int) -> None:
    full = device(tmp_path, "full", 7)
    (tmp_path / "full.gz").symlink_to(full)
    for path in (full, tmp_path / "full.gz"):
        with pytest.raises(DataError, match="disk is full"):
            put(path, os.urandom(size))
    assert stat.S_ISCHR(full.stat().st_mode)


@LINUX
def test_null_device_stays_a_device(tmp_path: Path) -> None:
    null = device(tmp_path, "null", 3)
    put(null)
    assert stat.S_ISCHR(null.stat().st_mode)


TOO_LARGE = """
import resource, sys
from palmette.errors import DataError
from palmette.data.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with write_whole(sys.argv[1]) as out:
        out.write(bytes(5000))
except DataError as error:
    sys.stdout.write(str(error))
"""


@POSIX
def test_file_size_limit_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    assert b"larger than the system allows" in python(TOO_LARGE, str(tmp_path / "x")).stdout
    assert (tmp_path / "x").read_bytes() == b"old"
    assert only(tmp_path) == ["x"]


@POSIX
def test_named_pipe_is_written_straight(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    thread.start()
    put(tmp_path / "pipe", b"through")
    thread.join(10)
    assert got == [b"through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@POSIX
def test_an_error_shows_in_a_packed_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gz")
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append((tmp_path / "pipe.gz").read_bytes()))
    thread.start()
    with pytest.raises(KeyError):
        put_and_raise(tmp_path / "pipe.gz", b"half", KeyError)
    thread.join(10)
    assert got[0].startswith(b"\x1f\x8b")
    with pytest.raises(EOFError):
        gzip.decompress(got[0])


STDOUT = """
import sys
from palmette.data.files import write_whole
print("first")
try:
    with write_whole(sys.argv[1]) as out:
        out.write(b"x" * int(sys.argv[2]) + b"\\n")
        if len(sys.argv) > 3:
            raise KeyError
except BrokenPipeError:
    print("unseen")
    sys.exit(3)
except KeyError:
    sys.exit(4)
print("last")
"""


@pytest.mark.parametrize("name", ["-", pytest.param("/dev/stdout", marks=LINUX)])
def test_standard_output(tmp_path: Path, name: str) -> None:
    assert python(STDOUT, name, "3").stdout.split() == [b"first", b"xxx", b"last"]
    failed = python(STDOUT, name, "3", "fail")
    assert (failed.returncode, failed.stdout.split()) == (4, [b"first", b"xxx"])
    with open(tmp_path / "log", "wb") as log:
        log.write(b"before\n")
        log.flush()
        subprocess.run([sys.executable, "-c", STDOUT, name, "3"], stdout=log, check=True, timeout=60)
    assert (tmp_path / "log").read_bytes().split() == [b"before", b"first", b"xxx", b"last"]


@POSIX
def test_reader_that_goes_away_gives_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STDOUT, "-", "9000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(6) == b"first\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 3


@LINUX
def test_standard_output_on_a_full_disk() -> None:
    with open("/dev/full", "wb") as full:
        code = STDOUT.replace('print("first")', "")
        ended = subprocess.run(
            [sys.executable, "-c", code, "-", "3"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert b"<stdout>: cannot write: the disk is full" in ended.stderr


def test_standard_output_in_memory() -> None:
    text = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(text):
        put("-", b"caught")
    assert text.buffer.getvalue() == b"caught"


# Rights. Root may do everything, so as root these run in a forked child that becomes nobody.


@pytest.fixture
def open_folder() -> Iterator[Path]:
    # pytest's own folders are closed to other users
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    for path in folder.iterdir():
        path.chmod(0o700)
    shutil.rmtree(folder)


def said(attempt: Callable[[Path], object], path: Path) -> str:
    try:
        attempt(path)
    except DataError as error:
        return str(error)
    return ""


def as_common_user(attempt: Callable[[Path], object], path: Path) -> str:
    """What a DataError says when a user who is not root tries, or nothing if all went well."""
    if os.geteuid() != 0:
        return said(attempt, path)
    answer, end = os.pipe()
    child = os.fork()
    if child == 0:
        message = "the child failed"
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            message = said(attempt, path)
        os.write(end, message.encode())
        os._exit(0)
    os.close(end)
    os.waitpid(child, 0)
    with open(answer, "rb") as file:
        return file.read().decode()


@POSIX
def test_no_right_to_read(open_folder: Path) -> None:
    path = open_folder / "secret"
    path.write_bytes(b"old")
    path.chmod(0)
    assert "permission denied" in as_common_user(read_all, path)
    path.chmod(0o644)
    assert as_common_user(read_all, path) == ""


@POSIX
@pytest.mark.parametrize("attempt", [put, check_output])
def test_no_right_to_write(open_folder: Path, attempt: Callable[[Path], object]) -> None:
    file = open_folder / "file"
    file.write_bytes(b"old")
    file.chmod(0o444)
    assert "read-only" in as_common_user(attempt, file)
    closed = open_folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    assert "no permission to create files" in as_common_user(attempt, closed / "x")
    assert file.read_bytes() == b"old"
    assert only(open_folder) == ["closed", "file"]
    assert as_common_user(attempt, open_folder / "fine") == ""


def test_locks_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte that nobody reads is locked, and the place in the file stays."""
    calls = []

    def locking(fd: int, mode: int, size: int) -> None:
        calls.append((mode, os.lseek(fd, 0, os.SEEK_CUR), size))
        if mode == 2:
            raise PermissionError

    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2))
    with open(tmp_path / "journal", "wb") as held:
        held.write(b"12345")
        held.flush()
        files.lock_file(held.fileno())
        with pytest.raises(PermissionError):
            files.lock_file(held.fileno(), wait=False)
        assert held.tell() == 5
    assert calls == [(1, files.FAR, 1), (2, files.FAR, 1)]
