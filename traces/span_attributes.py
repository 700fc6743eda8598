"""What each kind of span holds, by the names of ``traces.attributes``.

Place in the house: ``traces``. Pure. Large values are wrapped as ``Payload`` and never copied here.
"""

from __future__ import annotations

from agents.loop import events
from traces.records import Payload, SpanRecord

Attributes = dict[str, object]

MAX_LISTED = 200
"""Entries kept in an attribute that is a list of what happened."""


def append(span: SpanRecord, name: str, value: object) -> None:
    """Add to an attribute that is a list; copies taken before stay as they are."""
    listed = span.attributes.get(name)
    kept = listed if isinstance(listed, list) else []
    if len(kept) < MAX_LISTED:
        span.attributes[name] = [*kept, value]


def run_start(event: events.RunStarted) -> Attributes:
    """Of the agent span when it opens."""
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": event.assistant,
        "gen_ai.agent.name": event.assistant_name,
        "gen_ai.conversation.id": event.conversation,
        "toolloop.run": event.run,
        "toolloop.user": event.user,
        "toolloop.message": Payload(value=event.message),
        "toolloop.limits": event.limits,
    }


def takeover(event: events.RunResumed | None) -> Attributes:
    """Of the agent span of a run that another process had begun."""
    if event is None:
        return {}
    return {"toolloop.takeover": event.takeover, "toolloop.resumed_at": str(event.turn)}


def run_end(event: events.RunFinished) -> Attributes:
    """Of the agent span when it closes."""
    attributes: Attributes = {
        "toolloop.status": event.status,
        "toolloop.stop_reason": event.stop_reason,
        "toolloop.level": event.level,
        "toolloop.turns": event.turns,
        "toolloop.tool_calls": event.tool_calls,
        "gen_ai.usage.input_tokens": event.input_tokens,
        "gen_ai.usage.output_tokens": event.output_tokens,
        "toolloop.answer": Payload(value=event.answer),
    }
    texts = {"toolloop.error": event.error, "toolloop.error.detail": event.detail}
    return {**attributes, **_present(texts)}


def turn_end(event: events.TurnFinished) -> Attributes:
    """Of a turn: how it went on and why."""
    return {
        "toolloop.turn.decision": event.decision,
        "toolloop.turn.reason": event.reason,
        "toolloop.calls": event.calls,
        "toolloop.failed_calls": event.failed_calls,
    }


def request(event: events.ModelRequestStarted, history_notes: list[str]) -> Attributes:
    """Of a model request when it goes out."""
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": event.provider,
        "gen_ai.request.model": event.model,
        "gen_ai.input.messages": tuple(Payload(value=item) for item in event.messages),
        "gen_ai.tool.definitions": tuple(Payload(value=item) for item in event.tools),
        "toolloop.tools": list(event.tool_names),
        "toolloop.attempt": event.attempt,
        "toolloop.try": event.try_number,
        "toolloop.options": event.options,
    }
    lists = {
        "toolloop.history.notes": list(history_notes),
        "toolloop.passed_over": list(event.passed_over),
    }
    return {**attributes, **_present(lists)}


def answer(event: events.ModelAnswered, start_ns: int) -> Attributes:
    """Of a model request that was answered."""
    said, usage = event.answer, event.answer.usage
    attributes: Attributes = {
        "gen_ai.response.model": said.model or event.model,
        "gen_ai.response.id": said.response_id,
        "gen_ai.response.finish_reasons": [said.finish_reason] if said.finish_reason else [],
        "gen_ai.output.messages": (Payload(value=message_value(event.message)),),
        "toolloop.is_final": event.is_final,
        "toolloop.answer.calls": len(said.tool_calls),
        **_exchange(event.exchange),
        **_present({"toolloop.price": event.price or None}),
    }
    if said.first_chunk_ns:
        seconds = max(said.first_chunk_ns - start_ns, 0) / 1e9
        attributes["gen_ai.response.time_to_first_chunk"] = seconds
    if usage is not None:
        attributes |= {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "toolloop.usage.is_estimated": usage.is_estimated,
        }
    return attributes


def message_value(message: events.Message) -> dict[str, object]:
    """An assistant message in the shape of chat completions, ids as the provider sent them."""
    content = message.content
    value: dict[str, object] = {
        "role": str(message.role),
        "content": list(content) if isinstance(content, tuple) else content,
    }
    if message.tool_calls:
        value["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
                **call.extra,
            }
            for call in message.tool_calls
        ]
    return {**value, **message.extra}


def model_failure(event: events.ModelFailed) -> Attributes:
    """Of a model request that failed."""
    return {
        "error.type": event.kind,
        "toolloop.error": event.error,
        **_exchange(event.exchange),
        **_present(
            {
                "toolloop.error.status": event.status,
                "toolloop.error.detail": event.detail,
                "toolloop.error.hint": event.hint,
                "toolloop.error.partial": event.partial,
            }
        ),
    }


def model_cancel(event: events.ModelCancelled) -> Attributes:
    """Of a model request that was broken off."""
    return {"toolloop.error.partial": event.partial, **_exchange(event.exchange)}


def _exchange(report: events.JsonObject) -> Attributes:
    return {"toolloop.exchange": Payload(value=report)} if report else {}


def provider_retry(event: events.ProviderRetry) -> Attributes:
    """Of a failed model request after which the provider, or the next model, is asked again."""
    return {
        "toolloop.retry.error": event.error,
        "toolloop.retry.delay_ms": event.delay_ms,
        "toolloop.retry.next_provider": event.provider,
        "toolloop.retry.next_model": event.model,
        "toolloop.retry.is_failover": event.is_failover,
    }


