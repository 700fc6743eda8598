"""The states of calls and runs: a word, an icon and a colour's family each.

Place in the house: ``agents.chat``, pure. Outcomes are stored by ``agents.loop.results``; nothing
is guessed from text.
"""

from __future__ import annotations

from django.utils.translation import gettext, gettext_lazy

from agents.chat.view_models import StateView

QUEUED, RUNNING, AWAITING, CANCELLING = "queued", "running", "awaiting_approval", "cancelling"

_CALL_STATES = {
    QUEUED: (gettext_lazy("queued"), "queued", "s-off"),
    AWAITING: (gettext_lazy("awaiting approval"), "approval", "s-wait"),
    RUNNING: (gettext_lazy("running"), "running", "s-run"),
    CANCELLING: (gettext_lazy("cancelling"), "cancelling", "s-wait"),
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
}

_RUN_STATES = {
    "queued": (gettext_lazy("queued"), "queued", "s-off"),
    "running": (gettext_lazy("running"), "running", "s-run"),
    "waiting": (gettext_lazy("needs your answer"), "approval", "s-wait"),
    "completed": (gettext_lazy("done"), "done", "s-ok"),
    "failed": (gettext_lazy("failed"), "error", "s-bad"),
    "cancelled": (gettext_lazy("stopped by you"), "cancelled", "s-off"),
    "interrupted": (gettext_lazy("interrupted"), "interrupted", "s-off"),
}

_REASONS = {
    QUEUED: gettext_lazy("Waits for a free slot of its server."),
    "truncated": gettext_lazy("The result was cut before the model saw it."),
    "invalid_arguments": gettext_lazy("Never sent: the arguments do not fit the tool's schema."),
    "unknown_tool": gettext_lazy("No tool of this name was offered."),
    "not_allowed": gettext_lazy("This tool was not offered to this assistant."),
    "denied": gettext_lazy("A person or the policy said no."),
    "timeout": gettext_lazy("No answer within the time limit."),
    "server_unavailable": gettext_lazy("The server could not be reached."),
    "protocol_error": gettext_lazy("The server broke the protocol or refused the request."),
    "cancelled": gettext_lazy("Stopped before it had answered."),
    "skipped": gettext_lazy("Not executed."),
    "interrupted": gettext_lazy("The process that worked on it went away."),
}


def call_state(name: str, *, is_truncated: bool = False) -> StateView:
    """The state of a call by its outcome or live state; an unknown name is shown as it is."""
    key = "truncated" if name == "ok" and is_truncated else name
    word, icon, family = _CALL_STATES.get(key, (key, "unknown", "s-off"))
    return StateView(name=key, word=str(word), icon=icon, family=family)


def run_state(name: str) -> StateView:
    """The state of a run by its status, or ``waiting`` where it needs a person."""
    word, icon, family = _RUN_STATES.get(name, (name, "unknown", "s-off"))
    return StateView(name=name, word=str(word), icon=icon, family=family)


def state_reason(name: str) -> str:
    """One sentence about a state, where the word alone is not enough."""
    return str(_REASONS.get(name, ""))


def server_state(error: str, *, was_checked: bool) -> StateView:
    """How a server was when it was last asked."""
    if error:
        return StateView(name="down", word=gettext("down"), icon="error", family="s-bad")
    if was_checked:
        return StateView(name="up", word=gettext("up"), icon="done", family="s-ok")
    word = gettext("not asked yet")
    return StateView(name="unknown", word=word, icon="queued", family="s-off")
