"""System checks: what settings alone tell. None of them queries the database; what needs it is
``manage.py doctor``. Every id is explained in ``docs/settings.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
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


@register
def check_processes(app_configs: object, **kwargs: object) -> Sequence[CheckMessage]:
    """A web process that takes no runs has something to say only where workers can tell it."""
    if settings.TOOLLOOP_WEB_TAKES_RUNS or settings.REDIS_URL:
        return []
    return [
        Warning(
            "TOOLLOOP_WEB_TAKES_RUNS is off and there is no REDIS_URL: workers cannot tell the web "
            "processes what happens, so pages look into the database once a second and show no "
            "text while it is written.",
            hint="Set REDIS_URL, for example redis://127.0.0.1:6379/0, for all processes.",
            id="agents.W001",
        )
    ]


@register(Tags.security, deploy=True)
def check_layer(app_configs: object, **kwargs: object) -> Sequence[CheckMessage]:
    """Several processes are possible on PostgreSQL; without Redis each knows only its own runs."""
    is_postgres = "postgresql" in settings.DATABASES["default"]["ENGINE"]
    if settings.REDIS_URL or not is_postgres or not settings.TOOLLOOP_WEB_TAKES_RUNS:
        return []
    return [
        Warning(
            "The database is PostgreSQL and the channel layer is in memory: with more than one "
            "process a page shows what happens in another one a second late, and no live text.",
            hint="Set REDIS_URL, or run one process alone.",
            id="agents.W002",
        )
    ]


@register(Tags.security, deploy=True)
def check_encryption_key(app_configs: object, **kwargs: object) -> Sequence[CheckMessage]:
    """Stored keys should have a key of their own."""
    if settings.TOOLLOOP_ENCRYPTION_KEYS:
        return []
    return [
        Warning(
            "TOOLLOOP_ENCRYPTION_KEYS is not set: stored keys are encrypted with one that is made "
            "of SECRET_KEY, and a new SECRET_KEY makes them unreadable.",
            hint="Set it; docs/settings.md says how a key is made and changed.",
            id="agents.W003",
        )
    ]


@register(Tags.security, deploy=True)
def check_hosts(app_configs: object, **kwargs: object) -> Sequence[CheckMessage]:
    """A star lets every name in."""
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    return [
        Warning(
            "ALLOWED_HOSTS holds *: pages answer under every name, so that links in them can be "
            "forged.",
            hint="Name the hosts, for example toolloop.example.org.",
            id="agents.W004",
        )
    ]
