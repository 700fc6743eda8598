"""Which wall a command of a workspace runs behind, and running it.

Place in the house: ``agents.workspace``. Bubblewrap where it is installed, else Landlock of the
Linux kernel; where there is neither, commands run only if the operator says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agents.workspace import launcher
from agents.workspace.directory import Workspace

MEMORY_BYTES = 2_000_000_000
COMMAND_FILE_BYTES = 100_000_000
PROCESSES = 64
SECONDS = 30.0
LONGEST_SECONDS = 300.0

OUTPUT_BYTES = 2_000_000
"""Output that is read; the rest of it is thrown away."""

BUBBLEWRAP, LANDLOCK, NONE = "bubblewrap", "landlock", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a command wrote (standard output and error together) and its exit code."""

    code: int
    output: bytes
    is_cut: bool


@cache
def wall() -> str:
    """The wall of this machine: bubblewrap, landlock or none."""
    if shutil.which("bwrap"):
        return BUBBLEWRAP
    return LANDLOCK if launcher.landlock_version() >= 1 else NONE


async def run_command(workspace: Workspace, command: str, seconds: float) -> Ended:
    """Run a command with bash in the workspace. Ends with the call, whatever it started."""
    workspace.make()
    root = str(workspace.root.resolve())
    own = workspace.root / ".tmp"
    own.mkdir(mode=0o700, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        launcher.__file__,
        json.dumps(_order(root, command, seconds)),
        cwd=root,
        env=_environment(root),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, is_cut = await _read(process)
        return Ended(code=await process.wait(), output=output, is_cut=is_cut)
    finally:
        await _end(process)


def _order(root: str, command: str, seconds: float) -> dict[str, object]:
    bash = shutil.which("bash") or "/bin/sh"
    inner = [bash, "--norc", "--noprofile", "-c", command] if bash.endswith("bash") else [
        bash, "-c", command,
    ]  # fmt: skip
    return {
        "root": root,
        "argv": [*_bubblewrap(root), *inner] if wall() == BUBBLEWRAP else inner,
        "wall": wall(),
        "seconds": seconds,
        "memory_bytes": MEMORY_BYTES,
        "file_bytes": COMMAND_FILE_BYTES,
        "processes": PROCESSES,
    }


def _bubblewrap(root: str) -> list[str]:
    """The wall by bubblewrap: programs to read, the workspace at its own path, nothing else."""
    shown = [
        part
        for path in launcher.READABLE
        if Path(path).exists()
        for part in ("--ro-bind", path, path)
    ]
    return [
        str(shutil.which("bwrap")), "--unshare-all", "--die-with-parent", "--new-session",
        "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", *shown, "--bind", root, root,
        "--chdir", root, "--",
    ]  # fmt: skip


def _environment(root: str) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": root,
        "TMPDIR": f"{root}/.tmp",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


async def _read(process: asyncio.subprocess.Process) -> tuple[bytes, bool]:
    assert process.stdout is not None
    kept = bytearray()
    is_cut = False
    while part := await process.stdout.read(65536):
        room = OUTPUT_BYTES - len(kept)
        kept += part[:room]
        is_cut = is_cut or len(part) > room
    return bytes(kept), is_cut


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the launcher to end what it has started; end it where it does not."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(5):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
