"""What looks like a secret: for warnings at import and for replacing at export.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from agents.bundle.reading import ENV_REFERENCE

_SECRET_NAME = re.compile(
    r"authori[sz]ation|token|key|secret|passw|pwd|cookie|credential|bearer", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|xox[abprs]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|\bBearer\s+[^\s$]{8,}",
    re.ASCII,
)
_SCHEMES = re.compile(r"\b(bearer|basic|token|digest|apikey)\b|[\s:;,]", re.IGNORECASE)


def holds_literal_secret(name: str, value: str) -> bool:
    """Whether a header's or variable's value looks like a secret that is written out."""
    if _SECRET_VALUE.search(value):
        return True
    if not _SECRET_NAME.search(name):
        return False
    return bool(_SCHEMES.sub("", ENV_REFERENCE.sub("", value)))


def looks_like_secret(value: str) -> bool:
    """Whether a text holds something with the shape of a well-known key or token."""
    return bool(_SECRET_VALUE.search(value))


def is_secret_name(name: str) -> bool:
    """Whether a name promises a secret: ``Authorization``, ``API_KEY``, ``--token``."""
    return bool(_SECRET_NAME.search(name))


def secret_query_names(url: str) -> list[str]:
    """The names of a URL's query fields whose literal values look like secrets."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=False)
    return [name for name, value in pairs if holds_literal_secret(name, value)]


def has_literal_userinfo(url: str) -> bool:
    """Whether a URL holds a user name or password that is written out."""
    userinfo, at, _ = urlsplit(url).netloc.rpartition("@")
    return bool(at) and bool(ENV_REFERENCE.sub("", userinfo).strip(":"))


def variable_name(owner: str, name: str) -> str:
    """The environment variable that stands in for a secret: ``docs.search``, ``X-Key`` give
    ``DOCS_SEARCH_X_KEY``."""
    text = re.sub(r"[^A-Z0-9]+", "_", f"{owner}_{name}".upper()).strip("_")
    return f"_{text}" if text[:1].isdigit() else text
