"""The admin: what operators configure, and what happened, to read.

Place in the house: ``agents``; may call ``agents.runs`` and below. Django's conventions with few
templates of our own.
"""

from __future__ import annotations

from agents.admin import (
    assistants,
    audit,
    bundle_page,
    people,
    providers,
    records,
    servers,
    tools,
)
from agents.admin.names import name_models

__all__ = [
    "assistants", "audit", "bundle_page", "people", "providers", "records", "servers", "tools",
]  # fmt: skip

name_models()
