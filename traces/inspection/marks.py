"""The marks of kinds and states: a letter, a word, an icon and a colour's family each.

Place in the house: ``traces.inspection``, pure. Outcomes are stored by the engine; nothing is
guessed from text.
"""

from __future__ import annotations

from functools import lru_cache

from django.utils.translation import get_language, gettext_lazy, pgettext_lazy

from traces.inspection.view_models import KindView, StateView

_KINDS = {
    "agent": ("A", "ka", gettext_lazy("agent")),
    "turn": ("T", "kt", gettext_lazy("turn")),
    "model": ("M", "km", gettext_lazy("model")),
    "retry": ("R", "kr", gettext_lazy("retry")),
    "tool_call": ("C", "kc", gettext_lazy("tool call")),
    "hook": ("H", "kh", gettext_lazy("hook")),
    "fallback": ("F", "kf", gettext_lazy("fallback")),
    "policy": ("P", "kp", gettext_lazy("policy")),
    "compaction": ("X", "kx", gettext_lazy("compaction")),
}

_CALL_STATES = {
    "queued": (gettext_lazy("queued"), "queued", "s-off"),
    "awaiting_approval": (gettext_lazy("awaiting approval"), "approval", "s-wait"),
    "running": (gettext_lazy("running"), "running", "s-run"),
    "ok": (gettext_lazy("done"), "done", "s-ok"),
    "truncated": (gettext_lazy("done, truncated"), "cut", "s-ok"),
    "tool_error": (gettext_lazy("tool error"), "error", "s-bad"),
    "invalid_arguments": (gettext_lazy("invalid arguments"), "invalid", "s-bad"),
    "unknown_tool": (gettext_lazy("unknown tool"), "unknown", "s-bad"),
    "not_allowed": (gettext_lazy("not allowed"), "notallowed", "s-off"),
    "denied": (gettext_lazy("denied"), "denied", "s-off"),
    "timeout": (gettext_lazy("timed out"), "timeout", "s-bad"),
    "server_unavailable": (gettext_lazy("server unavailable"), "unplugged", "s-bad"),
    "protocol_error": (gettext_lazy("protocol error"), "protocol", "s-bad"),
    "cancelled": (gettext_lazy("cancelled"), "cancelled", "s-off"),
    "skipped": (gettext_lazy("skipped"), "skipped", "s-off"),
    "interrupted": (gettext_lazy("interrupted"), "interrupted", "s-off"),
    "run_by_provider": (gettext_lazy("run by the provider"), "done", "s-ok"),
    "unanswered": (gettext_lazy("no result"), "unknown", "s-bad"),
}

_SPAN_STATES = {
    "running": (gettext_lazy("running"), "running", "s-run"),
    "ok": (gettext_lazy("done"), "done", "s-ok"),
    "error": (gettext_lazy("failed"), "error", "s-bad"),
    "cancelled": (gettext_lazy("cancelled"), "cancelled", "s-off"),
    "lost": (pgettext_lazy("span", "lost"), "interrupted", "s-off"),
}

_RUN_STATES = {
    "queued": (gettext_lazy("queued"), "queued", "s-off"),
    "running": (gettext_lazy("running"), "running", "s-run"),
    "waiting": (gettext_lazy("waits for a person"), "approval", "s-wait"),
    "completed": (pgettext_lazy("run", "completed"), "done", "s-ok"),
    "failed": (gettext_lazy("failed"), "error", "s-bad"),
    "cancelled": (gettext_lazy("cancelled"), "cancelled", "s-off"),
    "interrupted": (gettext_lazy("interrupted"), "interrupted", "s-off"),
}

NOT_FAILURES = frozenset({"", "ok", "skipped", "denied", "cancelled"})
"""Outcomes of calls that are no failures, as the engine counts them."""

NOT_SENT = frozenset({"invalid_arguments", "unknown_tool", "not_allowed", "denied", "skipped"})
"""Outcomes of calls that never reached a server."""


def kind_view(kind: str) -> KindView:
    """The mark of a kind of span; an unknown one is shown by its name."""
    return _kind(get_language(), kind)


@lru_cache(maxsize=200)
def _kind(language: str | None, kind: str) -> KindView:
    letter, css, word = _KINDS.get(kind, ("?", "kt", kind))
    return KindView(name=kind, letter=letter, css=css, word=str(word))


def call_state(name: str, *, is_truncated: bool = False) -> StateView:
    """The state of a call by its outcome, or what is going on; an unknown name stays as it is."""
    key = "truncated" if name == "ok" and is_truncated else name
    return _state(key, _CALL_STATES.get(key, (key, "unknown", "s-off")))


def span_state(status: str) -> StateView:
    """The state of a span that is no call."""
    return _state(status, _SPAN_STATES.get(status, (status, "unknown", "s-off")))


def run_state(status: str) -> StateView:
    """The state of a run by its status, or ``waiting`` where it needs a person."""
    return _state(status, _RUN_STATES.get(status, (status, "unknown", "s-off")))


def call_outcomes() -> frozenset[str]:
    """The outcomes that have a state of their own."""
    return frozenset(_CALL_STATES)


def _state(name: str, entry: tuple[object, str, str]) -> StateView:
    word, icon, family = entry
    return StateView(name=name, word=str(word), icon=icon, family=family)
