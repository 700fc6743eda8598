"""Collects what is to be imported: one file, several, a directory or a zip, as texts by path.

Place in the house: ``agents.bundle``. Nothing is unpacked to disk. Limits hold before anything is
read whole: how many files, how long each, how much together.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agents.bundle.parsing import BundleUnreadable, read_bundle_text

MAX_FILES = 2000
MAX_FILE_BYTES = 1_000_000
MAX_BYTES = 8_000_000
READ_ENDINGS = (".yao", ".yml", ".yaml", ".json", ".jsonl", ".toml")
_SKIPPED_FOLDERS = {".git", "node_modules", "__MACOSX", "__pycache__"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """Texts by their path (with ``/``); ``unread`` are paths of files of other kinds.

    ``name`` is the file's, directory's or zip's, for messages and as an id where none is named.
    """

    name: str
    texts: dict[str, str]
    unread: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The name without its folder and ending."""
        return PurePosixPath(self.name.replace("\\", "/")).name.partition(".")[0]


@dataclass(slots=True, kw_only=True)
class _Collected:
    texts: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    size: int = 0

    def note(self, path: str) -> bool:
        """Count a path; tells whether its content is wanted."""
        if len(self.texts) + len(self.unread) >= MAX_FILES:
            raise BundleUnreadable(f"expected at most {MAX_FILES:,} files, got more")
        if path.lower().endswith(READ_ENDINGS):
            return True
        self.unread.append(path)
        return False

    def add(self, path: str, content: bytes) -> None:
        """Keep a file's text."""
        self.size += len(content)
        if len(content) > MAX_FILE_BYTES:
            raise BundleUnreadable(f"{path}: expected at most {MAX_FILE_BYTES:,} bytes, got more")
        if self.size > MAX_BYTES:
            raise BundleUnreadable(f"expected at most {MAX_BYTES:,} bytes in all, got more")
        if path in self.texts:
            raise BundleUnreadable(f"{path}: stands there twice")
        self.texts[path] = decoded(content, path)

    def files(self, name: str) -> SourceFiles:
        """What was collected."""
        return SourceFiles(name=name, texts=self.texts, unread=tuple(sorted(self.unread)))


def read_paths(paths: Iterable[str]) -> SourceFiles:
    """The files that a command names: ``-``, files, a directory, or a zip.

    ``package.yao`` alone means its directory. Raises ``BundleUnreadable``.
    """
    given = list(paths)
    if len(given) == 1:
        path = Path(given[0])
        if path.is_dir():
            return _read_directory(path)
        if path.name == "package.yao":
            return _read_directory(path.resolve().parent)
        if path.suffix.lower() == ".zip":
            return read_zip(_file_bytes(path), given[0])
        return SourceFiles(name=given[0], texts={given[0]: read_bundle_text(given[0])})
    return read_uploads([(path, _file_bytes(Path(path))) for path in given])


def read_uploads(uploads: list[tuple[str, bytes]]) -> SourceFiles:
    """Files by name with their content; one zip alone is looked into. Raises
    ``BundleUnreadable``.
    """
    if len(uploads) == 1 and uploads[0][0].lower().endswith(".zip"):
        return read_zip(uploads[0][1], uploads[0][0])
    collected = _Collected()
    for name, content in uploads:
        path = PurePosixPath(name.replace("\\", "/")).name
        if path.lower().endswith(".zip"):
            raise BundleUnreadable(f"{path}: expected one zip alone, got it beside other files")
        if len(uploads) == 1 or collected.note(path):
            collected.add(path, content)
    return collected.files(uploads[0][0])


def read_zip(content: bytes, name: str) -> SourceFiles:
    """The files of a zip. Raises ``BundleUnreadable``, also for paths that lead out of it."""
    collected = _Collected()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                path = _member_path(member)
                if path and collected.note(path):
                    collected.add(path, _member_bytes(archive, member))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise BundleUnreadable(f"{name} cannot be read as a zip: {error}") from error
    return collected.files(name)


def decoded(content: bytes, path: str) -> str:
    """UTF-8 as text. Raises ``BundleUnreadable``."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BundleUnreadable(
            f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8 and try again"
        ) from error


def _member_path(member: zipfile.ZipInfo) -> str:
    """The path of a member inside; ``""`` for what is skipped."""
    if member.is_dir():
        return ""
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        raise BundleUnreadable(f"{member.filename!r:.100}: expected a path inside the zip")
    is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
    if is_link or _SKIPPED_FOLDERS & set(path.parts[:-1]):
        return ""
    return str(path)


def _member_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """A member's content; one byte more than allowed tells that it is too long."""
    with archive.open(member) as stream:
        return stream.read(MAX_FILE_BYTES + 1)


def _read_directory(root: Path) -> SourceFiles:
    """The files below a directory; links are not followed."""
    collected = _Collected()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            file = Path(folder, name)
            path = file.relative_to(root).as_posix()
            if not file.is_symlink() and collected.note(path):
                collected.add(path, _file_bytes(file))
    return collected.files(root.resolve().name)


def _file_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise BundleUnreadable(f"{path} cannot be read: {error.strerror or error}") from error
