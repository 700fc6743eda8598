"""Assistants of a bundle, judged; references are judged in ``validation``.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

from agents.bundle.approval_rules import check_approval_form
from agents.bundle.entries import AssistantEntry, ServerChoice
from agents.bundle.provider_entries import read_id
from agents.bundle.reading import DOTTED_PATH, ObjectReader
from agents.bundle.report import child_pointer, describe, is_whole_number
from agents.bundle.server_choices import read_server_choices
from agents.bundle.tool_limits import read_tool_limits
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.prompt_variables import VARIABLES, unknown_variables
from agents.models import OnToolError
from agents.system_assistants import SYSTEM_PREFIX, default_prompts

DEFAULT_MAX_TURN = 5
MAX_MAX_TURN = 2_147_483_647
MAX_MAX_TOOLS = 10_000
"""Far more than any provider takes."""

HOOKS = ("create", "next", "before_tool_call", "after_tool_call")
GROUPS = ("groups", "trace_groups", "approver_groups")
PROMPT_ROLES = ("system", "user", "assistant")
LOOP_OWN_OPTIONS = ("model", "messages", "tools", "stream", "stream_options")


def read_assistant(reader: ObjectReader) -> AssistantEntry:
    """The entry of one item of ``assistants``; what is wrong with it goes into the report."""
    assistant_id = read_id(reader, "id")
    if assistant_id.startswith(SYSTEM_PREFIX):
        return _read_system_assistant(reader, assistant_id)
    fields: dict[str, object] = {
        "name": reader.text("name", max_length=200) or assistant_id,
        "description": reader.text("description"),
        "model": reader.text("model", max_length=200),
        "fallback_model": reader.text("fallback_model", max_length=200),
        "further_models": _read_further_models(reader),
        "starters": _read_starters(reader),
        "disable_global_prompts": reader.boolean("disable_global_prompts"),
        "prompts": read_prompts(reader, "prompts"),
        "prompt_presets": _read_presets(reader),
        "options": _read_options(reader),
        **_read_hooks(reader),
        **_read_limits(reader),
        "on_tool_error": reader.choice(
            "on_tool_error", OnToolError.values, default=OnToolError.RETURN_TO_MODEL
        ),
        "sandbox": reader.boolean("sandbox"),
        "approval": check_approval_form(reader),
        "tool_limits": read_tool_limits(reader),
        **_read_compaction(reader),
    }
    # Who may do what is this installation's own: what a bundle does not name stays as it is.
    groups = {name: _read_names(reader, name) for name in GROUPS if name in reader.value}
    reader.ignore(*GROUPS)
    servers, loop_fields = _read_mcp(reader)
    entry = AssistantEntry(
        assistant_id=assistant_id,
        fields={**fields, **loop_fields},
        provider=reader.text("provider", required=True),
        fallback_provider=reader.text("fallback_provider"),
        fallback_assistant=reader.text("fallback_assistant"),
        servers=servers,
        groups=groups,
    )
    reader.finish(dict.fromkeys(("tool_loop", "max_turn"), "belongs in mcp.options"))
    return entry


def _read_system_assistant(reader: ObjectReader, assistant_id: str) -> AssistantEntry:
    reader.ignore("provider", "model", "prompts")
    fields: dict[str, object] = {"model": reader.text("model", max_length=200)}
    fields["prompts"] = (
        read_prompts(reader, "prompts")
        if "prompts" in reader.value
        else default_prompts(assistant_id)
    )
    if not default_prompts(assistant_id):
        message = f"ids that begin with {SYSTEM_PREFIX} are the application's own"
        reader.report.fault(reader.at("id"), f"{message}, and there is no {assistant_id}")
    for key in reader.value:
        if key not in ("id", "provider", "model", "prompts"):
            reader.ignore(key)
            message = "only provider, model and prompts of a system assistant can be set"
            reader.report.fault(reader.at(key), message)
    return AssistantEntry(
        assistant_id=assistant_id,
        fields=fields,
        provider=reader.text("provider"),
        is_system=True,
    )


def _read_further_models(reader: ObjectReader) -> list[JsonObject]:
    """``[{"provider": id, "model": name}]``; without a model the provider's default is meant."""
    found: list[JsonObject] = []
    for item in reader.readers("further_models"):
        found.append(
            {
                "provider": item.text("provider", required=True),
                "model": item.text("model", max_length=200),
            }
        )
        item.finish()
    return found


def read_prompts(reader: ObjectReader, key: str) -> list[JsonObject]:
    """A list of prompts, each ``{"role", "content"}``."""
    return [_read_prompt(prompt) for prompt in reader.readers(key)]


def _read_prompt(reader: ObjectReader) -> JsonObject:
    prompt: JsonObject = {
        "role": reader.choice("role", PROMPT_ROLES),
        "content": reader.text("content", required=True),
    }
    if unknown := unknown_variables(str(prompt["content"])):
        reader.report.warn(
            reader.at("content"),
            f"{', '.join(unknown)} is no variable and stays as written; known are "
            f"{', '.join(VARIABLES)}",
        )
    reader.finish()
    return prompt


