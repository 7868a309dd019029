"""A file that gets its name when it is complete. Until then it has a temporary name in the same folder.

A process that is killed cannot delete its temporary file. Each one is locked by its writer for as long as that lives
(on Windows it is open, and so cannot be deleted); the next process that writes to the folder deletes the others.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEAD, ENDING = ".palmette-", ".tmp"


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
    and platforms without locks, nothing is locked."""
    if fcntl is None:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise


def sync_folder(folder: str) -> None:
    """Wait until the names of a folder's files are on disk."""
    # The name is on disk only when its folder is; some file systems refuse, which is no error.
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
