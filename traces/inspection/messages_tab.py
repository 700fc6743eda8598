"""The Messages tab of a request: what was sent, beside the request before it in the same run.

Place in the house: ``traces.inspection``, pure. Messages are compared by their hashes; where one
stands in the place of another with the same role and call, it changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from traces.inspection.answers import answer_facts, option_facts
from traces.inspection.detail_models import MessagesView, MessageView
from traces.inspection.formats import clauses, count, json_text, sentences
from traces.inspection.links import link_to
from traces.inspection.message_views import Calls, calls_of_run, message_view
from traces.inspection.reading import Reading, asks_the_model, listed
from traces.inspection.row_texts import request_title
from traces.records import SpanRecord

MESSAGES, TOOLS = "gen_ai.input.messages", "gen_ai.tool.definitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step from a request to the next: ``same``, ``added``, ``changed`` or ``removed``, with
    the places before and after (``None`` where there is none)."""

    change: str
    before: int | None
    after: int | None


def messages_view(reading: Reading, span: SpanRecord) -> MessagesView:
    """What a request sent, and how that differs from the request before it."""
    previous = previous_request(reading, span)
    sent, calls = _hashes(span, MESSAGES), calls_of_run(reading, span)
    steps = changes_between(reading, _hashes(previous, MESSAGES) if previous else None, sent)
    views = [_view(reading, step, previous, span, calls) for step in steps]
    changes = tuple(view for view in views if view.change not in ("same", ""))
    same = [view for view in views if view.change == "same"]
    number = {name: sum(v.change == name for v in changes) for name in _CHANGES}
    missing = sum(digest not in reading.payloads for digest in sent)
    return MessagesView(
        previous=link_to(previous, request_title(reading, previous)) if previous else None,
        compared=_compared(reading, previous),
        counts=_counts(reading, previous, span, number, changes),
        added=number["added"],
        changed=number["changed"],
        removed=number["removed"],
        unchanged=len(same),
        unchanged_text=ngettext(
            "%(n)s message unchanged", "%(n)s messages unchanged", len(same)
        ) % {"n": count(len(same))},
        messages=tuple(view for view in views if view.change != "removed"),
        changes=changes,
        tools=tuple(str(name) for name in listed(span, "toolloop.tools")),
        tools_line=tools_line(previous, span),
        options=option_facts(span),
        options_line=_options_line(previous, span),
        answer=_answer(reading, span, calls),
        answer_facts=answer_facts(reading, span),
        missing=ngettext(
            "%(n)d message is no longer stored.", "%(n)d messages are no longer stored.", missing
        ) % {"n": missing} if missing else "",
    )  # fmt: skip


def message_hashes(reading: Reading, span: SpanRecord) -> list[str]:
    """The payloads that the tab of a request needs."""
    previous = previous_request(reading, span)
    sent = [*_hashes(span, MESSAGES), *_hashes(span, "gen_ai.output.messages")]
    return [*sent, *(_hashes(previous, MESSAGES) if previous else [])]


def previous_request(reading: Reading, span: SpanRecord) -> SpanRecord | None:
    """The request before one in the same run; the fallback's is compared with its own only."""
    before = [
        other
        for other in reading.spans
        if other.kind == "model"
        and other.run == span.run
        and (other.turn == "F") == (span.turn == "F")
        and asks_the_model(other) == asks_the_model(span)
        and other.position < span.position
    ]
    return before[-1] if before else None


def changes_between(
    reading: Reading, before: Sequence[str] | None, after: Sequence[str]
) -> list[Change]:
    """The steps from one list of messages to the next, in order."""
    if before is None:
        return [Change(change="", before=None, after=place) for place in range(len(after))]
    steps: list[Change] = []
    matcher = SequenceMatcher(a=before, b=after, autojunk=False)
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag == "equal":
            steps += [Change(change="same", before=a1 + i, after=b1 + i) for i in range(a2 - a1)]
        else:
            steps += _replaced(reading, before, after, range(a1, a2), range(b1, b2))
    return steps


def _replaced(
    reading: Reading, before: Sequence[str], after: Sequence[str], old: range, new: range
) -> list[Change]:
    """Messages in the place of others: those of the same role and call changed."""
    left = {place: _identity(reading, before[place]) for place in old}
    steps: list[Change] = []
    for place in new:
        wanted = _identity(reading, after[place])
        match = next((i for i, own in left.items() if own == wanted and wanted), None)
        if match is None:
            steps.append(Change(change="added", before=None, after=place))
        else:
            del left[match]
            steps.append(Change(change="changed", before=match, after=place))
    gone = [Change(change="removed", before=place, after=None) for place in left]
    return [*gone, *steps]


