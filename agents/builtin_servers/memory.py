"""The memory server: notes of one person with one assistant, searched, read and written.

Place in the house: ``agents.builtin_servers``, a ``python`` server. Whose notes they are comes from
the call, never from the model.
"""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from agents.memory.notes import LASTING, Memory, NoteProblem, path_of_day
from agents.memory.recall import search_notes
from agents.python_tools import current_call, tool

MOST_FOUND = 20
MOST_LINES = 200


@tool(read_only=True)
def memory_search(query: str, top_k: int = 5) -> list[dict[str, Any]]:
    """Find notes about past work, decisions, dates, people and preferences. Gives the best pieces
    with path, lines, score and text; read more around a piece with memory_get."""
    if not query.strip():
        raise NoteProblem("the query is empty: say what to look for, in a few words")
    found = search_notes(_memory(), query, min(max(top_k, 1), MOST_FOUND))
    return [
        {
            "path": piece.path,
            "from_line": piece.from_line,
            "to_line": piece.to_line,
            "score": piece.score,
            "text": piece.text,
        }
        for piece in found
    ]


@tool(read_only=True)
def memory_get(path: str, from_line: int = 1, lines: int = 50) -> dict[str, Any]:
    """Read lines of a note. Lines are counted from 1."""
    note = _memory().read(path)
    whole = note.text.split("\n")
    start = max(from_line, 1)
    part = whole[start - 1 : start - 1 + min(max(lines, 1), MOST_LINES)]
    return {
        "path": note.path,
        "from_line": start,
        "to_line": start + len(part) - 1,
        "lines_in_all": len(whole),
        "text": "\n".join(part),
    }


@tool
def memory_write(text: str, lasting: bool = False) -> dict[str, Any]:
    """Remember something: a fact, a decision, a preference, in a sentence or a short list. It goes
    to today's note, or with lasting=true to the note of what always holds."""
    path = LASTING if lasting else path_of_day(timezone.localdate())
    note = _memory().append(path, text.strip())
    return {"path": note.path, "lines_in_all": note.text.count("\n")}


def _memory() -> Memory:
    call = current_call()
    if call is None or call.user_id is None or call.assistant_id is None:
        raise NoteProblem("memory belongs to a person and an assistant; this call has neither")
    return Memory(user_id=call.user_id, assistant_id=call.assistant_id)
