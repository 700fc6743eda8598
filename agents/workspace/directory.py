"""The directory of one conversation, or of one assistant: files in it, and nothing else.

Place in the house: ``agents.workspace``, standard library only. Every path is walked from the
directory's own descriptor, part by part, without following a link, so that no link, not even one
made at the same moment, leads outside.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

FILE_BYTES = 20_000_000
"""How large a file may be that is read or written by a tool."""

MOST_LISTED = 500
DEPTH = 12

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class WorkspaceProblem(Exception):
    """Raised for what cannot be done in a workspace; the text is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file or folder: its path from the workspace, ``kind`` is file, folder or link."""

    path: str
    kind: str
    bytes: int
    changed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """One directory; made when it is first written to."""

    root: Path

    def read(self, path: str) -> bytes:
        """A file's content. Raises ``WorkspaceProblem``."""
        with self._opened(path, _READ) as descriptor:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise WorkspaceProblem(f"{path} is no file")
            if status.st_size > FILE_BYTES:
                raise WorkspaceProblem(
                    f"{path} has {status.st_size:,} bytes; at most {FILE_BYTES:,} can be read"
                )
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(FILE_BYTES + 1)[:FILE_BYTES]

    def write(self, path: str, content: bytes, *, append: bool = False) -> int:
        """Write a file, making its folders; its size afterwards. Raises ``WorkspaceProblem``."""
        if len(content) > FILE_BYTES:
            raise WorkspaceProblem(f"{len(content):,} bytes; at most {FILE_BYTES:,} can be written")
        self.make()
        mode = _WRITE | (os.O_APPEND if append else os.O_TRUNC)
        with self._opened(path, mode, makes_folders=True) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise WorkspaceProblem(f"{path} is no file")
            if append and os.fstat(descriptor).st_size + len(content) > FILE_BYTES:
                raise WorkspaceProblem(f"{path} would have more than {FILE_BYTES:,} bytes")
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            return os.fstat(descriptor).st_size

    def entries(self, path: str = ".", depth: int = DEPTH) -> list[FileEntry]:
        """What is in a folder and below it, by path, at most ``MOST_LISTED``. Links are named,
        never followed. Raises ``WorkspaceProblem``."""
        if not self.root.exists():
            return []
        with self._opened(path, _FOLDER) as descriptor:
            found: list[FileEntry] = []
            _walk(descriptor, _clean(path), min(depth, DEPTH), found)
            return found

    def remove(self) -> None:
        """Take the directory away with all that is in it; links in it are not followed."""
        shutil.rmtree(self.root, ignore_errors=True)

    def make(self) -> None:
        """Make the directory where there is none."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int, *, makes_folders: bool = False) -> Iterator[int]:
        """A descriptor of what the path names, closed at the end."""
        parts = _clean(path).parts
        try:
            current = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise WorkspaceProblem(f"there is no {path}: the workspace is empty") from None
        try:
            for place, part in enumerate(parts):
                is_last = place == len(parts) - 1
                if not is_last and makes_folders:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=current)
                following = os.open(part, flags if is_last else _FOLDER, 0o600, dir_fd=current)
                os.close(current)
                current = following
            yield current
        except OSError as error:
            raise WorkspaceProblem(_reason(path, error)) from None
        finally:
            os.close(current)


def _clean(path: str) -> PurePosixPath:
    """The path from the workspace. Raises ``WorkspaceProblem`` for one that leads out of it."""
    if "\0" in path or len(path) > 1000:
        raise WorkspaceProblem("a path has at most 1000 characters and no zero byte")
    given = PurePosixPath(path.strip() or ".")
    if given.is_absolute() or ".." in given.parts:
        raise WorkspaceProblem(
            f"paths are given from the workspace, without / at the beginning and without ..: "
            f"got {path!r:.120}"
        )
    return given


def _walk(folder: int, above: PurePosixPath, depth: int, found: list[FileEntry]) -> None:
    for name in sorted(os.listdir(folder)):
        if len(found) >= MOST_LISTED:
            return
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        kind = _kind(status.st_mode)
        path = above / name
        found.append(
            FileEntry(path=str(path), kind=kind, bytes=status.st_size, changed=status.st_mtime)
        )
        if kind != "folder" or depth <= 1:
            continue
        with contextlib.suppress(OSError):
            below = os.open(name, _FOLDER, dir_fd=folder)
            try:
                _walk(below, path, depth - 1, found)
            finally:
                os.close(below)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    return "link" if stat.S_ISLNK(mode) else "other"


def _reason(path: str, error: OSError) -> str:
    reasons = {
        "FileNotFoundError": f"there is no {path} in the workspace",
        "IsADirectoryError": f"{path} is a folder",
        "NotADirectoryError": f"a part of {path} is no folder, or is a link",
    }
    if error.errno == 40:  # ELOOP: a link where none is followed
        return f"{path} is a link; links are not followed"
    return reasons.get(type(error).__name__, f"{path}: {error.strerror or error}")
