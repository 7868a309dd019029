"""The only module that opens the user's files, to read and to write them.

Reading: a path, or `-` for standard input; gzip is recognised by its first bytes and not by its name, a byte
order mark at the start is skipped; `text` makes lines of the bytes. Writing: whole or not at all, to a file next
to the target that is then renamed over it; `-` is standard output, and devices and pipes are written
directly. Errors of the operating system become a DataError that names the file and suggests what to do.

If the reader of a pipe ends (`palmette tag ... | head -1`), writing to standard output raises BrokenPipeError, and
standard output already points to the null device, so that nothing more is printed when Python flushes it at exit. The
command line catches BrokenPipeError, prints nothing, and exits; a command that writes files too goes on
(`outlast_reader`). On a terminal, control characters are escaped.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import importlib
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeAlias, cast

from palmette.errors import DataError, UsageError

# A file that gets its name when it is complete. Until then it has a temporary name in the same folder.
#
# A process that is killed cannot delete its temporary file. Each one is locked by its writer for as long as that lives
# (on Windows it is open, and so cannot be deleted); the next process that writes to the folder deletes the others.

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEAD, ENDING = ".palmette-", ".tmp"
FAR = 1 << 40


class Temporary:
    """A new file in a folder. OSErrors are the caller's to translate."""

    def __init__(self, folder: str, mode: int) -> None:
        remove_abandoned(folder)
        self.folder = folder
        self.lock: int | None = None  # a second descriptor, which holds the lock until the file has its final name
        while True:
            self.path = os.path.join(folder, f"{HEAD}{os.urandom(6).hex()}{ENDING}")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            # The one object that closes the descriptor, whatever the writer does with its file
            self.file = io.FileIO(os.open(self.path, flags, mode), "wb")
            if self._locked():
                return
            self.discard()

    def _locked(self) -> bool:
        """Lock the file. False: another process took it for an abandoned one before that."""
        if fcntl is None:
            return True
        self.lock = os.dup(self.file.fileno())
        with contextlib.suppress(OSError):  # a file system without locks: nobody else can lock it to delete it either
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        return os.fstat(self.lock).st_nlink > 0

    def rename(self, target: str, old: os.stat_result | None, sync: bool) -> None:
        """Give the file its name, with mode and owner of the old file; `sync`: once it is on disk."""
        if sync:
            os.fsync(self.file.fileno())
        self.file.close()  # Windows renames closed files only; some file systems report a full disk here
        if old is not None:
            _keep_owner_and_mode(self.path, old)
        os.replace(self.path, target)
        self._unlock()
        if sync:
            sync_folder(self.folder)

    def discard(self) -> None:
        """Delete the file, if it still has its temporary name."""
        self.file.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        self._unlock()

    def _unlock(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


_visited: set[str] = set()


def remove_abandoned(folder: str) -> None:
    """Delete temporary files whose writers were killed; once per process and folder."""
    if folder in _visited:
        return
    _visited.add(folder)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(HEAD) and entry.name.endswith(ENDING):
                with contextlib.suppress(OSError):
                    _remove_unlocked(entry)


def _remove_unlocked(entry: os.DirEntry[str]) -> None:
    if not entry.is_file(follow_symlinks=False):
        return
    if fcntl is None:
        os.unlink(entry.path)
        return
    fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its writer lives
        os.unlink(entry.path)
    finally:
        os.close(fd)


def _keep_owner_and_mode(temporary: str, old: os.stat_result) -> None:
    new = os.stat(temporary)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(OSError):  # only root may change the owner
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode))


def lock_file(fd: int, *, wait: bool = True) -> None:
    """Lock an open file until it is closed. Without `wait`, OSError if another process has locked it. On file systems
    without locks, nothing is locked."""
    if fcntl is None:
        _lock_on_windows(fd, wait)
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise


def _lock_on_windows(fd: int, wait: bool) -> None:
    """Lock a byte far behind the end: on Windows, other programs cannot read locked bytes. Waiting ends with an OSError
    after ten seconds."""
    msvcrt: Any = importlib.import_module("msvcrt")
    place = os.lseek(fd, 0, os.SEEK_CUR)
    os.lseek(fd, FAR, os.SEEK_SET)
    try:
        msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    finally:
        os.lseek(fd, place, os.SEEK_SET)


def sync_folder(folder: str) -> None:
    """Wait until the names of a folder's files are on disk."""
    # The name is on disk only when its folder is; some file systems refuse, which is no error.
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


FilePath: TypeAlias = str | os.PathLike[str]

BLOCK = 4 << 20
"""Bytes that `read_blocks` asks for at a time."""