def retry(event: events.ParameterRetry) -> Attributes:
    """Of a parameter retry."""
    return {
        "toolloop.attempt": event.attempt,
        "toolloop.calls": list(event.calls),
        "toolloop.errors": list(event.errors),
        "toolloop.notice": Payload(value=event.notice),
    }


def call(tool_call: events.ToolCall, server: str, tool: str) -> Attributes:
    """Of a tool call: which one it is."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool or tool_call.name,
        "gen_ai.tool.call.id": tool_call.id,
        "toolloop.call.key": tool_call.key,
        "toolloop.call.name": tool_call.name,
        "toolloop.server": server,
    }


def call_start(event: events.ToolCallStarted | events.ToolCallWaiting) -> Attributes:
    """Of a tool call when work on it begins, or a person is asked."""
    raw = event.call.arguments
    attributes: Attributes = {
        **call_id(event),
        "toolloop.attempt": event.attempt,
        "gen_ai.tool.call.arguments": Payload(value=event.arguments),
    }
    if raw != event.arguments:
        attributes["toolloop.call.raw_arguments"] = Payload(value=raw)
    if isinstance(event, events.ToolCallWaiting):
        attributes["toolloop.approval.asked_ns"] = event.at_ns
    return attributes


def call_id(event: events.Event) -> Attributes:
    """The id on the wire, and the provider's own where it was unfit."""
    on_wire = getattr(event, "call_id", "")
    given: events.ToolCall = (event.result if hasattr(event, "result") else event).call
    if not on_wire or on_wire == given.id:
        return {"gen_ai.tool.call.id": given.id}
    return {"gen_ai.tool.call.id": on_wire, "toolloop.call.given_id": given.id}


def decision(event: events.ToolCallDecided, since_ns: int) -> Attributes:
    """Of a tool call on which somebody decided."""
    return {
        "toolloop.approval.allowed": event.is_allowed,
        "toolloop.approval.reason": event.reason,
        "toolloop.approval.by": event.by,
        "toolloop.approval.wait_ms": max(event.at_ns - since_ns, 0) / 1e6,
    }


def result(value: events.ToolResult) -> Attributes:
    """Of a tool call when it has its result; the text is kept whole."""
    text = value.full_text or value.text
    attributes: Attributes = {
        "toolloop.outcome": str(value.outcome),
        "toolloop.correctable": value.is_correctable,
        "toolloop.truncated": value.is_truncated,
        "toolloop.kept": value.is_kept,
        "toolloop.chars": len(text),
        "toolloop.seen_chars": len(value.text),
        "toolloop.duration_ms": value.duration_ms,
        "gen_ai.tool.call.result": Payload(value=text),
    }
    if value.arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = Payload(value=value.arguments)
    if value.text != text:
        attributes["toolloop.result.text"] = Payload(value=value.text)
    if value.structured is not None:
        attributes["toolloop.structured"] = Payload(value=value.structured)
    if value.is_failure:
        attributes["error.type"] = str(value.outcome)
    parts = [
        {"kind": str(part.kind), "type": part.mime_type, "bytes": len(part.data) * 3 // 4}
        for part in value.parts
        if str(part.kind) != "text"
    ]
    return {
        **attributes,
        **_present({"toolloop.error": value.error, "toolloop.result.parts": parts}),
    }


def observed(tool_call: events.ToolCall) -> Attributes:
    """Of a call that the provider ran by itself."""
    return {
        "toolloop.run_by_provider": True,
        "gen_ai.tool.call.arguments": Payload(value=tool_call.arguments),
    }


def catalog(event: events.CatalogBuilt) -> Attributes:
    """Of the policy span: the whole report."""
    return {"toolloop.catalog": Payload(value=event.report)}


def limit(event: events.LimitReached) -> Attributes:
    """One entry of ``toolloop.limits_reached``."""
    return {"option": event.option, "detail": event.detail}


def note(event: events.NoteLogged) -> Attributes:
    """One entry of ``toolloop.notes``."""
    return {"level": event.level, "text": event.text, "fields": event.fields, "at_ns": event.at_ns}


def hook_start(event: events.HookStarted) -> Attributes:
    """Of a hook when it is called."""
    return {"toolloop.hook": event.hook, "toolloop.hook.path": event.path}


def hook_end(event: events.HookFinished) -> Attributes:
    """Of a hook when it returned or raised."""
    texts = {"toolloop.error": event.error, "toolloop.hook.traceback": event.traceback}
    return {"toolloop.hook.returned": list(event.returned), **_present(texts)}


def fallback(event: events.FallbackStarted) -> Attributes:
    """Of a fallback."""
    return {
        "toolloop.fallback.level": event.level,
        "toolloop.stop_reason": event.reason,
        **_present({"toolloop.fallback.assistant": event.assistant, "toolloop.error": event.error}),
    }


def compaction_start(event: events.CompactionStarted) -> Attributes:
    """Of a compaction that begins."""
    return {
        "toolloop.compaction.reason": event.reason,
        "toolloop.compaction.folded": event.messages,
        "toolloop.compaction.tokens_before": event.tokens,
        **_present({"toolloop.compaction.window": event.window}),
    }


def compaction_end(event: events.Compacted) -> Attributes:
    """Of a compaction that has ended, well or not."""
    return {
        "toolloop.compaction.messages_before": event.messages_before,
        "toolloop.compaction.messages_after": event.messages_after,
        "toolloop.compaction.tokens_after": event.tokens_after,
        **_present({"toolloop.error": event.error}),
        **({"toolloop.compaction.summary": Payload(value=event.summary)} if event.summary else {}),
    }


def _present(attributes: Attributes) -> Attributes:
    """Only what is not empty."""
    return {name: value for name, value in attributes.items() if value not in (None, "", [], ())}