def _read_presets(reader: ObjectReader) -> JsonObject:
    presets = reader.reader("prompt_presets")
    for name in presets.value:
        if not name.strip():
            presets.report.fault(presets.at(name), "expected a preset's name, got an empty text")
    return {name: list(read_prompts(presets, name)) for name in presets.value}


def _read_starters(reader: ObjectReader) -> list[JsonValue]:
    starters: list[JsonValue] = []
    for number, starter in enumerate(reader.json_list("starters")):
        where = child_pointer(reader.at("starters"), number)
        is_object = isinstance(starter, dict)
        texts = list(starter.values()) if isinstance(starter, dict) else [starter]
        is_named = not isinstance(starter, dict) or bool({"title", "text"} & starter.keys())
        if texts and is_named and all(isinstance(text, str) and text.strip() for text in texts):
            starters.append(starter)
        else:
            expected = 'a text, or an object of texts with "title" or "text"'
            came = "an object that is not so" if is_object else describe(starter)
            reader.report.fault(where, f"expected {expected}, got {came}")
    return starters


def _read_names(reader: ObjectReader, key: str) -> tuple[str, ...]:
    """A list of names of groups, each once."""
    names: dict[str, None] = {}
    for number, name in enumerate(reader.json_list(key)):
        if isinstance(name, str) and name.strip():
            names[name] = None
        else:
            where = child_pointer(reader.at(key), number)
            reader.report.fault(where, f"expected the name of a group, got {describe(name)}")
    return tuple(names)


def _read_options(reader: ObjectReader) -> JsonObject:
    options = reader.json_object("options")
    for key in LOOP_OWN_OPTIONS:
        if key in options:
            message = "has no effect here: the loop itself sets this part of a request"
            reader.report.warn(child_pointer(reader.at("options"), key), message)
    return options


def _read_hooks(reader: ObjectReader) -> dict[str, object]:
    nested = reader.reader("hooks")
    fields: dict[str, object] = {}
    for hook in HOOKS:
        path = nested.text(hook, max_length=300)
        if path and (not DOTTED_PATH.fullmatch(path) or "." not in path):
            nested.fault(hook, "the dotted path of a function such as myproject.hooks.create")
        fields[f"{hook}_hook"] = path
    nested.finish()
    return fields


def _read_limits(reader: ObjectReader) -> dict[str, object]:
    nested = reader.reader("limits")
    fields: dict[str, object] = {
        "max_tools": nested.whole("max_tools", default=20, maximum=MAX_MAX_TOOLS),
        "tool_result_max_chars": nested.whole("tool_result_max_chars", default=8000, minimum=1),
        "turn_result_max_chars": nested.whole("turn_result_max_chars", default=32_000, minimum=1),
        "max_consecutive_errors": nested.whole("max_consecutive_errors", default=3, minimum=1),
        "repeat_limit": nested.whole("repeat_limit", default=3, minimum=1),
        "run_timeout_seconds": nested.seconds("run_timeout_seconds", default=600),
        "max_run_tokens": nested.optional_whole("max_run_tokens"),
        "tool_timeout_seconds": nested.seconds("tool_timeout_seconds", default=30),
        "tool_max_seconds": nested.seconds("tool_max_seconds", default=120),
        "parallel_calls": nested.whole("parallel_calls", default=8, minimum=1),
        "parameter_attempts": nested.whole("parameter_attempts", default=3, minimum=1),
    }
    nested.finish({"max_turn": "belongs in mcp.options"})
    return fields


def _read_compaction(reader: ObjectReader) -> dict[str, object]:
    nested = reader.reader("compaction")
    fields: dict[str, object] = {
        "compaction_enabled": nested.boolean("enabled", default=True),
        "compaction_trigger_ratio": nested.number(
            "trigger_ratio", default=0.85, above=0, at_most=1
        ),
        "compaction_reserve_tokens": nested.whole("reserve_tokens", default=8000),
        "compaction_model": nested.text("model"),
        "context_window": nested.optional_whole("context_window"),
    }
    nested.finish()
    return fields


def _read_mcp(reader: ObjectReader) -> tuple[tuple[ServerChoice, ...], dict[str, object]]:
    nested = reader.reader("mcp")
    choices = read_server_choices(nested)
    options = nested.reader("options")
    options.ignore("tool_loop", "max_turn")
    options.finish()
    nested.finish()
    loop_fields: dict[str, object] = {
        "tool_loop": options.value.get("tool_loop") is not False,
        "max_turn": usable_max_turn(options.value.get("max_turn", DEFAULT_MAX_TURN)),
    }
    return choices, loop_fields


def usable_max_turn(value: JsonValue) -> int:
    """A whole number from 1 on as it is (``7.0`` is 7); anything else is the default, 5."""
    if is_whole_number(value) and 1 <= value <= MAX_MAX_TURN:  # type: ignore[operator]
        return int(value)  # type: ignore[arg-type]
    return DEFAULT_MAX_TURN
