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

_STOP_REASONS = {
    "answered": pgettext_lazy("stop reason", "answered"),
    "compacted": pgettext_lazy("stop reason", "summed up"),
    "delegated": pgettext_lazy("stop reason", "delegated"),
    "max_turns": pgettext_lazy("stop reason", "max_turns"),
    "errors": pgettext_lazy("stop reason", "errors"),
    "repeats": pgettext_lazy("stop reason", "repeats"),
    "time": pgettext_lazy("stop reason", "time"),
    "tokens": pgettext_lazy("stop reason", "tokens"),
    "truncated": pgettext_lazy("stop reason", "truncated"),
    "empty": pgettext_lazy("stop reason", "empty"),
    "provider_error": pgettext_lazy("stop reason", "provider_error"),
    "context": pgettext_lazy("stop reason", "context"),
    "hook_error": pgettext_lazy("stop reason", "hook_error"),
    "cancelled": pgettext_lazy("stop reason", "cancelled"),
    "worker_lost": pgettext_lazy("stop reason", "worker_lost"),
}

_ANSWER_SOURCES = {
    "model": pgettext_lazy("answer from", "model"),
    "fallback": pgettext_lazy("answer from", "fallback"),
    "fixed": pgettext_lazy("answer from", "fixed"),
    "hook": pgettext_lazy("answer from", "hook"),
    "results": pgettext_lazy("answer from", "results"),
}

_LEDGER_FLAGS = {
    "unanswered": pgettext_lazy("call or result", "unanswered"),
    "duplicate": pgettext_lazy("call or result", "duplicate"),
    "out_of_order": pgettext_lazy("call or result", "out of order"),
    "orphan": pgettext_lazy("call or result", "orphan"),
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


def stop_word(reason: str) -> str:
    """A stop reason: by the engine's own name in English, by a word in other languages."""
    return str(_STOP_REASONS.get(reason, reason))


def source_word(source: str) -> str:
    """Where an answer came from, in the same way."""
    return str(_ANSWER_SOURCES.get(source, source))


def flag_word(flag: str) -> str:
    """What is odd about a call or a result of the ledger."""
    return str(_LEDGER_FLAGS.get(flag, flag))


def stop_reasons() -> frozenset[str]:
    """The stop reasons that have a word."""
    return frozenset(_STOP_REASONS)


def call_outcomes() -> frozenset[str]:
    """The outcomes that have a state of their own."""
    return frozenset(_CALL_STATES)


def _state(name: str, entry: tuple[object, str, str]) -> StateView:
    word, icon, family = entry
    return StateView(name=name, word=str(word), icon=icon, family=family)
