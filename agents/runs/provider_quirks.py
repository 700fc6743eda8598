"""What a provider can do with tools, and what it refuses, found by really asking.

Place in the house: ``agents.runs``, for the admin. Each question is a small streamed request; what
is refused in the way in which the product usually sends it is tried in another way, and offered as
a setting where that works. Nothing is set here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from agents.loop.errors import ModelError, ModelOverloaded, ModelRefused
from agents.loop.interfaces import ModelAnswer, ModelDelta, ModelRequest
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.plain_schemas import plain_tool
from agents.runs.model_choices import ProviderFacts
from agents.runs.provider_checks import shown
from agents.runs.resources import RunResources

ID_PATTERNS = ("^[a-zA-Z0-9_-]{1,40}$", "^[a-zA-Z0-9]{9}$")
"""Patterns of call ids that are known to be asked for, the mildest first."""

CALL_FIELDS: tuple[JsonObject, ...] = tuple(
    {"extra_content": {vendor: {"thought_signature": "skip_thought_signature_validator"}}}
    for vendor in ("google", "vertex")
)
"""Fields that are known to stand for those of calls that another model made."""

CODE = "4711"
_LONG_ID = "call_0123456789.abcdefghijklmnopqrstuvwxyz:0123456789"
_IDS = {ID_PATTERNS[0]: "call_0123456789", ID_PATTERNS[1]: "a1B2c3D4e"}
_SYSTEM: JsonObject = {"role": "system", "content": "You answer briefly."}
_QUESTION: JsonObject = {"role": "user", "content": "What is the code? Call the tool get_code."}
_TALK: tuple[JsonObject, ...] = (
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hello."},
)
TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "get_code",
        "description": "Returns the code.",
        "parameters": {"type": "object", "properties": {"which": {"type": "string"}}},
    },
}
RICH_TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "get_code",
        "description": "Returns the code.",
        "parameters": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "which": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "page": {"type": "integer", "exclusiveMinimum": 0},
                "kind": {"const": "plain"},
                "size": {"enum": [1, 2]},
                "site": {"type": ["string", "null"], "format": "uri"},
            },
        },
    },
}
"""The tool with what servers write into schemas and some providers refuse."""


@dataclass(slots=True, kw_only=True)
class Examination:
    """What came of it; ``None`` stands for what was not found out.

    ``answer`` is what the model made of the result of a call, ``uses_result`` whether the result
    is in it. ``sends_usage``: whether tokens were counted though nothing was refused. ``quirks``
    are values by the names of settings; ``refusals`` what was refused and has no setting, in the
    provider's words. ``stopped`` is one line on why asking ended early, with what to do.
    """

    calls_tools: bool | None = None
    reads_results: bool | None = None
    uses_result: bool = False
    answer: str = ""
    sends_usage: bool | None = None
    quirks: JsonObject = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    stopped: str = ""
    is_cut: bool = False


async def examine(facts: ProviderFacts, model: str, *, seconds: float) -> Examination:
    """Ask a provider all questions within these seconds, after a plain answer came."""
    resources = RunResources(observers=[])
    examiner = _Examiner(resources, facts, model)
    try:
        async with asyncio.timeout(seconds):
            await examiner.ask_all()
    except TimeoutError:
        examiner.found.is_cut = True
    except _Ended as ended:
        examiner.found.stopped = str(ended)
    finally:
        await resources.close()
    return examiner.found


class _Examiner:
    """The questions to one model, one after the other."""

    def __init__(self, resources: RunResources, facts: ProviderFacts, model: str) -> None:
        self._resources = resources
        self._facts = replace(facts, no_stream_options=False, no_parallel_calls=False)
        self._model = model
        self._refusal = ""
        self._call_fields: JsonObject = {}
        self.found = Examination()

    async def ask_all(self) -> None:
        """The questions, those that people need most first."""
        answer = await self._ask(_SYSTEM, _QUESTION) or await self._ask_without_stream_options()
        if answer is None:
            self.found.refusals.append(self._refusal)
            return
        self.found.calls_tools = bool(answer.tool_calls)
        self._note_usage(answer)
        await self._ask_about_results()
        await self._ask_about_system_messages()
        await self._ask_about_two_calls()
        await self._ask_about_schemas()

    async def _ask_without_stream_options(self) -> ModelAnswer | None:
        """Not every refusal names the field that it is about."""
        refusal = self._refusal
        self._facts = replace(self._facts, no_stream_options=True)
        answer = await self._ask(_SYSTEM, _QUESTION)
        if answer is None:
            self._refusal = refusal
        return answer

    def _note_usage(self, answer: ModelAnswer) -> None:
        client = self._resources.client(self._facts)
        if self._facts.no_stream_options or "stream_options" in client.refused_fields:
            self.found.quirks["no_stream_options"] = True
            return
        self.found.sends_usage = answer.usage is not None
        if answer.usage is None:
            # It costs nothing to leave away what is not heeded, and nobody waits for usage then.
            self.found.quirks["no_stream_options"] = True

    async def _ask_about_results(self) -> None:
        """Does it take a result made by hand, under any id?"""
        answer = await self._ask(*self._history(_LONG_ID))
        refusal = self._refusal
        for fields in CALL_FIELDS if answer is None else ():
            self._call_fields = fields
            answer = await self._ask(*self._history(_LONG_ID))
            if answer is not None:
                self.found.quirks["call_fields"] = fields
                break
            self._call_fields = {}
        for pattern in ID_PATTERNS if answer is None else ():
            answer = await self._ask(*self._history(_IDS[pattern]))
            if answer is not None:
                self.found.quirks["tool_call_id_pattern"] = pattern
                break
        self.found.reads_results = answer is not None
        if answer is None:
            self.found.refusals.append(refusal)
            return
        self.found.answer = shown(answer.text, self._facts)
        self.found.uses_result = CODE in answer.text

    async def _ask_about_system_messages(self) -> None:
        """Does it take a system message behind others, and is it that what it refuses?"""
        if await self._ask(_SYSTEM, *_TALK, _SYSTEM, _QUESTION):
            return
        refusal = self._refusal
        joined: JsonObject = {**_SYSTEM, "content": "You answer briefly.\n\nYou answer briefly."}
        if await self._ask(joined, *_TALK, _QUESTION):
            self.found.quirks["system_first_only"] = True
        else:
            self.found.refusals.append(refusal)

    async def _ask_about_two_calls(self) -> None:
        """Does it take two calls in one answer? If not: may it be told to make one?"""
        if not self.found.reads_results:
            return
        pattern = self.found.quirks.get("tool_call_id_pattern")
        first = _IDS[pattern] if isinstance(pattern, str) else _LONG_ID
        if await self._ask(*self._history(first, f"{first[:-1]}2")):
            return
        refusal = self._refusal
        self._facts = replace(self._facts, no_parallel_calls=True)
        if await self._ask(_SYSTEM, _QUESTION):
            self.found.quirks["no_parallel_calls"] = True
        else:
            self.found.refusals.append(refusal)

    async def _ask_about_schemas(self) -> None:
        """Does it take what tools' schemas are made of? If not: the plain ones?"""
        if await self._ask(_SYSTEM, _QUESTION, tool=RICH_TOOL):
            return
        refusal = self._refusal
        if await self._ask(_SYSTEM, _QUESTION, tool=plain_tool(RICH_TOOL)):
            self.found.quirks["plain_schemas"] = True
        else:
            self.found.refusals.append(refusal)

    def _history(self, *ids: str) -> tuple[JsonObject, ...]:
        """A conversation in which the model has called the tool and got its results."""
        function: JsonObject = {"name": "get_code", "arguments": "{}"}
        calls: list[JsonValue] = [
            {**(self._call_fields if n == 0 else {}), "id": id_, "type": "function",
             "function": function}
            for n, id_ in enumerate(ids)
        ]  # fmt: skip
        asked: JsonObject = {"role": "assistant", "content": None, "tool_calls": calls}
        results: list[JsonObject] = [
            {"role": "tool", "tool_call_id": id_, "content": CODE} for id_ in ids
        ]
        return (_SYSTEM, _QUESTION, asked, *results)

    async def _ask(self, *messages: JsonObject, tool: JsonObject = TOOL) -> ModelAnswer | None:
        """The answer; ``None`` where the request was refused. Other failures raise ``_Ended``."""

        async def ignore(delta: ModelDelta) -> None:
            return None

        request = ModelRequest(model=self._model, messages=messages, tools=(tool,))
        try:
            return await self._resources.client(self._facts).answer(request, ignore)
        except ModelError as error:
            if not _is_refusal(error):
                raise _Ended(f"{error.message} {error.hint}".strip()) from error
            self._refusal = error.message
            return None


class _Ended(Exception):
    """Raised where asking on makes no sense: no connection, no right, too many requests."""


def _is_refusal(error: ModelError) -> bool:
    """Whether it is about this request. Templates of local models fail with a 500, or in the
    stream, which has no status of its own."""
    if isinstance(error, ModelRefused):
        return True
    is_own_fault = error.status is None or error.status >= 500
    return isinstance(error, ModelOverloaded) and is_own_fault