PEEK = 1 << 20
"""The most bytes that are read to find out what a file is."""

_BOM = codecs.BOM_UTF8
_GZIP = b"\x1f\x8b"
# While the head is one of these it may still become a byte order mark or a magic number, so one more read is needed;
# any other head is passed on at once, so that a tagger answers the first line typed at a terminal.
_UNDECIDED = (b"", _GZIP[:1], _BOM[:1], _BOM[:2])
_WRITE_BUFFER = 1 << 20
_PEEK_STEP = 1 << 13

_REASONS: dict[int, tuple[str, str | None]] = {
    errno.ENOENT: ("no such file", None),
    errno.EISDIR: ("is a folder, not a file", None),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", None),
    errno.EACCES: ("permission denied", "check the rights of the file and of its folder"),
    errno.EPERM: ("permission denied", "check the rights of the file and of its folder"),
    errno.EROFS: ("the file system is read-only", None),
    errno.ENOSPC: ("the disk is full", "make room or choose another place"),
    errno.EDQUOT: ("the disk quota is used up", "make room or choose another place"),
    errno.EFBIG: ("the file would be larger than the system allows", "see `ulimit -f`"),
    errno.EPIPE: ("the program that reads this pipe has ended", None),
    errno.ENAMETOOLONG: ("the file name is too long", None),
    errno.ELOOP: ("symbolic links that lead in a circle", None),
}


def shown(path: FilePath, standard: str = "<stdin>") -> str:
    """The name of a file in messages."""
    name = os.fspath(path)
    return standard if name == "-" else name


# Reading


def read_blocks(path: FilePath, block: int = BLOCK, *, keep_mark: bool = False) -> Iterator[bytes]:
    """The bytes of a file in pieces of about `block`; from a pipe, in pieces as they arrive. `keep_mark`: a byte order
    mark is a character like others."""
    with _reading(shown(path)), _input(path) as file:
        read = file.read1
        head = _head(read, block)
        if head.startswith(_GZIP):
            unread = cast(BinaryIO, _Rest(head, file))
            read = gzip.GzipFile(fileobj=unread, mode="rb").read
            head = _head(read, block)
        if head := head if keep_mark else head.removeprefix(_BOM):
            yield head
        while data := read(block):
            yield data


TYPED = "the text"


def typed(text: str) -> str:
    """The name under which a text of the command line is read, once, as if it were a file."""
    raw = cast(io.RawIOBase, io.BytesIO(text.encode(errors="surrogateescape")))
    _peeked[TYPED] = io.BufferedReader(raw), b""
    return TYPED


def read_all(path: FilePath, *, keep_mark: bool = False) -> bytes:
    """The bytes of a file."""
    return b"".join(read_blocks(path, keep_mark=keep_mark))


def peek(path: FilePath, enough: Callable[[bytes], bool]) -> bytes:
    """The first bytes of a file, which are read again afterwards: until they are `enough`, at most PEEK."""
    name = os.fspath(path)
    with _reading(shown(path)):
        file, head = _opened(name)
        while len(head) < PEEK and not enough(_unpacked(head)) and (data := file.read1(max(_PEEK_STEP, len(head)))):
            head += data
        if name != "-" and name != TYPED and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
        else:
            _peeked[name] = file, head
    return _unpacked(head)


def _unpacked(head: bytes) -> bytes:
    """The beginning of a file, decompressed if need be; what is damaged is reported when the file is read."""
    if head.startswith(_GZIP):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, PEEK)
        except zlib.error:
            return b""
    return head.removeprefix(_BOM)


def _head(read: Callable[[int], bytes], block: int) -> bytes:
    head = b""
    while head in _UNDECIDED and (data := read(block)):
        head += data
    return head


class _Rest:
    """A stream whose head has already been read, with as much of the file interface as reading needs."""

    def __init__(self, head: bytes, file: io.BufferedReader | _Rest) -> None:
        self.head = io.BytesIO(head)
        self.file = file

    def read(self, size: int) -> bytes:
        data = self.head.read(size)
        return data if len(data) == size else data + self.file.read(size - len(data))

    def read1(self, size: int) -> bytes:
        return self.head.read(size) or self.file.read1(size)


_peeked: dict[str, tuple[io.BufferedReader, bytes]] = {}
"""Standard input and pipes that `peek` has opened, by name, each with its head: they cannot be read twice."""


@contextlib.contextmanager
def _input(path: FilePath) -> Iterator[io.BufferedReader | _Rest]:
    name = os.fspath(path)
    file, head = _opened(name)
    with contextlib.nullcontext() if name == "-" else file:
        yield _Rest(head, file) if head else file


