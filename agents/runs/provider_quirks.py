"""What a provider can do with tools, and what it refuses, found by really asking.

Place in the house: ``agents.runs``, for the admin. Each question is a small streamed request; what
is refused in the way in which the product usually sends it is tried in another way, and offered as
a setting where that works. Nothing is set here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asgiref.sync import async_to_sync

from agents.loop.errors import ModelError
from agents.loop.interfaces import ModelAnswer, ModelDelta, ModelRequest
from agents.loop.messages import JsonObject
from agents.runs.plans import ProviderFacts
from agents.runs.resources import RunResources

SECONDS = 60.0
"""How long all questions together may take."""

ID_PATTERNS = ("^[a-zA-Z0-9]{9}$", "^[a-zA-Z0-9_-]{1,40}$")
"""Patterns of call ids that are known to be asked for, the strictest first."""

_LONG_ID = "call_0123456789.abcdefghijklmnopqrstuvwxyz:0123456789"
_SHORT_IDS = {ID_PATTERNS[0]: "a1B2c3D4e", ID_PATTERNS[1]: "call_0123456789"}
_SYSTEM: JsonObject = {"role": "system", "content": "You answer briefly."}
_QUESTION: JsonObject = {"role": "user", "content": "What is the code? Call the tool get_code."}
TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "get_code",
        "description": "Returns the code.",
        "parameters": {"type": "object", "properties": {"which": {"type": "string"}}},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What came of it. ``calls_tools`` and ``reads_results``: ``None`` where that was not found
    out. ``quirks`` are values by the names of settings; ``refusals`` what was refused and has no
    setting, in the provider's words. ``is_cut``: the time was over before all was asked."""

    calls_tools: bool | None = None
    reads_results: bool | None = None
    quirks: dict[str, bool | str] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    is_cut: bool = False


def examine(facts: ProviderFacts, model: str, *, seconds: float = SECONDS) -> Examination:
    """Ask a provider all questions. Call it outside of asyncio, after a plain answer came."""
    return async_to_sync(_examine)(facts, model, seconds)


async def _examine(facts: ProviderFacts, model: str, seconds: float) -> Examination:
    plain = replace(facts, no_stream_options=False, no_parallel_calls=False)
    resources = RunResources(observers=[])
    examiner = _Examiner(resources, plain, model)
    is_cut = False
    try:
        async with asyncio.timeout(seconds):
            await examiner.ask_all()
    except TimeoutError:
        is_cut = True
    finally:
        await resources.close()
    return Examination(
        calls_tools=examiner.calls_tools,
        reads_results=examiner.reads_results,
        quirks=examiner.quirks,
        refusals=tuple(examiner.refusals),
        is_cut=is_cut,
    )


class _Examiner:
    """The questions to one model, one after the other."""

    def __init__(self, resources: RunResources, facts: ProviderFacts, model: str) -> None:
        self._client = resources.client(facts)
        self._model = model
        self.calls_tools: bool | None = None
        self.reads_results: bool | None = None
        self.quirks: dict[str, bool | str] = {}
        self.refusals: list[str] = []

    async def ask_all(self) -> None:
        """The questions, those that people need most first."""
        answer = await self._ask([_SYSTEM, _QUESTION])
        if answer is None:
            return
        self.calls_tools = bool(answer.tool_calls)
        await self._ask_about_results()
        await self._ask_about_system_messages()
        await self._ask_about_two_calls()
        if self._client.refuses_stream_options:
            self.quirks["no_stream_options"] = True

    async def _ask_about_results(self) -> None:
        """Does it take a result by hand, under any id?"""
        if await self._is_taken(_history([_LONG_ID])):
            self.reads_results = True
            return
        for pattern in ID_PATTERNS:
            if await self._is_taken(_history([_SHORT_IDS[pattern]]), is_told=False):
                self.reads_results = True
                self.quirks["tool_call_id_pattern"] = pattern
                self.refusals.pop()
                return
        self.reads_results = False

    async def _ask_about_system_messages(self) -> None:
        """Does it take a system message behind others?"""
        late = [_SYSTEM, {"role": "user", "content": "Hello."}, _SYSTEM, _QUESTION]
        if not await self._is_taken(late):
            joined = [_SYSTEM, {"role": "user", "content": "Hello."}]
            if await self._is_taken(joined, is_told=False):
                self.quirks["system_first_only"] = True
                self.refusals.pop()

    async def _ask_about_two_calls(self) -> None:
        """Does it take two calls in one answer?"""
        if not self.reads_results:
            return
        first = self._good_id()
        if not await self._is_taken(_history([first, f"{first[:-1]}2"])):
            self.quirks["no_parallel_calls"] = True
            self.refusals.pop()

    def _good_id(self) -> str:
        pattern = self.quirks.get("tool_call_id_pattern")
        return _SHORT_IDS[pattern] if isinstance(pattern, str) else _LONG_ID

    async def _is_taken(self, messages: Sequence[JsonObject], *, is_told: bool = True) -> bool:
        return await self._ask(messages, is_told=is_told) is not None

    async def _ask(
        self, messages: Sequence[JsonObject], *, is_told: bool = True
    ) -> ModelAnswer | None:
        """The answer; ``None`` for a refusal of the request, which is noted if ``is_told``. Other
        failures end the examination."""

        async def ignore(delta: ModelDelta) -> None:
            return None

        request = ModelRequest(model=self._model, messages=tuple(messages), tools=(TOOL,))
        try:
            return await self._client.answer(request, ignore)
        except ModelError as error:
            if is_told:
                self.refusals.append(error.message)
            if error.status is None or error.status not in (400, 422):
                raise _Ended from error
            return None


class _Ended(TimeoutError):
    """Raised where asking on makes no sense: no connection, no right, an overload."""


def _history(ids: Sequence[str]) -> list[JsonObject]:
    """A conversation in which the model has called the tool and got its results."""
    calls: list[JsonObject] = [
        {"id": id_, "type": "function", "function": {"name": "get_code", "arguments": "{}"}}
        for id_ in ids
    ]
    results: list[JsonObject] = [
        {"role": "tool", "tool_call_id": id_, "content": "4711"} for id_ in ids
    ]
    asked: JsonObject = {"role": "assistant", "content": None, "tool_calls": calls}  # type: ignore[dict-item]
    return [_SYSTEM, _QUESTION, asked, *results]
