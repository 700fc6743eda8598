"""Who is asked when the policy says ask, where there is no browser.

Place in the house: ``agents.runs``. In a terminal the person at it decides; where nobody is, the
call is denied with that reason.
"""

from __future__ import annotations

import asyncio
import json
import sys

from agents.loop.interfaces import Approval, ApprovalRequest
from agents.loop.threads import run_in_thread

NOBODY = "Nobody is here to approve this call."


class DenyingApprover:
    """Denies everything: nobody is there to ask."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Denied, with the reason."""
        return Approval(is_allowed=False, reason=NOBODY, by="nobody")


class TerminalApprover:
    """Asks on the terminal: standard input for the answer, standard error for the question.

    One question at a time: an answer belongs to the question before it.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def decide(self, request: ApprovalRequest) -> Approval:
        """The person's decision; an end of input denies."""
        arguments = json.dumps(request.arguments, ensure_ascii=False)
        question = f"Allow {request.server}.{request.tool} with {arguments}? [y/N] "
        async with self._turn:
            answer = await run_in_thread(lambda: _ask(question))
        if answer.strip().lower() in ("y", "yes"):
            return Approval(is_allowed=True, by="terminal")
        return Approval(
            is_allowed=False, reason="The person at the terminal did not allow it.", by="terminal"
        )


def terminal_approver() -> DenyingApprover | TerminalApprover:
    """The approver for this process: the terminal where there is one."""
    return TerminalApprover() if sys.stdin is not None and sys.stdin.isatty() else DenyingApprover()


def _ask(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()