def _opened(name: str) -> tuple[io.BufferedReader, bytes]:
    """A file, and what `peek` has read of it."""
    file, head = _peeked.pop(name, (None, b""))
    if file is None or (name == "-" and file is not _open(name)):  # standard input may be another one by now
        return _open(name), b""
    return file, head


def _open(name: str) -> io.BufferedReader:
    if name == "-":
        standard: io.BufferedReader | None = getattr(sys.stdin, "buffer", None)
        if standard is None:
            raise DataError("standard input is closed", file=shown(name))
        return standard
    _check_name(name)
    return open(name, "rb")


@contextlib.contextmanager
def _reading(file: str) -> Iterator[None]:
    try:
        yield
    except EOFError:
        raise DataError("truncated gzip file", file=file, hint="fetch or compress it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"damaged gzip file: {error}", file=file, hint="see `gzip -t`") from None
    except OSError as error:
        raise _failure(error, "cannot read", file) from error


def _failure(error: OSError, verb: str, file: str) -> DataError:
    reason, hint = _REASONS.get(error.errno or 0, (error.strerror or str(error), None))
    return DataError(f"{verb}: {reason}", file=file, hint=hint)


def _check_name(name: str) -> None:
    if not name or "\0" in name:
        raise DataError(f"{name!r} is not a file name")


# Writing


def check_output(path: FilePath) -> None:
    """Raise DataError if it is already clear that `write_whole(path)` cannot work; writes nothing.

    Call it before a long training, not after it.
    """
    name = os.fspath(path)
    if not is_standard(name):
        _target(name)


def check_apart(outputs: Iterable[FilePath], inputs: Iterable[FilePath]) -> None:
    """Raise UsageError if an output is the same file as an input or as another output, also by links.

    Call it before anything is read: a file that is replaced by its own result is lost. An input that is a folder, or
    annotations of brat, stands for all files that are read with it.
    """
    read = {_identity(name, 0): name for each in inputs for name in _read_with(str(os.fspath(each)))}
    written: dict[object, str] = {}
    for each in outputs:
        name = os.fspath(each)
        found = _identity(name, None)
        if found is None:
            continue
        if found in read:
            one = "" if read[found] == name else f", the same file as {shown(read[found])},"
            raise UsageError(f"{name}{one} is read and would be replaced: choose another name for the output")
        if found in written:
            raise UsageError(f"{written[found]} and {name} are one file: choose different names for the outputs")
        written[found] = name


def _read_with(name: str) -> Iterator[str]:
    """The files that are read under a name: those of a folder, and the text that belongs to annotations."""
    yield name
    if os.path.isdir(name):
        for folder, _, files in os.walk(name):
            yield from (os.path.join(folder, file) for file in files)
    elif name.endswith(".ann"):
        yield f"{name.removesuffix('.ann')}.txt"


def _identity(name: str, standard: int | None) -> object:
    """Identify a file, to compare names: device and inode, or the path of a file that does not exist.

    None for folders, devices, pipes, and `-`, unless `standard` is the descriptor of a redirected file."""
    try:
        if is_standard(name) and standard is None:
            return None
        found = os.fstat(standard) if standard is not None and is_standard(name) else os.stat(name)
    except (OSError, ValueError):
        return None if is_standard(name) else os.path.realpath(name.replace("\0", ""))
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@contextlib.contextmanager
def write_whole(path: FilePath, *, sync: bool = False) -> Iterator[BinaryIO]:
    """A binary file to write to, which appears under its name complete or not at all.

    If the body raises, the new bytes are deleted and an old file stays as it was. A name that ends in `.gz` is
    compressed, without a time stamp, so that equal content gives equal bytes. An old file keeps its
    mode and owner; of a symbolic link the target is replaced. `sync` waits until the bytes are on disk.
    Standard output, devices and pipes get their bytes at once, and keep those written before an error.
    """
    name = os.fspath(path)
    if is_standard(name):
        with _standard_output() as out:
            yield out
        return
    target, old = _target(name)
    if old is None or stat.S_ISREG(old.st_mode):
        with _beside(name, target, old, sync) as fd, _stream(fd, name, keep=False) as out:
            yield out
        return
    with _writing(name):
        device = io.FileIO(os.open(name, os.O_WRONLY | getattr(os, "O_BINARY", 0)), "wb")
    with device, _stream(device.fileno(), name, keep=True) as out:
        yield out


def is_standard(name: str) -> bool:
    """Whether a name is that of standard output."""
    # /dev/stdout may be a plain file that the shell has opened, which must not be replaced or truncated.
    return name in ("-", "/dev/stdout")


def _target(name: str) -> tuple[str, os.stat_result | None]:
    """The real path to write, and the status of an existing file; DataError if nothing can be written there."""
    _check_name(name)
    try:
        old: os.stat_result | None = os.stat(name)
    except FileNotFoundError:
        old = None
    except OSError as error:
        raise _failure(error, "cannot write", name) from error
    if (old is not None and stat.S_ISDIR(old.st_mode)) or name.endswith(("/", os.sep)):
        raise DataError("cannot write: is a folder, not a file", file=name)
    if old is not None and not os.access(name, os.W_OK):
        # A rename would succeed on a read-only file; whoever made it read-only does not want that.
        raise DataError("cannot write: the file is read-only", file=name, hint="choose another name")
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    if old is None and not os.path.isdir(folder):
        raise DataError(f"cannot write: no folder {folder}", file=name, hint="create the folder first")
    if (old is None or stat.S_ISREG(old.st_mode)) and not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"cannot write: no permission to create files in {folder}", file=name)
    return target, old


