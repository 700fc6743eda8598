"""The card of one tool call, from what is stored and what is going on.

Place in the house: ``agents.chat``, pure. A call without a stored result is what the live run says
of it; in a run that has ended it was interrupted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from agents.chat import states
from agents.chat.call_policy import asked_by_name, decided, whitelist
from agents.chat.formats import count, duration, language, seconds, size, telling_argument
from agents.chat.json_views import arguments_html, result_view
from agents.chat.made_files import made_files
from agents.chat.own_words import followed, own_sentences
from agents.chat.view_models import CardView, Fact, FileView, ProgressView, ResultView
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.results import Outcome
from agents.models import Attachment, Message, Run
from agents.runs.live import LiveCall, LiveRun
from agents.texts import show_hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRows:
    """One stored call with what is known of it. ``call`` is the entry of ``Message.tool_calls``;
    ``pending`` is the state of a call that has neither a result nor a live side."""

    run: Run
    call: JsonObject
    result: Message | None = None
    attachments: Sequence[Attachment] = ()
    live: LiveCall | None = None
    pending: str = "interrupted"

    @property
    def key(self) -> str:
        """The call's own identity, ``run:turn:attempt:position``."""
        return str(self.call.get("key", ""))

    @property
    def attempt(self) -> int:
        """Which attempt of the turn it belongs to, from 1."""
        return attempt_of(self.key)

    @property
    def state(self) -> str:
        """The stored outcome, or what is going on."""
        if self.result is not None:
            return self.result.outcome
        return self.live.state if self.live is not None else self.pending

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.result is not None or self.pending == "interrupted"

    @property
    def details(self) -> JsonObject:
        """What is stored about the result besides its text."""
        found = self.result.details if self.result is not None else {}
        return found if isinstance(found, dict) else {}

    @property
    def arguments(self) -> JsonValue:
        """The parsed arguments where they could be read, else as the model sent them."""
        stored = self.details.get("arguments")
        if stored is not None:
            return stored
        return self.live.arguments if self.live is not None else self.call.get("arguments")


def dom_key(key: str) -> str:
    """A call key as a part of a DOM id."""
    return key.replace(":", "-")


def attempt_of(key: str) -> int:
    """The attempt in a call key, 1 where it cannot be read."""
    parts = key.split(":")
    return int(parts[2]) if len(parts) == 4 and parts[2].isdigit() else 1


def card_view(rows: CallRows) -> CardView:
    """The card of a call."""
    name = rows.state
    is_truncated = bool(rows.details.get("truncated"))
    server, tool = _server_and_tool(rows)
    arguments = rows.arguments
    argument = telling_argument(arguments)
    return CardView(
        dom_id=f"call-{dom_key(rows.key)}",
        key=rows.key,
        kind="ask" if name == states.AWAITING else "card",
        state=states.call_state(name, is_truncated=is_truncated),
        server=server,
        tool=tool,
        argument=argument,
        argument_lang=language(argument),
        duration=_duration(rows),
        size=_size(rows),
        attempt=_attempt(rows),
        is_open=rows.live is not None and rows.live.progress is not None and rows.result is None,
        can_stop=name == states.RUNNING and rows.live is not None,
        elapsed_ms=_elapsed(rows),
        arguments=arguments_html(arguments),
        raw_arguments=_raw(rows.call.get("arguments")),
        fields=_fields(arguments),
        result=_result(rows),
        reason=_reason(rows, is_truncated),
        facts=_facts(rows, server, tool),
        rule=_rule(rows, server, tool)[1],
        progress=_progress(rows),
        deciders=_deciders(rows.run),
    )


def _deciders(run: Run) -> str:
    names = run.configuration.get("deciders") if isinstance(run.configuration, dict) else None
    return ", ".join(map(str, names)) if isinstance(names, list) else ""


def _server_and_tool(rows: CallRows) -> tuple[str, str]:
    """Who was asked; the flat name stands for both where nobody fits it."""
    server, tool = rows.details.get("server"), rows.details.get("tool")
    if rows.live is not None and not tool:
        server, tool = rows.live.server, rows.live.tool
    if not _is_told(rows):
        server, tool = asked_by_name(rows.run, str(rows.call.get("name") or ""))
    return str(server or ""), str(tool or rows.call.get("name") or "")


def _duration(rows: CallRows) -> str:
    if rows.result is None:
        return duration(rows.live and _elapsed(rows))
    if rows.result.outcome == Outcome.CANCELLED and not rows.result.duration_ms:
        return ""  # It was never sent.
    return duration(rows.result.duration_ms)


