"""Uploads and zips are read within limits, and nothing leads out of them."""

from __future__ import annotations

import io
import zipfile

import pytest

from agents.bundle import files
from agents.bundle.files import read_uploads, read_zip
from agents.bundle.parsing import BundleUnreadable


def zipped(members: dict[str, bytes], *, mode: int = 0) -> bytes:
    """A zip with these members; ``mode`` is written into each header."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = mode << 16
            archive.writestr(member, content)
    return target.getvalue()


@pytest.mark.parametrize(
    "path", ["../package.yao", "a/../../b.yao", "/etc/x.yao", "a\\..\\..\\b.yao", "C:\\x.yao"]
)
def test_a_path_that_leads_out_of_a_zip_is_refused(path: str) -> None:
    with pytest.raises(BundleUnreadable, match="path inside the zip"):
        read_zip(zipped({path: b"{}"}), "a.zip")


def test_links_and_folders_of_tools_are_skipped_and_other_files_only_named() -> None:
    assert read_zip(zipped({"package.yao": b"/etc/passwd"}, mode=0o120777), "a.zip").texts == {}
    members = {"package.yao": b"{}", "a.png": b"\xff", "node_modules/x/package.yao": b"{}"}
    found = read_zip(zipped(members), "a.zip")
    assert found.texts == {"package.yao": "{}"}
    assert found.unread == ("a.png",)


def test_a_file_that_unpacks_to_more_than_allowed_is_refused() -> None:
    bomb = zipped({"package.yao": b" " * (files.MAX_FILE_BYTES + 1)})
    assert len(bomb) < 10_000
    with pytest.raises(BundleUnreadable, match="at most 1,000,000 bytes"):
        read_zip(bomb, "a.zip")


def test_many_files_are_refused_by_their_number_and_by_their_size_together() -> None:
    with pytest.raises(BundleUnreadable, match="at most 2,000 files"):
        read_zip(zipped({f"{n}.txt": b"" for n in range(files.MAX_FILES + 1)}), "a.zip")
    with pytest.raises(BundleUnreadable, match="at most 8,000,000 bytes in all"):
        read_zip(zipped({f"{n}.yao": b" " * files.MAX_FILE_BYTES for n in range(9)}), "a.zip")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", zipped({"a.yao": b"{}"})[:-30]])
def test_what_is_no_zip_is_told_in_one_line(content: bytes) -> None:
    with pytest.raises(BundleUnreadable, match=r"a\.zip cannot be read as a zip"):
        read_uploads([("a.zip", content)])


def test_uploads_lose_their_folders_and_a_name_stands_there_once() -> None:
    given = [("C:\\work\\settings.json", b"{}"), ("config.toml", b"")]
    assert read_uploads(given).texts == {"settings.json": "{}", "config.toml": ""}
    with pytest.raises(BundleUnreadable, match="twice"):
        read_uploads([("a.json", b"{}"), ("x/a.json", b"{}")])
    with pytest.raises(BundleUnreadable, match="one zip alone"):
        read_uploads([("a.json", b"{}"), ("b.zip", b"")])
    with pytest.raises(BundleUnreadable, match="UTF-8"):
        read_uploads([("a.json", b"\xff\xfe")])
