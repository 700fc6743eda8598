"""Where workspaces are: one directory for each conversation, or one for each assistant.

Place in the house: ``agents.workspace``.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from agents.models import Conversation
from agents.python_tools import current_call
from agents.workspace.directory import Workspace, WorkspaceProblem

BY_CONVERSATION, BY_ASSISTANT = "conversation", "assistant"


def workspace_of_call() -> Workspace:
    """The workspace of the tool call that runs now. Raises ``WorkspaceProblem`` outside of one."""
    call = current_call()
    if call is None or call.user_id is None or call.assistant_id is None:
        raise WorkspaceProblem("a workspace belongs to a conversation; this call has none")
    return workspace_of(
        user_id=call.user_id, assistant_id=call.assistant_id, conversation=call.conversation
    )


def workspace_of(*, user_id: int, assistant_id: int, conversation: str) -> Workspace:
    """The workspace of a conversation: its own, or that of the person with the assistant."""
    above = Path(settings.TOOLLOOP_WORKSPACES)
    if settings.TOOLLOOP_WORKSPACE_SCOPE == BY_ASSISTANT:
        return Workspace(root=above / f"assistant-{assistant_id}-{user_id}")
    return Workspace(root=above / f"conversation-{conversation}")


def drop_workspace(conversation: Conversation) -> None:
    """Take away the workspace of a conversation that is deleted; one that belongs to the assistant
    stays."""
    if settings.TOOLLOOP_WORKSPACE_SCOPE == BY_CONVERSATION:
        workspace_of(
            user_id=conversation.user_id,
            assistant_id=conversation.assistant_id,
            conversation=conversation.pk,
        ).remove()