@contextlib.contextmanager
def _beside(name: str, target: str, old: os.stat_result | None, sync: bool) -> Iterator[int]:
    """The descriptor of a new file in the target's folder, renamed over the target at the end."""
    # Never wider than the old file's mode, not even for a moment; a new file gets what the umask gives.
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777
    with _writing(name):
        temporary = Temporary(os.path.dirname(target), mode)
    try:
        yield temporary.file.fileno()
        with _writing(name):
            temporary.rename(target, old, sync)
    except BaseException:
        temporary.discard()
        raise


@contextlib.contextmanager
def _writing(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failure(error, "cannot write", file) from error


@contextlib.contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    if sys.stdout is None:
        raise DataError("standard output is closed", file="<stdout>")
    try:
        sys.stdout.flush()  # earlier output comes first
    except BrokenPipeError:
        silence(sys.stdout.fileno())
        raise
    try:
        fd = sys.stdout.fileno()
    except (OSError, ValueError):  # replaced by an object in memory: a test, a notebook
        yield cast(BinaryIO, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with _stream(fd, "<stdout>", keep=True) as out:
        yield out


_outlasting = False
_CONTROLS = re.compile(rb"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")


def _escape(found: re.Match[bytes]) -> bytes:
    return b"\\u00%02x" % found[0][-1]


def outlast_reader(outlasting: bool) -> None:
    """Whether writing to standard output goes on, to nowhere, after its reader has ended: there are files to write."""
    global _outlasting
    _outlasting = outlasting


class _Output(io.FileIO):
    """A raw file whose failures are DataErrors that name it.

    They are translated here and not around the body, where an OSError may be another file's. `muted` discards
    what buffers still hold, so that they can be closed after a failure without a second one.
    """

    def __init__(self, fd: int, file: str) -> None:
        super().__init__(fd, "wb", closefd=False)
        self.file = file
        self.muted = False
        self.escaped = file == "<stdout>" and os.isatty(fd)

    def _write_visible(self, data: Any) -> int:
        """Write to a terminal, which would obey control characters."""
        left = memoryview(_CONTROLS.sub(_escape, bytes(data)))
        while left:
            left = left[super().write(left) :]
        return memoryview(data).nbytes

    def write(self, data: Any, /) -> int:
        if self.muted:
            return memoryview(data).nbytes
        try:
            return self._write_visible(data) if self.escaped else super().write(data)
        except BrokenPipeError as error:
            if self.file != "<stdout>":
                raise _failure(error, "cannot write", self.file) from error
            silence(self.fileno())
            if not _outlasting:
                raise
            return memoryview(data).nbytes
        except OSError as error:
            raise _failure(error, "cannot write", self.file) from error


def silence(fd: int) -> None:
    """Let a descriptor lead to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd)
    os.close(null)


@contextlib.contextmanager
def _stream(fd: int, name: str, keep: bool) -> Iterator[BinaryIO]:
    """Buffer and compressor over a descriptor; `keep` what was written before an error, or drop it."""
    raw = _Output(fd, name)
    buffered = io.BufferedWriter(raw, _WRITE_BUFFER)
    out: Any = buffered
    if name.lower().endswith(".gz"):
        out = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=buffered, mtime=0)
    try:
        yield out
        out.close()
        buffered.close()
    except BaseException:
        with contextlib.suppress(Exception):
            if keep:
                buffered.flush()
        raw.muted = True
        with contextlib.suppress(Exception):
            out.close()
            buffered.close()
        raise
