"""What models and their columns are called in the reader's language.

Place in the house: ``agents.admin``. Set on the models' options when the admin is loaded: names in
``Meta`` would become migrations.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from agents.models import (
    Assistant,
    Conversation,
    GlobalPrompt,
    Message,
    Provider,
    Run,
    Server,
    Tool,
    ToolSample,
    TrustedName,
)

_MODELS: dict[type[models.Model], tuple[object, object]] = {
    Assistant: (_("assistant"), _("assistants")),
    Conversation: (_("conversation"), _("conversations")),
    GlobalPrompt: (_("global prompt"), _("global prompts")),
    Message: (_("message"), _("messages")),
    Provider: (_("provider"), _("providers")),
    Run: (_("run"), _("runs")),
    Server: (_("server"), _("servers")),
    Tool: (_("tool"), _("tools")),
    ToolSample: (_("sample"), _("samples")),
    TrustedName: (_("trusted name"), _("trusted names")),
}

_COLUMNS: dict[str, object] = {
    "added_at": _("added"),
    "answer": _("answer"),
    "api_key_env": _("key from variable"),
    "args": _("arguments"),
    "assistant": _("assistant"),
    "assistant_id": _("id"),
    "base_url": _("base URL"),
    "checked_at": _("checked"),
    "command": _("command"),
    "compaction_enabled": _("compaction"),
    "compaction_model": _("model that sums up"),
    "compaction_reserve_tokens": _("tokens kept free"),
    "compaction_trigger_ratio": _("share of the window that triggers it"),
    "configuration": _("configuration"),
    "content": _("text"),
    "context_window": _("context window"),
    "trace_days": _("days that traces are kept"),
    "conversation": _("conversation"),
    "created_at": _("created"),
    "cwd": _("working directory"),
    "default_model": _("default model"),
    "definition_hash": _("SHA-256 of the definition"),
    "description": _("description"),
    "disable_global_prompts": _("without the global prompts"),
    "error": _("error"),
    "fallback_assistant": _("fallback assistant"),
    "fallback_model": _("fallback model"),
    "fallback_provider": _("fallback provider"),
    "further_models": _("further models"),
    "finished_at": _("finished"),
    "first_seen": _("first seen"),
    "input": _("input"),
    "input_tokens": _("tokens in"),
    "is_pinned": _("pinned"),
    "is_system": _("comes with the application"),
    "kind": _("kind"),
    "last_seen": _("last seen"),
    "lease_owner": _("worker"),
    "lease_until": _("lease until"),
    "level": _("level"),
    "message": _("message"),
    "model": _("model"),
    "module": _("module"),
    "name": _("name"),
    "output": _("output"),
    "output_tokens": _("tokens out"),
    "parent_run": _("parent run"),
    "position": _("position"),
    "protocol": _("protocol"),
    "provider": _("provider"),
    "provider_id": _("id"),
    "role": _("role"),
    "server": _("server"),
    "server_id": _("id"),
    "source": _("source"),
    "started_at": _("started"),
    "status": _("status"),
    "stop_reason": _("stop reason"),
    "stop_requested": _("stop requested"),
    "title": _("title"),
    "tool": _("tool"),
    "tool_calls": _("tool calls"),
    "trace_id": _("trace"),
    "transport": _("transport"),
    "turns": _("turns"),
    "updated_at": _("updated"),
    "url": _("URL"),
    "user": _("user"),
    "value": _("value"),
    "vanished_at": _("vanished"),
}


def name_models() -> None:
    """Give the models and their columns these names."""
    for model, (one, many) in _MODELS.items():
        model._meta.verbose_name, model._meta.verbose_name_plural = one, many
        for column in model._meta.local_fields:
            if column.name in _COLUMNS:
                column.verbose_name = _COLUMNS[column.name]
