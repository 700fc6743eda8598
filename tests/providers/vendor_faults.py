"""What Anthropic and Gemini refuse in a request that OpenAI would take, in their own words.

Written after the errors that people report; the README beside ``recorded`` says where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from tests.fake_provider import Step, error

Json: TypeAlias = dict[str, Any]

SIGNATURE_MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for "
    "tools to work correctly, and missing thought_signature may lead to degraded model "
    "performance. Additional data, function call `default_api:{name}` , position {position}."
)
GEMINI_KEYWORDS = frozenset(
    {
        "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems",
        "properties", "required", "minProperties", "maxProperties", "minLength", "maxLength",
        "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum",
    }
)  # fmt: skip


def refusal_of(vendor: str, body: Json) -> Step | None:
    """The vendor's error for a request, or ``None``; a gateway is as strict as who is behind it."""
    judge, shape = VENDORS.get(vendor, (lambda body: "", gemini_error))
    fault = judge(body)
    return error(400, shape(fault)) if fault else None


def anthropic_error(fault: str) -> Any:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": fault}}


def gemini_error(fault: str) -> Any:
    return [{"error": {"code": 400, "message": fault, "status": "INVALID_ARGUMENT"}}]


def litellm_error(fault: str) -> Any:
    quoted = str(anthropic_error(fault)).replace("'", '"')
    message = f"litellm.BadRequestError: AnthropicException - {quoted}. Received Model Group=m1"
    return {"error": {"message": message, "type": None, "param": None, "code": "400"}}


def anthropic_fault(body: Json) -> str:
    messages = body["messages"]
    for position, message in enumerate(messages):
        for text in texts_of(message):
            if not text:
                return "messages: text content blocks must be non-empty"
            if not text.strip():
                return "messages: text content blocks must contain non-whitespace text"
        for block in message.get("thinking_blocks") or ():
            if block["type"] == "thinking" and not block.get("signature"):
                return f"messages.{position}.content.0.thinking.signature: Field required"
    if not body.get("tools") and any(m.get("tool_calls") for m in messages):
        return "Requests which include `tool_use` or `tool_result` blocks must define tools"
    if messages[-1]["role"] == "assistant":
        return (
            "This model does not support assistant message prefill. The conversation must end with "
            "a user message."
        )
    return ""


def texts_of(message: Json) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if part["type"] == "text":
            yield part["text"]


def gemini_fault(body: Json) -> str:
    for number, tool in enumerate(body.get("tools") or ()):
        schema = tool["function"].get("parameters")
        where = f"tools[0].function_declarations[{number}].parameters"
        if schema is not None and (fault := schema_fault(schema, where)):
            return fault
    messages = body["messages"]
    last = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=0)
    for position, message in enumerate(messages[last:], last):
        for call in (message.get("tool_calls") or ())[:1]:
            signed = (call.get("extra_content") or {}).get("google") or {}
            if not signed.get("thought_signature"):
                name = call["function"]["name"]
                return SIGNATURE_MISSING.format(name=name, position=position + 1)
    return ""


def schema_fault(schema: Json, where: str) -> str:
    for keyword in schema:
        if keyword not in GEMINI_KEYWORDS:
            return (
                f"Invalid JSON payload received. Unknown name \"{keyword}\" at '{where}': "
                "Cannot find field."
            )
    at = f"GenerateContentRequest.{where}"
    if "anyOf" in schema and len(schema) > 1:
        return (
            f"Unable to submit request because `{where}` schema specified other fields alongside "
            "any_of. When using any_of, it must be the only field set."
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        return f"Invalid value at '{where}.type': Proto field is not repeating, cannot start list."
    if "enum" in schema and kind != "string":
        return f"* {at}.enum: only allowed for STRING type"
    if "" in schema.get("enum", ()):
        return f"* {at}.enum[0]: cannot be empty"
    if kind == "string" and schema.get("format", "enum") not in ("enum", "date-time"):
        return f"* {at}.format: only 'enum' and 'date-time' are supported for STRING type"
    if kind == "array" and not schema.get("items"):
        return f"* {at}.items: missing field."
    if schema.get("properties") == {}:
        return f"* {at}.properties: should be non-empty for OBJECT type"
    for number, name in enumerate(schema.get("required", ())):
        if name not in schema.get("properties", {}):
            return f"* {at}.required[{number}]: property is not defined"
    inner = [(item, f"{where}.properties[{name}]") for name, item in
             schema.get("properties", {}).items()]  # fmt: skip
    inner += [(item, f"{where}.any_of[{n}]") for n, item in enumerate(schema.get("anyOf", ()))]
    inner += [(schema["items"], f"{where}.items")] if "items" in schema else []
    return next(filter(None, (schema_fault(item, place) for item, place in inner)), "")


VENDORS: dict[str, tuple[Callable[[Json], str], Callable[[str], Any]]] = {
    "anthropic": (anthropic_fault, anthropic_error),
    "gemini": (gemini_fault, gemini_error),
    "litellm": (anthropic_fault, litellm_error),
}
