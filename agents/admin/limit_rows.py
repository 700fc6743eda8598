"""Limits of single tools of an assistant: seconds, characters, calls, and whether they are polled.

Place in the house: ``agents.admin``. The names are those of ``agents.bundle.tool_limits``.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from agents.admin.entry_rows import Column, EntryRowsField

COLUMNS = (
    Column(name="tool", label=gettext_lazy("Tool"), is_number=False, hint="server.tool"),
    Column(name="tool_timeout_seconds", label=gettext_lazy("Seconds without a sign")),
    Column(name="tool_max_seconds", label=gettext_lazy("Seconds in all")),
    Column(name="tool_result_max_chars", label=gettext_lazy("Characters of a result")),
    Column(name="max_calls", label=gettext_lazy("Calls in a run")),
    Column(name="polling", label=gettext_lazy("Polling"), is_number=False, is_box=True),
)


class LimitsField(EntryRowsField):
    """Limits by server and tool, as a bundle holds them."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(COLUMNS, **kwargs)
