"""What the panel "What the model will be offered" shows.

Place in the house: ``agents.admin``. The offer comes from ``agents.runs.offer_preview``; here it
gets its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.admin.marks import cut, json_text
from agents.loop.catalog import LeftOut, LeftOutTool
from agents.loop.messages import JsonObject
from agents.models import Assistant, AssistantServer
from agents.runs.offer_preview import NEVER_CHECKED, OfferPreview, preview_offer

_GROUP_FROM = 4
"""So many tools of one server left out for one reason become one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedLine:
    """A tool that is offered; ``width`` is its bar in per cent of the dearest one."""

    name: str
    tokens: int
    width: int
    asks: bool
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutLine:
    """What is left out: the reason as it is stored, whom it hits, and the rest of the story."""

    reason: str
    subject: str
    detail: str
    names: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    """A message before the conversation."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewView:
    """The panel. Tokens are estimates."""

    offered: tuple[OfferedLine, ...]
    left_out: tuple[LeftOutLine, ...]
    prompts: tuple[PromptPart, ...]
    tools_json: str
    max_tools: int
    tool_tokens: int
    prompt_tokens: int
    samples_tokens: int
    tokens: int
    share: str
    asked_at: datetime | None
    notes: tuple[str, ...]


def preview_view(
    assistant: Assistant, links: Sequence[AssistantServer], *, notes: Sequence[str] = ()
) -> PreviewView:
    """The panel for an assistant and its servers, stored or not."""
    preview = preview_offer(assistant, links)
    asked = [link.server.checked_at for link in links if link.server.checked_at]
    return PreviewView(
        offered=_offered(preview),
        left_out=tuple(_left_out(preview.left_out)),
        prompts=tuple(_part(message) for message in preview.messages),
        tools_json=json_text(list(preview.tools)),
        max_tools=assistant.max_tools,
        tool_tokens=sum(preview.tool_tokens),
        prompt_tokens=preview.prompt_tokens,
        samples_tokens=preview.samples_tokens,
        tokens=preview.tokens,
        share=_share(preview.tokens, assistant.context_window),
        asked_at=min(asked) if asked else None,
        notes=(*_notes(assistant), *notes),
    )


def _offered(preview: OfferPreview) -> tuple[OfferedLine, ...]:
    most = max(preview.tool_tokens, default=1)
    return tuple(
        OfferedLine(
            name=tool.name,
            tokens=tokens,
            width=max(2, round(100 * tokens / most)),
            asks=tool.decision.value == "ask",
            rule=tool.rule,
        )
        for tool, tokens in zip(preview.offered, preview.tool_tokens, strict=True)
    )


def _left_out(entries: Sequence[LeftOutTool]) -> list[LeftOutLine]:
    """One line for each; many of one server for one reason become one line with their number."""
    groups: dict[tuple[str, str], list[LeftOutTool]] = {}
    for entry in entries:
        groups.setdefault((entry.server, entry.reason.value), []).append(entry)
    lines: list[LeftOutLine] = []
    for (server, reason), group in groups.items():
        if len(group) < _GROUP_FROM:
            lines += [_line(entry) for entry in group]
            continue
        count = ngettext("%(server)s, %(n)d tool", "%(server)s, %(n)d tools", len(group))
        lines.append(
            LeftOutLine(
                reason=reason,
                subject=count % {"server": server, "n": len(group)},
                detail="",
                names=", ".join(entry.tool for entry in group),
            )
        )
    return lines


def _line(entry: LeftOutTool) -> LeftOutLine:
    subject = f"{entry.server} / {entry.tool}" if entry.tool else entry.server
    detail = entry.detail
    if entry.reason is LeftOut.SERVER_UNAVAILABLE:
        detail = (
            _("never asked for its tools: ask again")
            if detail == NEVER_CHECKED
            else _("all its tools: %(why)s") % {"why": detail}
        )
    return LeftOutLine(reason=entry.reason.value, subject=subject, detail=cut(detail, 160))


def _part(message: JsonObject) -> PromptPart:
    content = message.get("content")
    return PromptPart(
        role=str(message.get("role", "")),
        text=content if isinstance(content, str) else json_text(content),
    )


def _share(tokens: int, window: int | None) -> str:
    if not window:
        return ""
    return _("%(share)d %% of %(window)s") % {
        "share": round(100 * tokens / window),
        "window": f"{window:,}",
    }


def _notes(assistant: Assistant) -> list[str]:
    notes = []
    if assistant.create_hook:
        notes.append(
            _("The create hook %(hook)s may change this for each run.")
            % {"hook": assistant.create_hook}
        )
    if assistant.sandbox:
        notes.append(_("Sandbox: calls are offered and not executed."))
    return notes
