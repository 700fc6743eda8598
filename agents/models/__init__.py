"""What is stored about assistants and their conversations.

Place in the house: ``agents``. What a person may read comes from ``agents.access``.
"""

from __future__ import annotations

from agents.models.audit import AuditEntry, AuditKind
from agents.models.configuration import (
    SERVER_ID_MESSAGE,
    SERVER_ID_PATTERN,
    Assistant,
    AssistantServer,
    AssistantVersion,
    GlobalPrompt,
    OnToolError,
    Provider,
    Review,
    Server,
    Transport,
    TrustedName,
    TrustedNameKind,
)
from agents.models.conversations import (
    FINAL_STATUSES,
    Attachment,
    Conversation,
    Message,
    MessageRole,
    Question,
    Run,
    RunStatus,
    Worker,
    new_id,
)
from agents.models.notes import Note, NotePiece
from agents.models.tools import ServerHealth, Tool, ToolDefinition, ToolSample

__all__ = [
    "FINAL_STATUSES",
    "SERVER_ID_MESSAGE",
    "SERVER_ID_PATTERN",
    "Assistant",
    "AssistantServer",
    "AssistantVersion",
    "Attachment",
    "AuditEntry",
    "AuditKind",
    "Conversation",
    "GlobalPrompt",
    "Message",
    "MessageRole",
    "Note",
    "NotePiece",
    "OnToolError",
    "Provider",
    "Question",
    "Review",
    "Run",
    "RunStatus",
    "Server",
    "ServerHealth",
    "Tool",
    "ToolDefinition",
    "ToolSample",
    "Transport",
    "TrustedName",
    "TrustedNameKind",
    "Worker",
    "new_id",
]
