"""What a hook gets and may return. Events tell, hooks decide.

Place in the house: ``agents.loop``. Hooks are callables of the operator, async or sync (a sync one
runs in a thread). What they return is checked here, key by key; a hook that raises fails the run
visibly.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.loop.errors import HookError
from agents.loop.messages import JsonObject, JsonValue, Message, message_from_dict
from agents.loop.threads import run_in_thread


class HookNotes(Protocol):
    """Where it is told that hooks are called: the run."""

    async def note_hook_started(self, name: str, path: str) -> None:
        """A hook is called."""
        ...

    async def note_hook_finished(
        self, name: str, path: str, *, returned: JsonValue = None, error: str = "", trace: str = ""
    ) -> None:
        """A hook returned or raised."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A callable and the dotted path it was configured by."""

    path: str
    function: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The four hooks of an assistant; ``None`` where it has none."""

    create: Hook | None = None
    before_tool_call: Hook | None = None
    after_tool_call: Hook | None = None
    next: Hook | None = None


Log = Callable[..., None]


@dataclass(slots=True, kw_only=True)
class HookContext:
    """What every hook gets first.

    ``log(text, level="info", **fields)`` writes into the trace. ``tools`` are the flat names
    offered; ``await call_tool(name, arguments)`` runs one through the same policy and returns
    ``{"outcome", "text", "structured"}`` (``call_tool_sync`` from a sync hook). ``metadata`` may be
    changed and is seen by the later hooks of the run.
    """

    assistant: str
    user: str
    conversation: str
    run: str
    metadata: JsonObject
    log: Log
    tools: tuple[str, ...] = ()
    call_tool: Callable[[str, JsonObject], Awaitable[JsonObject]]
    call_tool_sync: Callable[[str, JsonObject], JsonObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """A hook's wish that another assistant answers; ``messages`` replace the conversation if
    given.
    """

    assistant: str
    messages: tuple[Message, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDecision:
    """What a create hook wants; ``None`` fields change nothing."""

    messages: tuple[Message, ...] | None = None
    options: JsonObject = field(default_factory=dict)
    model: str | None = None
    provider: str | None = None
    mcp_servers: tuple[JsonValue, ...] | None = None
    prompt_preset: str | None = None
    disable_global_prompts: bool | None = None
    metadata: JsonObject = field(default_factory=dict)
    delegation: Delegation | None = None


async def call_hook(run: HookNotes, name: str, hook: Hook, *arguments: object) -> JsonValue:
    """What the hook returned. Raises ``HookError`` with the hook's traceback when it raised."""
    await run.note_hook_started(name, hook.path)
    try:
        if inspect.iscoroutinefunction(hook.function):
            returned = await hook.function(*arguments)
        else:
            returned = await run_in_thread(lambda: hook.function(*arguments))
            if inspect.isawaitable(returned):
                returned = await returned
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise await _raised(run, name, hook, error) from error  # its own, nobody stopped the run
    except (Exception, SystemExit) as error:  # foreign code: its faults become clear failures
        raise await _raised(run, name, hook, error) from error
    await run.note_hook_finished(name, hook.path, returned=returned)
    return returned  # type: ignore[no-any-return]


async def _raised(run: HookNotes, name: str, hook: Hook, error: BaseException) -> HookError:
    """The failure that a hook's exception becomes, told to the sinks."""
    text = "".join(traceback.format_exception(error))
    what = f"The {name} hook {hook.path} raised {type(error).__name__}: {error}"
    await run.note_hook_finished(name, hook.path, error=what, trace=text)
    return HookError(what, traceback=text)


