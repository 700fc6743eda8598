"""What was uploaded for a preview, on its way through the page to the import: encrypted.

Place in the house: ``agents.admin``. Nothing is stored between preview and import; the page carries
the files in a form field that only this application can read, for one person and for an hour.
"""

from __future__ import annotations

import base64
import json
import time
import zlib
from dataclasses import dataclass

from agents.bundle.files import MAX_BYTES, SourceFiles
from agents.encryption import DecryptionFailed, decrypt, encrypt

MAX_SEALED_CHARS = 2_000_000
"""Django takes 2.5 MB of form fields."""

KEPT_SECONDS = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSource:
    """The files as they were previewed. ``fingerprint`` is that of the plan that was shown."""

    files: SourceFiles
    tools_server: str
    fingerprint: str


def seal(source: SealedSource, *, user_id: int) -> str:
    """The text for the form field; ``""`` where it would be too long for a page."""
    value = {
        "name": source.files.name, "texts": source.files.texts, "unread": source.files.unread,
        "tools_server": source.tools_server, "fingerprint": source.fingerprint,
        "user": user_id, "until": time.time() + KEPT_SECONDS,
    }  # fmt: skip
    packed = zlib.compress(json.dumps(value, ensure_ascii=False).encode(), level=6)
    sealed = encrypt(base64.b64encode(packed).decode())
    return sealed if len(sealed) <= MAX_SEALED_CHARS else ""


def unseal(text: str, *, user_id: int) -> SealedSource | None:
    """What was sealed; ``None`` where it is none of ours, another person's, or too old."""
    try:
        packed = base64.b64decode(decrypt(text))
    except DecryptionFailed:
        return None
    if not packed:
        return None
    value = json.loads(zlib.decompressobj().decompress(packed, max_length=4 * MAX_BYTES))
    if value["user"] != user_id or value["until"] < time.time():
        return None
    files = SourceFiles(name=value["name"], texts=value["texts"], unread=tuple(value["unread"]))
    return SealedSource(
        files=files, tools_server=value["tools_server"], fingerprint=value["fingerprint"]
    )
