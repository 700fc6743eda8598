"""A run as its turns: what was said, which tools were called, how it ended.

Place in the house: ``agents.chat``, pure. Stored rows come first; the live run is laid over them
for what is not stored yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.chat import states
from agents.chat.cards import CallRows, attempt_of, card_view, live_calls
from agents.chat.endings import ending_view
from agents.chat.formats import count, duration, language
from agents.chat.markdown import render_markdown
from agents.chat.own_words import followed, own_sentences
from agents.chat.rows import RunRows
from agents.chat.stand_ins import stand_in_mark, stand_in_reasons
from agents.chat.view_models import (
    BatchView,
    Block,
    CardView,
    LiveText,
    NoteBlock,
    RunView,
    StepView,
    SummaryBlock,
    TextBlock,
)
from agents.loop.messages import JsonObject
from agents.models import Attachment, Message, MessageRole, Run, RunStatus
from agents.runs.live import LiveCall, LiveRun
from agents.runs.stored_messages import COMPACTION, is_summary

FALLBACK = "F"


@dataclass(slots=True)
class _Steps:
    """The blocks of one run by turn, in the order in which turns came. ``pending`` is the state of
    calls of which nothing is known."""

    run: Run
    pending: str
    blocks: dict[str, list[Block]] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)

    def add(self, node: str, block: Block) -> None:
        """Put a block at the end of a turn."""
        self.blocks.setdefault(node, []).append(block)


def run_view(
    rows: RunRows,
    lives: Mapping[str, LiveRun],
    attachments: Mapping[str, Sequence[Attachment]] | None = None,
) -> RunView:
    """A root run with its child runs' turns after its own."""
    is_live = rows.run.status == RunStatus.RUNNING
    return RunView(
        dom_id=f"run-{rows.run.pk}",
        id=rows.run.pk,
        is_live=is_live,
        steps=_all_steps(rows, lives, attachments or {}),
        ending=None if is_live else ending_view(rows),
    )


def find_step(view: RunView, dom_id: str) -> StepView | None:
    """The turn with a DOM id."""
    return next((step for step in view.steps if step.dom_id == dom_id), None)


def find_batch(view: RunView, key: str) -> tuple[StepView, BatchView, CardView] | None:
    """The card of a call, with the batch and the turn that hold it."""
    for step in view.steps:
        for block in step.blocks:
            if isinstance(block, BatchView):
                for card in block.cards:
                    if card.key == key:
                        return step, block, card
    return None


def _all_steps(
    rows: RunRows,
    lives: Mapping[str, LiveRun],
    attachments: Mapping[str, Sequence[Attachment]],
) -> list[StepView]:
    steps = _steps_of(rows, lives, attachments)
    for child in rows.children:
        steps += _all_steps(child, lives, attachments)
    return steps


def _steps_of(
    rows: RunRows,
    lives: Mapping[str, LiveRun],
    attachments: Mapping[str, Sequence[Attachment]],
) -> list[StepView]:
    run, live = rows.run, lives.get(rows.run.pk)
    steps = _Steps(run=run, pending=_pending(run, live))
    if run.parent_run_id is not None:
        steps.add("0", _handed_over(run))
    results = {m.call_key: m for m in rows.messages if m.role == MessageRole.TOOL}
    calls = live_calls({run.pk: live}) if live is not None else {}
    for message in rows.messages:
        if message.role == MessageRole.ASSISTANT:
            _add_message(steps, message, results, calls, attachments)
        elif is_summary(message):
            steps.add(message.turn, _summary_block(message))
    for turn in resumed_turns(run):
        steps.add(turn, _taken_over())
    is_running = run.status == RunStatus.RUNNING
    now = ""
    if is_running and not any(child.run.status == RunStatus.RUNNING for child in rows.children):
        now = live.turn if live is not None else next(reversed(steps.blocks), "0")
        steps.blocks.setdefault(now, [])
        if live is not None and live.attempt > steps.attempts.get(now, 1):
            steps.add(now, _retry_note(run, live.attempt, _errors(results, now, live.attempt - 1)))
    return [
        _step(run, node, blocks, live if node == now else None, is_now=node == now)
        for node, blocks in steps.blocks.items()
    ]


