"""The calls of one turn, together: in order, in parallel, each with exactly one result.

Place in the house: ``agents.loop``. Calls that need nobody run at once, grouped by server and
within the limits; one that waits for a person holds nobody up; the turn is over when every call has
its result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace

from agents.loop.approval import Decision
from agents.loop.call_hooks import apply_before_hook, finish_call
from agents.loop.circling import note_result, refuse_excess
from agents.loop.errors import HookError, LoopError
from agents.loop.events import (
    LimitReached,
    ToolCallDecided,
    ToolCallFinished,
    ToolCallRepeated,
    ToolCallStarted,
    ToolCallWaiting,
    Turn,
)
from agents.loop.messages import ToolCall
from agents.loop.results import Outcome, ToolResult
from agents.loop.shorten import shorten_together
from agents.loop.state import RunState
from agents.loop.tool_calls import (
    KeptResults,
    PreparedCall,
    ask_approval,
    execute_call,
    limit_result,
    prepare_call,
    result_message,
    unfinished_result,
)
from agents.loop.wire import WireRules, call_ids


async def run_calls(
    run: RunState,
    calls: Sequence[ToolCall],
    *,
    turn: Turn,
    attempt: int = 1,
    is_truncated: bool = False,
    kept: KeptResults | None = None,
) -> list[ToolResult]:
    """One result per call, in the order of the calls; their tool messages are in the run's
    messages.

    When the run is stopped meanwhile, open calls get the result ``cancelled`` before the
    ``CancelledError`` goes on.
    """
    rules = run.wire.rules if run.wire is not None else WireRules(provider="")
    run.call_ids.update(call_ids(run.messages, rules))
    turn_calls = _TurnCalls(run=run, turn=turn, attempt=attempt, calls=tuple(calls))
    try:
        await turn_calls.execute(is_truncated=is_truncated, kept=kept or {})
    except (asyncio.CancelledError, LoopError):
        await turn_calls.cancel_open()
        raise
    finally:
        run.timer.resume()
        results = turn_calls.in_order()
        run.results += results
        run.call_count += len(results)
        run.messages += [result_message(result) for result in results]
    return results


@dataclass(slots=True, kw_only=True)
class _TurnCalls:
    """The work on one turn's calls. ``results`` by call key; ``sent`` tells when a call was sent,
    in seconds of the monotonic clock."""

    run: RunState
    turn: Turn
    attempt: int
    calls: tuple[ToolCall, ...]
    results: dict[str, ToolResult] = field(default_factory=dict)
    held: list[ToolResult] = field(default_factory=list)
    started: set[str] = field(default_factory=set)
    asking: set[str] = field(default_factory=set)
    sent: dict[str, float] = field(default_factory=dict)
    working: int = 0
    waiting: int = 0

    async def execute(self, *, is_truncated: bool, kept: KeptResults) -> None:
        """Bring every call to its result."""
        ready: list[PreparedCall] = []
        for call in self.calls:
            prepared = prepare_call(self.run, call, is_truncated=is_truncated, kept=kept)
            if isinstance(prepared, PreparedCall):
                prepared = await refuse_excess(self.run, prepared, self.turn)
            else:
                prepared = await note_result(self.run, prepared, self.turn)
            if isinstance(prepared, PreparedCall):
                prepared = await apply_before_hook(self.run, prepared)
            await self._note_started(call, prepared)
            if isinstance(prepared, ToolResult):
                await self._keep(prepared)
            else:
                ready.append(prepared)
        await self._execute_ready(ready)
        await self._release_held()

    async def cancel_open(self) -> None:
        """Give every open call the result ``cancelled``.

        Where the process ends it is ``interrupted``, for another process goes on; a call that waits
        for a person has none then: it will be asked for there.
        """
        await self._release_held()
        is_ending = self.run.outside.is_ending
        for call in self.calls:
            if call.key in self.results or (is_ending and call.key in self.asking):
                continue
            sent = self.sent.get(call.key)
            cancelled = unfinished_result(self.run, call, sent, is_interrupted=is_ending)
            if call.key not in self.started:
                await self._note_started(call, cancelled)
            await self._tell(cancelled)

    def in_order(self) -> list[ToolResult]:
        """The results so far, in the order of the calls."""
        return [self.results[call.key] for call in self.calls if call.key in self.results]

    async def _execute_ready(self, ready: Sequence[PreparedCall]) -> None:
        asking = [prepared for prepared in ready if prepared.needs_approval]
        free = [prepared for prepared in ready if not prepared.needs_approval]
        if len(ready) == 1 and free:
            await self._run_one(free[0])
            return
        slots = asyncio.Semaphore(self.run.limits.parallel_calls)
        servers = {p.tool.spec.server: asyncio.Semaphore(self._width(p)) for p in ready}
        groups: dict[str, list[PreparedCall]] = {}
        for prepared in free:
            groups.setdefault(prepared.tool.spec.server, []).append(prepared)
        jobs = [self._run_group(group, servers[server], slots) for server, group in groups.items()]
        jobs += [self._run_after_approval(p, servers[p.tool.spec.server], slots) for p in asking]
        await _run_all([self._work(job) for job in jobs])

    def _width(self, prepared: PreparedCall) -> int:
        return prepared.tool.limits.parallel_calls or self.run.limits.parallel_calls

    async def _work(self, job: Coroutine[object, object, None]) -> None:
        self.working += 1
        try:
            await job
        finally:
            self.working -= 1
            self._mind_the_clock()

    async def _run_group(
        self, group: Sequence[PreparedCall], server: asyncio.Semaphore, slots: asyncio.Semaphore
    ) -> None:
        """One server's calls at once; those it could not do in company once more, one by one."""
        again: list[tuple[PreparedCall, ToolResult]] = []
        is_concurrent = len(group) > 1 and self._width(group[0]) > 1

        async def run(prepared: PreparedCall) -> None:
            async with server, slots:
                result = await self._execute(prepared)
            if is_concurrent and _deserves_repeat(prepared, result):
                again.append((prepared, result))
            else:
                await self._finish(prepared, result)

        await _run_all([run(prepared) for prepared in group])
        order = {prepared.call.key: place for place, prepared in enumerate(group)}
        for prepared, result in sorted(again, key=lambda pair: order[pair[0].call.key]):
            await self.run.emit(
                ToolCallRepeated,
                turn=self.turn,
                attempt=self.attempt,
                call=prepared.call,
                error=result.error,
            )
            async with server, slots:
                result = await self._execute(prepared)
            await self._finish(prepared, result)

    async def _run_after_approval(
        self, prepared: PreparedCall, server: asyncio.Semaphore, slots: asyncio.Semaphore
    ) -> None:
        refused = await self._ask(prepared)
        if refused is not None:
            await self._keep(refused)
            return
        async with server, slots:
            result = await self._execute(prepared)
        await self._finish(prepared, result)

    async def _run_one(self, prepared: PreparedCall) -> None:
        await self._finish(prepared, await self._execute(prepared))

    async def _execute(self, prepared: PreparedCall) -> ToolResult:
        self.sent[prepared.call.key] = self.run.clock.monotonic()
        return await execute_call(self.run, prepared, turn=self.turn, attempt=self.attempt)

    async def _ask(self, prepared: PreparedCall) -> ToolResult | None:
        spec = prepared.tool.spec
        place = {"turn": self.turn, "attempt": self.attempt, "call": prepared.call}
        await self.run.emit(
            ToolCallWaiting,
            server=spec.server,
            tool=spec.name,
            arguments=prepared.arguments,
            **place,
        )
        self.working, self.waiting = self.working - 1, self.waiting + 1
        self._mind_the_clock()
        self.asking.add(prepared.call.key)
        try:
            refused, by = await ask_approval(self.run, prepared)
            self.asking.discard(prepared.call.key)
        finally:
            self.working, self.waiting = self.working + 1, self.waiting - 1
            self._mind_the_clock()
        await self.run.emit(
            ToolCallDecided,
            is_allowed=refused is None,
            reason=refused.error if refused else "",
            by=by,
            **place,
        )
        return refused

    def _mind_the_clock(self) -> None:
        """The run's time stands still while nothing but a person is awaited."""
        if self.waiting and not self.working:
            self.run.timer.pause()
        else:
            self.run.timer.resume()

    async def _finish(self, prepared: PreparedCall, result: ToolResult) -> None:
        try:
            finished = await finish_call(self.run, prepared, result)
        except HookError:
            # The run ends here, but what the call did must be known.
            await self._keep(result)
            raise
        await self._keep(await note_result(self.run, finished, self.turn))

    async def _keep(self, result: ToolResult) -> None:
        """Take the result; tell it at once unless the turn's limit may still cut it."""
        limits = self.run.limits
        tool = self.run.catalog.offered.get(result.call.name)
        own = tool.limits.result_chars if tool is not None else None
        most = own or limits.tool_result_max_chars
        result = await limit_result(self.run, result, self.turn, most)
        self.results[result.call.key] = result
        if len(result.text) > limits.turn_result_max_chars // len(self.calls):
            self.held.append(result)
        else:
            await self._tell(result)

    async def _release_held(self) -> None:
        """Cut the longest results until the turn fits, then tell them."""
        held, self.held = self.held, []
        if not held:
            return
        texts = shorten_together(
            [result.text for result in self.in_order()], self.run.limits.turn_result_max_chars
        )
        cut = dict(zip((result.call.key for result in self.in_order()), texts, strict=True))
        await self._note_turn_limit(sum(cut[result.call.key] != result.text for result in held))
        for result in held:
            text = cut[result.call.key]
            if text != result.text:
                result = replace(result, text=text, is_truncated=True)
            await self._tell(result)

    async def _note_turn_limit(self, count: int) -> None:
        if count:
            detail = f"{count} of {len(self.calls)} results were cut so that the turn fits"
            await self.run.emit(
                LimitReached, turn=self.turn, option="turn_result_max_chars", detail=detail
            )

    async def _tell(self, result: ToolResult) -> None:
        self.results[result.call.key] = result
        await self.run.emit(
            ToolCallFinished,
            turn=self.turn,
            attempt=self.attempt,
            call_id=self.run.call_ids[result.call.key],
            result=result,
            message=result_message(result),
        )

    async def _note_started(self, call: ToolCall, prepared: PreparedCall | ToolResult) -> None:
        if isinstance(prepared, PreparedCall):
            server, tool = prepared.tool.spec.server, prepared.tool.spec.name
        else:
            server, tool = prepared.server, prepared.tool
        arguments = call.arguments if prepared.arguments is None else prepared.arguments
        self.started.add(call.key)
        await self.run.emit(
            ToolCallStarted,
            turn=self.turn,
            attempt=self.attempt,
            call=call,
            call_id=self.run.call_ids[call.key],
            server=server,
            tool=tool,
            arguments=arguments,
        )


def _deserves_repeat(prepared: PreparedCall, result: ToolResult) -> bool:
    return (
        result.outcome in (Outcome.TOOL_ERROR, Outcome.PROTOCOL_ERROR)
        and result.is_correctable
        and prepared.tool.spec.is_repeatable
        and prepared.tool.decision is not Decision.DENY
    )


async def _run_all(jobs: Sequence[Coroutine[object, object, None]]) -> None:
    """Run all; the first exception ends the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
