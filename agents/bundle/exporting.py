"""The database's configuration as a bundle, without secrets.

Place in the house: ``agents.bundle``. Importing an export gives the same configuration again, but
for the literal secrets: each became an ``$ENV`` name, told in a note.
"""

from __future__ import annotations

import json

import yaml

from agents.bundle.assistant_entries import GROUPS
from agents.bundle.masking import SecretMask
from agents.bundle.server_entries import FIELDS_OF_TRANSPORT
from agents.bundle.validation import VERSION
from agents.loop.messages import JsonObject
from agents.models import Assistant, GlobalPrompt, Provider, Server
from agents.system_assistants import default_prompts

_PROVIDER_FIELDS = (
    "base_url", "api_key_env", "default_model", "fallback_model", "vision", "prices", "timeout_ms",
    "max_retries", "system_first_only", "no_stream_options", "no_parallel_calls", "call_fields",
    "plain_schemas",
)  # fmt: skip
_SERVER_FIELDS = ("tool_timeout_seconds", "tool_max_seconds", "parallel_calls", "review")
_ASSISTANT_FIELDS = (
    "starters", "disable_global_prompts", "prompts", "prompt_presets", "options", "on_tool_error",
    "sandbox", "approval", "tool_limits",
)  # fmt: skip
_LIMITS = (
    "max_tools", "tool_result_max_chars", "turn_result_max_chars", "max_consecutive_errors",
    "repeat_limit", "run_timeout_seconds", "max_run_tokens", "tool_timeout_seconds",
    "tool_max_seconds", "parallel_calls", "parameter_attempts",
)  # fmt: skip


def export_bundle() -> tuple[JsonObject, list[str]]:
    """The whole configuration as a bundle, and a note for each secret that was left out."""
    mask = SecretMask()
    assistants = Assistant.objects.order_by("assistant_id").select_related(
        "provider", "fallback_provider", "fallback_assistant"
    )
    bundle: JsonObject = {
        "version": VERSION,
        "providers": [_provider(row, mask) for row in Provider.objects.order_by("provider_id")],
        "servers": [_server(row, mask) for row in Server.objects.order_by("server_id")],
        "assistants": [
            assistant_entry(row) for row in assistants if not row.is_system or _is_changed(row)
        ],
        "global_prompts": [
            {"role": row.role, "content": row.content}
            for row in GlobalPrompt.objects.order_by("position")
        ],
    }
    return bundle, mask.notes


def bundle_text(bundle: JsonObject, *, as_yaml: bool = False) -> str:
    """A bundle as the text of a file."""
    if as_yaml:
        return yaml.safe_dump(bundle, allow_unicode=True, sort_keys=False)
    return json.dumps(bundle, ensure_ascii=False, indent=2) + "\n"


def _provider(row: Provider, mask: SecretMask) -> JsonObject:
    if row.api_key and not row.api_key_env:
        mask.note(f"provider {row.provider_id}: its stored key is left out; name a variable in "
                  "api_key_env")  # fmt: skip
    fields = {name: getattr(row, name) for name in _PROVIDER_FIELDS}
    fields["base_url"] = mask.without_userinfo(row.provider_id, row.base_url)
    pattern = row.tool_call_id_pattern or None
    return {"id": row.provider_id, **fields, "tool_call_id_pattern": pattern}


def _server(row: Server, mask: SecretMask) -> JsonObject:
    owner = row.server_id
    values: JsonObject = {
        "command": row.command,
        "args": mask.arguments(owner, row.args),
        "env": mask.values(owner, row.env),
        "cwd": row.cwd or None,
        "url": mask.url(owner, row.url),
        "headers": mask.values(owner, row.headers),
        "module": row.module,
    }
    samples: dict[str, list[JsonObject]] = {}
    for sample in row.samples.order_by("id"):
        samples.setdefault(sample.tool, []).append(
            {
                "name": sample.name,
                "description": sample.description,
                "input": sample.input,
                "output": sample.output,
            }
        )
    return {
        "server_id": owner,
        "transport": row.transport,
        **{name: values[name] for name in FIELDS_OF_TRANSPORT[row.transport]},
        **{name: getattr(row, name) for name in _SERVER_FIELDS},
        "samples": samples,
    }


def assistant_entry(row: Assistant) -> JsonObject:
    """An assistant as an item of a bundle's ``assistants``."""
    return _system_assistant(row) if row.is_system else _assistant(row)


def _assistant(row: Assistant) -> JsonObject:
    links = row.server_links.order_by("position").select_related("server")
    return {
        "id": row.assistant_id,
        "name": row.name,
        "description": row.description,
        "provider": row.provider.provider_id if row.provider else None,
        "model": row.model,
        "fallback_model": row.fallback_model,
        "fallback_provider": (row.fallback_provider and row.fallback_provider.provider_id) or None,
        "further_models": row.further_models,
        "fallback_assistant": (
            (row.fallback_assistant and row.fallback_assistant.assistant_id) or None
        ),
        **{name: getattr(row, name) for name in _ASSISTANT_FIELDS},
        "mcp": {
            "servers": [
                link.server.server_id
                if link.allowed_tools is None
                else {"server_id": link.server.server_id, "tools": link.allowed_tools}
                for link in links
            ],
            "options": {"tool_loop": row.tool_loop, "max_turn": row.max_turn},
        },
        **{
            name: list(getattr(row, name).order_by("name").values_list("name", flat=True))
            for name in GROUPS
        },
        "hooks": {
            "create": row.create_hook or None,
            "next": row.next_hook or None,
            "before_tool_call": row.before_tool_call_hook or None,
            "after_tool_call": row.after_tool_call_hook or None,
        },
        "limits": {name: getattr(row, name) for name in _LIMITS},
        "compaction": {
            "enabled": row.compaction_enabled,
            "trigger_ratio": row.compaction_trigger_ratio,
            "reserve_tokens": row.compaction_reserve_tokens,
            "model": row.compaction_model or None,
            "context_window": row.context_window,
        },
    }


def _system_assistant(row: Assistant) -> JsonObject:
    return {
        "id": row.assistant_id,
        "provider": row.provider.provider_id if row.provider else None,
        "model": row.model,
        "prompts": row.prompts,
    }


def _is_changed(row: Assistant) -> bool:
    """Whether an operator has set anything on a system assistant."""
    return bool(row.provider or row.model or row.prompts != default_prompts(row.assistant_id))
