"""Brings an earlier version of an assistant back.

Place in the house: ``agents.bundle``. It is judged as an import is; what it names is not put on the
list of trusted names again.
"""

from __future__ import annotations

from agents.bundle.importing import ImportOutcome, import_value
from agents.bundle.report import Report
from agents.bundle.validation import VERSION
from agents.models import AssistantVersion


def bring_back(version: AssistantVersion, *, by: str) -> ImportOutcome:
    """Make a version the assistant's configuration again, as a new version. With faults, such as a
    server that is gone, nothing changes."""
    bundle = {"version": VERSION, "assistants": [version.configuration]}
    return import_value(bundle, Report(), by=by, note=str(version.number), trusts=False)
