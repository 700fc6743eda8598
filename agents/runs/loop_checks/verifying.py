"""The three checks of an assistant's loop, one after the other.

Place in the house: ``agents.runs.loop_checks``. Nothing of it is stored as a conversation, a run or
a trace. The questions are real requests to the assistant's model, with its prompts and tools.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from asgiref.sync import sync_to_async

from agents.loop.catalog import OfferedTool
from agents.loop.errors import ModelError, ModelRefused
from agents.loop.interfaces import ModelAnswer
from agents.loop.messages import JsonObject, JsonValue, Message, Role
from agents.loop.request import RunRequest
from agents.loop.run import run_loop
from agents.models import Assistant
from agents.runs.loop_checks.asking import Recording, ask
from agents.runs.loop_checks.judging import Found, judge_call, judge_continuation, judge_loop
from agents.runs.loop_checks.opening import (
    CheckOutside,
    OpenedAssistant,
    open_assistant,
    read_plan,
)
from agents.runs.loop_checks.outcomes import LoopCheck, LoopReport, Verdict
from agents.runs.loop_checks.questions import (
    hand_made_call,
    hand_made_result,
    question_for,
    steps_for,
)
from agents.runs.loop_checks.tools import PlannedCall, plan_calls
from agents.runs.loop_checks.words import Cause
from agents.runs.plans import RunPlan
from agents.runs.resources import RunResources
from agents.secret_values import hide_secrets

ALL_SECONDS = 180.0
"""How long the checks may take in all, unless told otherwise."""

PLANNED_CALLS = 2
"""How many calls the third check asks for, where there are tools and turns for them."""

SAID_CHARS = 300
"""How much of what somebody said stands in a sentence."""

_PASSES = frozenset(
    {
        Cause.CALLED, Cause.CALLED_ANOTHER, Cause.RESULT_USED, Cause.RESULT_TAKEN, Cause.ENDED,
        Cause.ENDED_EARLY,
    }
)  # fmt: skip
_NOT_ASKED = frozenset({Cause.LOOP_OFF, Cause.SANDBOX, Cause.EARLIER, Cause.NO_TIME})


class ToolUnusable(ValueError):
    """Raised when the tool that a person named cannot be asked for; the text says why and what to
    do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person wants to be called: ``tool`` as ``server.tool``, empty for a free choice;
    ``arguments`` are made up where there are none. ``user_id`` is who asks."""

    tool: str = ""
    arguments: JsonObject | None = None
    user_id: int | None = None


async def verify_loop(
    assistant: Assistant,
    wish: Wish | None = None,
    *,
    seconds: float = ALL_SECONDS,
    tell: Callable[[LoopCheck], None] | None = None,
) -> LoopReport:
    """The three checks of a stored assistant, within these seconds; ``tell`` hears of each as it
    ends. Raises ``ToolUnusable``.
    """
    began = time.monotonic()
    plan = await sync_to_async(read_plan)(assistant, wish.user_id if wish else None)
    resources = RunResources(observers=[])
    checker = _Checker(plan, resources, wish or Wish(), seconds, began + seconds, tell)
    try:
        await checker.check_all()
    finally:
        await resources.close()
    opened = checker.opened
    return LoopReport(
        assistant=plan.assistant.assistant_id,
        provider=opened.target.provider if opened else "",
        model=opened.target.model if opened else "",
        calls=tuple((_dotted(call.tool), call.arguments) for call in checker.planned),
        checks=tuple(checker.checks),
        seconds=time.monotonic() - began,
    )


@dataclass(slots=True)
class _Checker:
    """The checks of one assistant on their way."""

    plan: RunPlan
    resources: RunResources
    wish: Wish
    seconds: float
    end: float
    tell: Callable[[LoopCheck], None] | None
    opened: OpenedAssistant | None = None
    planned: tuple[PlannedCall, ...] = ()
    checks: list[LoopCheck] = field(default_factory=list)
    answer: ModelAnswer | None = None

    async def check_all(self) -> None:
        """All three; what makes the later ones pointless is said in their place."""
        if self.plan.assistant.sandbox:
            await self._skip(1, Cause.SANDBOX)
            return
        if not await self._open():
            return
        await self._check(1, self._ask_for_call)
        last = self.checks[-1].cause
        if last in (Cause.MODEL_FAILED, Cause.TIME):
            await self._skip(2, Cause.EARLIER, number=1)
            return
        await self._check(2, self._hand_result)
        if self.checks[0].verdict is not Verdict.PASSED:
            await self._skip(3, Cause.EARLIER, number=1)
        elif not self.plan.assistant.tool_loop:
            await self._skip(3, Cause.LOOP_OFF)
        else:
            await self._check(3, self._run_loop)

    async def _open(self) -> bool:
        """Whether there is a model and a call to ask for. Raises ``ToolUnusable``."""
        limit = self._limit(1)
        try:
            async with asyncio.timeout(limit):
                self.opened = await open_assistant(self.plan, self.resources)
        except ModelError as error:
            await self._found(1, (Cause.MODEL_FAILED, _facts_of(error)))
        except TimeoutError:
            await self._found(1, (Cause.TIME, {"seconds": f"{limit:.0f}"}))
        if self.opened is None:
            await self._skip(2, Cause.EARLIER, number=1)
            return False
        catalog = self.opened.offer.catalog
        named = self._named_tool(self.opened) if self.wish.tool else None
        most = min(PLANNED_CALLS, self.plan.assistant.limits.max_turn)
        self.planned = plan_calls(catalog, named, self.wish.arguments, most=most)
        if self.planned:
            return True
        if named is not None:
            raise ToolUnusable(
                f"No arguments could be made up for {self.wish.tool}: give them with --arguments"
            )
        cause = Cause.NO_ARGUMENTS if catalog.offered else Cause.NO_TOOL
        reasons = [
            f"{entry.server}{'.' if entry.tool else ''}{entry.tool}: {entry.detail or entry.reason}"
            for entry in catalog.left_out[:3]
        ]
        await self._found(1, (cause, {"reason": "; ".join(reasons) or "it has no servers"}))
        await self._skip(2, Cause.EARLIER, number=1)
        return False

    def _named_tool(self, opened: OpenedAssistant) -> OfferedTool:
        catalog = opened.offer.catalog
        for tool in catalog.offered.values():
            if self.wish.tool in (_dotted(tool), tool.name):
                return tool
        for entry in catalog.left_out:
            if f"{entry.server}.{entry.tool}" == self.wish.tool or (
                not entry.tool and self.wish.tool.startswith(f"{entry.server}.")
            ):
                raise ToolUnusable(
                    f"The tool {self.wish.tool} is not offered to the model "
                    f"({entry.reason}{': ' if entry.detail else ''}{entry.detail})."
                )
        known = ", ".join(_dotted(tool) for tool in catalog.offered.values()) or "none"
        raise ToolUnusable(f"There is no tool {self.wish.tool!r} here. Offered are: {known}.")

    async def _check(self, number: int, look: Callable[[Recording], object]) -> None:
        """One check with all that may go wrong on the way."""
        recording = Recording()
        if self.end <= time.monotonic():
            await self._found(number, (Cause.NO_TIME, {}))
            return
        limit = self._limit(number)
        try:
            async with asyncio.timeout(limit):
                found: Found = await look(recording)  # type: ignore[misc]
        except TimeoutError:
            cause = Cause.OUT_OF_TIME if number == 3 else Cause.TIME
            found = (cause, {"seconds": f"{limit:.0f}"})
        except ModelError as error:
            is_refused = number == 2 and isinstance(error, ModelRefused)
            cause = Cause.RESULT_REFUSED if is_refused else Cause.MODEL_FAILED
            found = (cause, _facts_of(error))
        await self._found(number, found, recording)

    async def _ask_for_call(self, recording: Recording) -> Found:
        """Check 1."""
        assert self.opened is not None
        question = Message(role=Role.USER, content=question_for(self.planned[0]))
        answer = await ask(self.opened, [question], recording)
        found = judge_call(answer, self.opened.offer.catalog, self.planned[0])
        self.answer = answer if found[0] in _PASSES else None
        return found

    async def _hand_result(self, recording: Recording) -> Found:
        """Check 2: a result made by hand for every call of check 1, or for a call made by hand."""
        assert self.opened is not None
        given = self.answer or ModelAnswer(tool_calls=(hand_made_call(self.planned[0]),))
        made = tuple(
            replace(call, key=f"check:0:1:{place}") for place, call in enumerate(given.tool_calls)
        )
        messages = [
            Message(role=Role.USER, content=question_for(self.planned[0])),
            Message(
                role=Role.ASSISTANT,
                content=given.text,
                tool_calls=made,
                provider=self.opened.target.provider,
                extra=given.extra,
            ),
            *(hand_made_result(call) for call in made),
        ]
        return judge_continuation(await ask(self.opened, messages, recording), made)

    async def _run_loop(self, recording: Recording) -> Found:
        """Check 3: the loop of every run, with this assistant's limits."""
        run = self.plan.run
        outside = CheckOutside(
            self.plan,
            resources=self.resources,
            planned={(c.tool.spec.server, c.tool.spec.name): c for c in self.planned},
            emit=recording.take,
        )
        request = RunRequest(
            run=run.pk,
            conversation=run.conversation_id,
            trace=run.trace_id,
            assistant=self.plan.assistant,
            message=Message(role=Role.USER, content=steps_for(self.planned)),
            user=str(self.wish.user_id or ""),
        )
        outcome = await run_loop(request, outside=outside, emit=recording.take)
        limits = self.plan.assistant.limits
        return judge_loop(outcome, recording.events, planned=len(self.planned), limits=limits)

    async def _skip(self, first: int, cause: Cause, **facts: int) -> None:
        """This check and those after it are not asked, for one reason."""
        for later in range(first, 4):
            await self._found(later, (cause, dict(facts)))

    async def _found(self, number: int, found: Found, recording: Recording | None = None) -> None:
        cause, facts = found
        verdict = Verdict.PASSED if cause in _PASSES else Verdict.FAILED
        if cause in _NOT_ASKED:
            verdict = Verdict.NOT_ASKED
        kept = recording or Recording()
        facts, steps = await sync_to_async(hide_secrets)(
            [facts, kept.steps], "".join(kept.streamed)
        )
        check = LoopCheck(
            check=number,
            verdict=verdict,
            cause=cause,
            # Cut only now: half of a secret would not be known for one.
            facts={name: _shortened(value) for name, value in facts.items()},
            exchange=tuple(steps),
        )
        self.checks.append(check)
        if self.tell is not None:
            self.tell(check)

    def _limit(self, number: int) -> float:
        """The seconds of a check: all that are left for the last, at most half of all before."""
        left = max(self.end - time.monotonic(), 0.0)
        return left if number == 3 else min(left, self.seconds / 2)


def _dotted(tool: OfferedTool) -> str:
    return f"{tool.spec.server}.{tool.spec.name}"


def _shortened(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or len(value) <= SAID_CHARS:
        return value
    return f"{value[: SAID_CHARS - 1]}…"


def _facts_of(error: ModelError) -> JsonObject:
    return {"error": error.message, "hint": error.hint}