def _elapsed(rows: CallRows) -> int | None:
    live = rows.live
    if rows.result is not None or live is None or not live.started_ns:
        return None
    return max(0, (time.time_ns() - live.started_ns) // 1_000_000)


def _size(rows: CallRows) -> str:
    if rows.result is None:
        return ""
    if rows.details.get("truncated"):
        return _("%(n)s chars") % {"n": count(_number(rows.details.get("chars")))}
    return size(_content(rows.result))


def _number(value: JsonValue) -> float:
    return value if isinstance(value, int | float) else 0


def _content(message: Message) -> str:
    return message.content if isinstance(message.content, str) else _raw(message.content)


def _raw(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _attempt(rows: CallRows) -> str:
    if rows.attempt < 2:
        return ""
    return _("%(n)d of %(total)s") % {
        "n": rows.attempt,
        "total": _limit(rows, "parameter_attempts"),
    }


def _limit(rows: CallRows, name: str) -> str:
    value = _limits(rows.run).get(name)
    return count(value) if isinstance(value, int | float) else "?"


def _limits(run: Run) -> JsonObject:
    limits = run.configuration.get("limits") if isinstance(run.configuration, dict) else None
    return limits if isinstance(limits, dict) else {}


def _fields(arguments: JsonValue) -> list[Fact]:
    if not isinstance(arguments, dict):
        return [Fact(name=_("arguments"), text=show_hidden(_raw(arguments)))]
    return [
        Fact(
            name=show_hidden(key),
            text=show_hidden(
                v if isinstance(v, str) else json.dumps(v, ensure_ascii=False, indent=2)
            ),
        )
        for key, v in arguments.items()
    ]


def _result(rows: CallRows) -> ResultView | None:
    if rows.result is None:
        return None
    files = tuple(
        FileView(
            kind=item.kind if item.kind in ("image", "audio") else "file",
            url=reverse("attachment", args=[item.message_id, item.position]),
            name=item.mime_type or item.kind,
        )
        for item in rows.attachments
    )
    return result_view(_content(rows.result), files + _made(rows))


def _made(rows: CallRows) -> tuple[FileView, ...]:
    """What the call left in the workspace, to be taken away."""
    assert rows.result is not None
    server, tool = str(rows.details.get("server")), str(rows.details.get("tool"))
    return tuple(
        FileView(
            kind="file",
            url=reverse("conversation_file", args=[rows.result.conversation_id, path]),
            name=path,
        )
        for path in made_files(server, tool, _content(rows.result))
    )


def _reason(rows: CallRows, is_truncated: bool) -> str:
    """Why it is in its state, in the words of the run where it has some."""
    error = str(rows.details.get("error") or "")
    if is_truncated and rows.state == "ok" and rows.result is not None:
        return _("The model saw %(kept)s of %(chars)s characters.") % {
            "kept": count(len(_content(rows.result))),
            "chars": count(_number(rows.details.get("chars"))),
        }
    general = states.state_reason(rows.state)
    if error and error not in _content_or_empty(rows):
        return followed(general, own_sentences(error))
    return general


def _content_or_empty(rows: CallRows) -> str:
    return _content(rows.result) if rows.result is not None else ""


def _facts(rows: CallRows, server: str, tool: str) -> list[Fact]:
    """The policy tab: what allowed the call, and what limited it."""
    word, rule = _rule(rows, server, tool)
    facts = [Fact(name=_("decision"), text=f"{word} ({rule})" if rule else word)]
    facts.append(
        Fact(name=_("whitelist"), text=whitelist(rows.run, server, is_told=_is_told(rows)))
    )
    limits = _limits(rows.run)
    idle, hard = limits.get("tool_timeout_seconds"), limits.get("tool_max_seconds")
    if isinstance(idle, int | float) and isinstance(hard, int | float):
        text = _("%(idle)s without a sign of life, %(hard)s at most") % {
            "idle": seconds(idle),
            "hard": seconds(hard),
        }
        facts.append(Fact(name=_("time limit"), text=text))
    if rows.result is not None:
        facts.append(Fact(name=_("result"), text=_kept(rows)))
    if rows.details.get("kept"):
        text = _("the result of an earlier, equal call was used again; nothing was executed")
        facts.append(Fact(name=_("used again"), text=text))
    if rows.attempt > 1:
        facts.append(Fact(name=_("attempt"), text=_attempt(rows)))
    return facts


def _kept(rows: CallRows) -> str:
    chars = _number(rows.details.get("chars"))
    kept = len(_content_or_empty(rows))
    if rows.details.get("truncated"):
        return _("kept %(kept)s of %(chars)s characters") % {
            "kept": count(kept),
            "chars": count(chars),
        }
    return _("all %(chars)s characters were kept") % {"chars": count(kept)}


def _rule(rows: CallRows, server: str, tool: str) -> tuple[str, str]:
    return decided(rows.run, server, tool, is_told=_is_told(rows))


def _is_told(rows: CallRows) -> bool:
    return rows.result is not None or rows.live is not None


def _progress(rows: CallRows) -> ProgressView | None:
    live = rows.live
    if rows.result is not None or live is None or live.progress is None:
        return None
    label = count(live.progress)
    if live.total:
        label = _("%(done)s of %(total)s") % {"done": label, "total": count(live.total)}
    return ProgressView(
        value=f"{live.progress:g}",
        total=f"{live.total:g}" if live.total else "",
        label=label,
        message=live.message,
        lang=language(live.message),
    )


def live_calls(lives: Mapping[str, LiveRun]) -> dict[str, LiveCall]:
    """The calls of all live runs by their keys."""
    return {key: call for live in lives.values() for key, call in live.calls.items()}