def _identity(reading: Reading, digest: str) -> tuple[str, str]:
    """What makes a message the same one although its text changed."""
    message = reading.payloads.get(digest)
    if not isinstance(message, dict):
        return "", ""
    return str(message.get("role")), str(message.get("tool_call_id") or "")


_CHANGES = ("added", "changed", "removed")


def _view(
    reading: Reading,
    step: Change,
    previous: SpanRecord | None,
    span: SpanRecord,
    calls: Calls,
) -> MessageView:
    sent = _hashes(span, MESSAGES)
    old = _hashes(previous, MESSAGES)[step.before] if previous and step.before is not None else ""
    new = sent[step.after] if step.after is not None else old
    place = step.after if step.after is not None else step.before or 0
    return message_view(
        reading.payloads.get(new),
        number=place + 1,
        change=step.change,
        before=reading.payloads.get(old) if step.change == "changed" else None,
        calls=calls,
    )


def _compared(reading: Reading, previous: SpanRecord | None) -> str:
    if previous is None:
        return _("The first request: there is nothing to compare it with.")
    return _("Compared with %(request)s") % {"request": request_title(reading, previous)}


def _counts(
    reading: Reading,
    previous: SpanRecord | None,
    span: SpanRecord,
    number: dict[str, int],
    changes: Sequence[MessageView],
) -> str:
    """The difference in one line: "+2 messages, 1 cut from 18,204 to 8,000 characters"."""
    if previous is None:
        total = len(_hashes(span, MESSAGES))
        words = ngettext("%(n)s message", "%(n)s messages", total) % {"n": count(total)}
        return sentences([clauses([words, tools_line(None, span)])])
    parts = []
    if number["added"]:
        words = ngettext("+%(n)d message", "+%(n)d messages", number["added"])
        parts.append(words % {"n": number["added"]})
    parts += [view.note for view in changes if view.note]
    plain = sum(view.change == "changed" and not view.note for view in changes)
    if plain:
        parts.append(ngettext("%(n)d changed", "%(n)d changed", plain) % {"n": plain})
    if number["removed"]:
        words = ngettext("%(n)d removed", "%(n)d removed", number["removed"])
        parts.append(words % {"n": number["removed"]})
    if not parts:
        parts.append(_("the same messages were sent again"))
    return sentences([clauses([*parts, tools_line(previous, span), _options_line(previous, span)])])


def tools_line(previous: SpanRecord | None, span: SpanRecord) -> str:
    """The tools offered, beside those of the request before."""
    now = dict(zip(listed(span, "toolloop.tools"), _hashes(span, TOOLS), strict=False))
    total = len(_hashes(span, TOOLS))
    offered = ngettext("%(n)d tool offered", "%(n)d tools offered", total) % {"n": total}
    if previous is None:
        return offered
    if _hashes(previous, TOOLS) == _hashes(span, TOOLS):
        return _("tools unchanged")
    then = dict(zip(listed(previous, "toolloop.tools"), _hashes(previous, TOOLS), strict=False))
    if not now:
        return _("no tools offered")
    added, gone = len(now.keys() - then.keys()), len(then.keys() - now.keys())
    changed = sum(then[name] != now[name] for name in now.keys() & then.keys())
    return _("tools: %(added)d added, %(changed)d changed, %(gone)d removed") % {
        "added": added,
        "changed": changed,
        "gone": gone,
    }


def _options_line(previous: SpanRecord | None, span: SpanRecord) -> str:
    """The options that differ from the request before; nothing where none does."""
    if previous is None:
        return ""
    now, then = _options(span), _options(previous)
    changed = [name for name in {**then, **now} if now.get(name) != then.get(name)]
    return clauses(
        _("%(name)s %(now)s, was %(then)s")
        % {
            "name": name,
            "now": json_text(now.get(name), indent=None),
            "then": json_text(then.get(name), indent=None),
        }
        for name in changed
    )


def _options(span: SpanRecord) -> dict[str, object]:
    options = span.attributes.get("toolloop.options")
    return {
        "model": span.attributes.get("gen_ai.request.model"),
        **(options if isinstance(options, dict) else {}),
    }


def _answer(reading: Reading, span: SpanRecord, calls: Calls) -> MessageView | None:
    for digest in _hashes(span, "gen_ai.output.messages"):
        return message_view(reading.payloads.get(digest), number=0, change="", calls=calls)
    return None


def _hashes(span: SpanRecord, name: str) -> list[str]:
    return [str(digest) for digest in listed(span, name)]
