"""System checks. None of them queries the database."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string


@register
def check_event_sinks(app_configs: object, **kwargs: object) -> Sequence[CheckMessage]:
    """One error per entry of ``TOOLLOOP_EVENT_SINKS`` that is no class of a sink."""
    return [error for path in settings.TOOLLOOP_EVENT_SINKS if (error := _sink_error(path))]


def _sink_error(path: str) -> CheckMessage | None:
    try:
        sink = import_string(path)
    except ImportError as error:
        return Error(
            f"TOOLLOOP_EVENT_SINKS: {path} cannot be imported: {error}",
            hint="Name a class by its dotted path, for example traces.recorder.TraceSink.",
            id="agents.E001",
        )
    missing = [name for name in ("handle", "flush", "close") if not hasattr(sink, name)]
    if missing:
        return Error(
            f"TOOLLOOP_EVENT_SINKS: {path} is no sink: it lacks {', '.join(missing)}.",
            id="agents.E002",
        )
    return None
