"""How long the traces of each assistant are kept.

Place in the house: ``agents``; named in ``TOOLLOOP_TRACE_RETENTION``, asked by ``prune_traces``.
"""

from __future__ import annotations

from agents.models import Assistant


def days_by_assistant() -> dict[str, int | None]:
    """Days by assistant id, of the assistants that have a number of their own."""
    own = Assistant.objects.filter(trace_days__isnull=False)
    return dict(own.values_list("assistant_id", "trace_days"))