def read_create(returned: JsonValue, path: str) -> CreateDecision:
    """The create hook's answer, checked. Raises ``HookError``."""
    value = _object(returned, "create", path)
    _known_keys(value, "create", path, _CREATE_KEYS)
    servers = value.get("mcp_servers")
    if servers is not None and not isinstance(servers, list | tuple):
        raise _wrong("create", path, "mcp_servers", "a list", servers)
    return CreateDecision(
        messages=_messages(value.get("messages"), "create", path),
        options=_options(value.get("options") or {}, path),
        model=_text(value, "model", path),
        provider=_text(value, "provider", path),
        mcp_servers=tuple(servers) if servers is not None else None,
        prompt_preset=_text(value, "prompt_preset", path),
        disable_global_prompts=_flag(value, "disable_global_prompts", path),
        metadata=_object(value.get("metadata") or {}, "create", path),
        delegation=_delegation(value.get("delegate"), "create", path),
    )


def read_next(returned: JsonValue, path: str) -> Delegation | tuple[JsonValue]:
    """The next hook's answer: a delegation, or the data that becomes the answer in a tuple."""
    value = _object(returned, "next", path)
    _known_keys(value, "next", path, {"delegate", "data"})
    delegation = _delegation(value.get("delegate"), "next", path)
    if delegation is not None:
        return delegation
    if "data" not in value:
        raise HookError(
            f"The next hook {path} must return None, {{'delegate': ...}} or {{'data': ...}}, "
            f"got {returned!r:.80}"
        )
    return (_as_json(value["data"], "next", path),)


def read_tool_call_hook(returned: JsonValue, name: str, path: str, allowed: set[str]) -> JsonObject:
    """The answer of a hook around a tool call: one of the allowed keys, or nothing."""
    value = _object(returned, name, path)
    _known_keys(value, name, path, allowed)
    return value


_CREATE_KEYS = {
    "messages",
    "options",
    "model",
    "provider",
    "mcp_servers",
    "prompt_preset",
    "disable_global_prompts",
    "metadata",
    "delegate",
}


def _wrong(name: str, path: str, key: str, expected: str, got: object) -> HookError:
    return HookError(f"The {name} hook {path} must return {key} as {expected}, got {got!r:.80}")


def _object(value: JsonValue, name: str, path: str) -> JsonObject:
    if isinstance(value, Mapping):
        return dict(value)
    raise HookError(f"The {name} hook {path} must return None or a dict, got {value!r:.80}")


def _options(value: JsonValue, path: str) -> JsonObject:
    options = _object(value, "create", path)
    _as_json(options, "create", path)
    return options


def _as_json(value: JsonValue, name: str, path: str) -> JsonValue:
    """The value itself, if it can be written as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise HookError(f"The {name} hook {path} returned what is no JSON: {error}") from error
    return value


def _known_keys(value: JsonObject, name: str, path: str, known: set[str]) -> None:
    unknown = sorted(str(key) for key in value if key not in known)
    if unknown:
        raise HookError(
            f"The {name} hook {path} returned the unknown keys {', '.join(unknown)}; "
            f"it may return {', '.join(sorted(known))}"
        )


def _text(value: JsonObject, key: str, path: str) -> str | None:
    text = value.get(key)
    if text is not None and not isinstance(text, str):
        raise _wrong("create", path, key, "text", text)
    return text or None


def _flag(value: JsonObject, key: str, path: str) -> bool | None:
    flag = value.get(key)
    if flag is not None and not isinstance(flag, bool):
        raise _wrong("create", path, key, "true or false", flag)
    return flag


def _messages(value: JsonValue, name: str, path: str) -> tuple[Message, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise _wrong(name, path, "messages", "a list", value)
    try:
        return tuple(message_from_dict(item) for item in value)  # type: ignore[arg-type]
    except ValueError as error:
        raise HookError(f"The {name} hook {path} returned a bad message: {error}") from error


def _delegation(value: JsonValue, name: str, path: str) -> Delegation | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not isinstance(value.get("assistant"), str):
        raise _wrong(name, path, "delegate", '{"assistant": id, "messages": [...]}', value)
    _known_keys(dict(value), name, path, {"assistant", "messages"})
    return Delegation(
        assistant=str(value["assistant"]),
        messages=_messages(value.get("messages"), name, path),
    )