def _pending(run: Run, live: LiveRun | None) -> str:
    if run.status != RunStatus.RUNNING:
        return "interrupted"
    return states.RUNNING if live is None else states.QUEUED


def _step(
    run: Run, node: str, blocks: Sequence[Block], live: LiveRun | None, *, is_now: bool
) -> StepView:
    return StepView(
        dom_id=f"step-{run.pk}-{node}",
        node=node,
        title=turn_title(node),
        is_now=is_now,
        is_fallback=node == FALLBACK,
        blocks=blocks,
        live=_live_text(live) if live is not None else None,
    )


def turn_title(node: str) -> str:
    """A turn in words."""
    if node == FALLBACK:
        return _("Fallback")
    return _("Turn 0, first answer") if node == "0" else _("Turn %(n)s") % {"n": node}


def _live_text(live: LiveRun) -> LiveText:
    text = live.text
    return LiveText(
        dom_id=f"live-text-{live.run}",
        text=text,
        length=len(text),
        lang=language(text),
        is_thinking=live.is_thinking,
    )


def resumed_turns(run: Run) -> list[str]:
    """The turns behind which another process went on with a run."""
    resumed = run.configuration.get("resumed") if isinstance(run.configuration, dict) else None
    return [str(turn) for turn in resumed] if isinstance(resumed, list) else []


def _taken_over() -> NoteBlock:
    text = _("The process that worked on this ended; another one went on from here.")
    return NoteBlock(letter="A", kind="ka", title=_("taken over"), text=text)


def _handed_over(run: Run) -> NoteBlock:
    name = run.assistant.name if run.assistant is not None else _("another assistant")
    return NoteBlock(
        letter="A",
        kind="ka",
        title=_("assistant"),
        text=_("Handed over to %(name)s.") % {"name": name},
    )


def _add_message(
    steps: _Steps,
    message: Message,
    results: Mapping[str, Message],
    calls: Mapping[str, LiveCall],
    attachments: Mapping[str, Sequence[Attachment]],
) -> None:
    node = _node(steps.run, message)
    stored = [call for call in message.tool_calls if isinstance(call, dict)]
    attempt = attempt_of(str(stored[0].get("key", ""))) if stored else 1
    if attempt > 1:
        steps.add(node, _retry_note(steps.run, attempt, _errors(results, node, attempt - 1)))
    steps.attempts[node] = attempt
    text = text_of_message(message)
    if text.strip():
        steps.add(node, _text_block(message, text))
    if stored:
        rows = [_call_rows(steps, call, results, calls, attachments) for call in stored]
        steps.add(node, _batch(message, node, attempt, rows))


def _node(run: Run, message: Message) -> str:
    """The turn of a message; answers are stored without one."""
    if message.turn:
        return message.turn
    return FALLBACK if (message.level or 1) > 1 else str(run.turns)


def text_of_message(message: Message) -> str:
    """The text of a stored message."""
    if isinstance(message.content, str):
        return message.content
    parts = message.content if isinstance(message.content, list) else []
    texts = [part.get("text", "") for part in parts if isinstance(part, dict)]
    return "\n".join(str(text) for text in texts if text)


def _text_block(message: Message, text: str) -> TextBlock:
    source = message.details.get("source") if isinstance(message.details, dict) else ""
    mark = ""
    if message.is_aborted:
        mark = _("cut off here")
    elif source == "hook":
        mark = _("answered by a hook")
    elif source == "results":
        mark = _("made from the results")
    elif message.level == 3:
        mark = _("fixed text")
    else:
        mark = stand_in_mark(message)
    return TextBlock(
        html=render_markdown(text),
        lang=language(text),
        mark=mark,
        reasons=stand_in_reasons(message),
    )


