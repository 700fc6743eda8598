"""The admin pages, registered plainly."""

from __future__ import annotations

from django.contrib import admin

from agents.models import (
    Assistant,
    Conversation,
    GlobalPrompt,
    Provider,
    Run,
    Server,
    Tool,
    ToolSample,
    TrustedName,
)

admin.site.register(
    [Assistant, Conversation, GlobalPrompt, Provider, Run, Server, Tool, ToolSample, TrustedName]
)
