"""The workspace server: a shell and files in one directory.

Place in the house: ``agents.builtin_servers``, a ``python`` server. Which directory it is comes
from the call, never from the model.
"""

from __future__ import annotations

import asyncio
import fnmatch
import re
from typing import Any

from django.conf import settings

from agents.loop.shorten import shorten
from agents.python_tools import tool
from agents.workspace.directory import MOST_LISTED, Workspace, WorkspaceProblem
from agents.workspace.places import workspace_of_call
from agents.workspace.walls import LONGEST_SECONDS, NONE, SECONDS, run_command, wall

OUTPUT_CHARS = 6000
MOST_LINES = 400
MOST_CHANGED = 20
MOST_MATCHES = 100
LINE_CHARS = 300


@tool(destructive=True)
async def bash(command: str, timeout_seconds: float = SECONDS) -> dict[str, Any]:
    """Run a command with bash in the workspace and get its output and exit code. Only the
    workspace can be written, there is no network, and everything it starts ends with it."""
    for pattern in settings.TOOLLOOP_WORKSPACE_DENY:
        if re.search(pattern, command):
            raise WorkspaceProblem(f"the operator does not want commands like this ({pattern})")
    if wall() == NONE and not settings.TOOLLOOP_WORKSPACE_UNWALLED:
        raise WorkspaceProblem(
            "commands are switched off: neither bubblewrap nor Landlock keeps them inside the "
            "workspace on this machine; use the file tools"
        )
    seconds = min(max(timeout_seconds, 1.0), LONGEST_SECONDS)
    workspace = workspace_of_call()
    before = await asyncio.to_thread(_states, workspace)
    ended = await run_command(workspace, command, seconds)
    after = await asyncio.to_thread(_states, workspace)
    changed = [path for path, state in after.items() if before.get(path) != state]
    text = ended.output.decode("utf-8", "replace")
    if ended.is_cut:
        text += "\n[more output was thrown away]"
    answer: dict[str, Any] = {"exit_code": ended.code, "output": shorten(text, OUTPUT_CHARS)}
    return {**answer, "changed_files": changed[:MOST_CHANGED]} if changed else answer


@tool(read_only=True)
def read_file(path: str, from_line: int = 1, lines: int = 200) -> dict[str, Any]:
    """Read lines of a text file of the workspace. Lines are counted from 1."""
    content = workspace_of_call().read(path)
    if b"\0" in content[:8000]:
        raise WorkspaceProblem(f"{path} is no text: {len(content):,} bytes")
    whole = content.decode("utf-8", "replace").split("\n")
    start = max(from_line, 1)
    part = whole[start - 1 : start - 1 + min(max(lines, 1), MOST_LINES)]
    return {
        "path": path,
        "from_line": start,
        "lines_in_all": len(whole),
        "text": "\n".join(part),
    }


@tool(destructive=True)
def write_file(path: str, text: str, append: bool = False) -> dict[str, Any]:
    """Write a text file of the workspace, over what stood there or, with append=true, behind it.
    Folders on the way are made."""
    size = workspace_of_call().write(path, text.encode("utf-8", "replace"), append=append)
    return {"path": path, "bytes": size}


@tool(read_only=True)
def list_files(path: str = ".", depth: int = 3) -> list[dict[str, Any]]:
    """List files and folders of the workspace with their sizes."""
    entries = workspace_of_call().entries(path, depth)
    return [
        {"path": entry.path, "kind": entry.kind, "bytes": entry.bytes}
        for entry in entries[:MOST_LISTED]
    ]


@tool(read_only=True)
def search_files(pattern: str, path: str = ".", files: str = "*") -> list[dict[str, Any]]:
    """Find lines in which a text stands, in the files of the workspace whose names fit ``files``
    (such as *.py). Upper and lower case are the same."""
    workspace, wanted = workspace_of_call(), pattern.casefold()
    if not wanted:
        raise WorkspaceProblem("the pattern is empty: say which text to look for")
    found: list[dict[str, Any]] = []
    for entry in workspace.entries(path):
        name = entry.path.rpartition("/")[2]
        if entry.kind != "file" or not fnmatch.fnmatch(name, files):
            continue
        try:
            content = workspace.read(entry.path)
        except WorkspaceProblem:
            continue
        if b"\0" in content[:8000]:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
            if wanted in line.casefold():
                found.append({"path": entry.path, "line": number, "text": line[:LINE_CHARS]})
                if len(found) == MOST_MATCHES:
                    return found
    return found


def _states(workspace: Workspace) -> dict[str, tuple[int, float]]:
    """Size and time of each file that people may want; what a command keeps for itself is not."""
    return {
        entry.path: (entry.bytes, entry.changed)
        for entry in workspace.entries()
        if entry.kind == "file" and not entry.path.startswith(".")
    }