def _summary_block(message: Message) -> SummaryBlock:
    folded = message.details[COMPACTION]
    count_of = int(folded.get("messages") or 0)
    words = ngettext(
        "%(n)s earlier message summed up, about %(before)s tokens became %(after)s",
        "%(n)s earlier messages summed up, about %(before)s tokens became %(after)s",
        count_of,
    )
    text = text_of_message(message)
    return SummaryBlock(
        dom_id=f"summary-{message.pk}",
        title=words
        % {
            "n": count(count_of),
            "before": count(int(folded.get("tokens_before") or 0)),
            "after": count(int(folded.get("tokens_after") or 0)),
        },
        html=render_markdown(text),
        lang=language(text),
    )


def _errors(results: Mapping[str, Message], node: str, attempt: int) -> list[str]:
    """What was wrong with the calls of an attempt."""
    found = []
    for key, message in results.items():
        details = message.details if isinstance(message.details, dict) else {}
        if message.turn == node and attempt_of(key) == attempt and details.get("correctable"):
            found.append(str(details.get("error") or message.outcome))
    return found


def _retry_note(run: Run, attempt: int, errors: Sequence[str]) -> NoteBlock:
    limits = run.configuration.get("limits") or {}
    text = _("Asked again for the arguments, attempt %(n)d of %(total)s.") % {
        "n": attempt,
        "total": limits.get("parameter_attempts", 3),
    }
    if errors:
        text = followed(text, " ".join(map(own_sentences, errors)))
    return NoteBlock(letter="R", kind="kr", title=_("parameter retry"), text=text)


def _call_rows(
    steps: _Steps,
    call: JsonObject,
    results: Mapping[str, Message],
    calls: Mapping[str, LiveCall],
    attachments: Mapping[str, Sequence[Attachment]],
) -> CallRows:
    key = str(call.get("key", ""))
    result = results.get(key)
    return CallRows(
        run=steps.run,
        call=call,
        result=result,
        attachments=attachments.get(result.pk, ()) if result is not None else (),
        live=calls.get(key),
        pending=steps.pending,
    )


def _batch(message: Message, node: str, attempt: int, rows: Sequence[CallRows]) -> BatchView:
    cards = [card_view(row) for row in rows]
    bad = [card for card in cards if card.state.family == "s-bad"]
    names = list(dict.fromkeys(_full_name(card) for card in cards))
    return BatchView(
        dom_id=f"batch-{message.run_id}-{node}-{attempt}",
        cards=cards,
        is_group=len(cards) > 1 and all(row.is_settled for row in rows),
        is_open=bool(bad) or any(row.pending != "interrupted" for row in rows),
        has_bad=bool(bad),
        title=ngettext("%(n)d tool call", "%(n)d tool calls", len(cards)) % {"n": len(cards)},
        names=", ".join(names[:3]) + (" …" if len(names) > 3 else ""),
        outcome=_group_state(cards, len(bad)),
        duration=_wall(message, rows),
    )


def _full_name(card: CardView) -> str:
    return f"{card.server} / {card.tool}" if card.server else card.tool


def _group_state(cards: Sequence[CardView], bad: int) -> states.StateView | None:
    """What stands out in a folded group: failures first, then what was cut or not executed."""
    if bad:
        word = _("%(n)d failed") % {"n": bad}
        return states.StateView(name="bad", word=word, icon="error", family="s-bad")
    cut = sum(card.state.name == "truncated" for card in cards)
    if cut:
        word = _("%(n)d truncated") % {"n": cut}
        return states.StateView(name="truncated", word=word, icon="cut", family="s-ok")
    off = [card.state for card in cards if card.state.family == "s-off"]
    if off:
        word = f"{len(off)} {off[0].word}"
        return states.StateView(name="off", word=word, icon=off[0].icon, family="s-off")
    return states.call_state("ok")


def _wall(message: Message, rows: Sequence[CallRows]) -> str:
    """From the answer that asked to the last result."""
    ends = [row.result.created_at for row in rows if row.result is not None]
    if not ends:
        return ""
    return duration((max(ends) - message.created_at).total_seconds() * 1000)
