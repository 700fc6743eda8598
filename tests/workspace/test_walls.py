"""Ways out of a workspace, each tried, by commands and by paths: all fail. Runs behind every wall
that this machine has."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.workspace import launcher, walls
from agents.workspace.directory import Workspace, WorkspaceProblem
from agents.workspace.walls import BUBBLEWRAP, LANDLOCK, run_command
from tests.running import wait_until

SECRET = "a secret outside"

HERE = [wall for wall in (BUBBLEWRAP, LANDLOCK) if wall == walls.wall()]
if launcher.landlock_version() >= 1 and LANDLOCK not in HERE:
    HERE.append(LANDLOCK)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def workspace(tmp_path: Path, outside: Path) -> Workspace:
    workspace = Workspace(root=tmp_path / "spaces" / "one")
    workspace.make()
    (tmp_path / "spaces" / "two").mkdir()
    (tmp_path / "spaces" / "two" / "secret.txt").write_text(SECRET)
    return workspace


@pytest.fixture(params=HERE)
def wall(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(walls, "wall", lambda: request.param)
    return str(request.param)


def run(workspace: Workspace, command: str, seconds: float = 20) -> tuple[int, str]:
    ended = asyncio.run(run_command(workspace, command, seconds))
    return ended.code, ended.output.decode("utf-8", "replace")


READING = [
    "cat {outside}/secret.txt",
    "cat ../../outside/secret.txt",
    "cat ../two/secret.txt",
    "ln -s {outside}/secret.txt link; cat link",
    "ln {outside}/secret.txt hard; cat hard",
    "cp -r {outside} copy; cat copy/secret.txt",
    "mv {outside}/secret.txt here; cat here",
    "cd ..; cat two/secret.txt",
    "cd {outside} && cat secret.txt",
    "python3 -c \"print(open('{outside}/secret.txt').read())\"",
    "python3 -c \"import os; os.chdir('{outside}'); print(open('secret.txt').read())\"",
    "bash -c 'cat < {outside}/secret.txt'",
    "mapfile -t lines < {outside}/secret.txt; echo ${{lines[0]}}",
    "tar cf - {outside} | tar xf - -O",
    "find {outside} -name secret.txt -exec cat {{}} ;",
    "cat /proc/self/root{outside}/secret.txt",
    "cat /proc/1/root{outside}/secret.txt",
    "cat /proc/$PPID/cwd/../../outside/secret.txt",
    "cat /proc/{pid}/environ | tr '\\0' '\\n'",
    "cat /dev/fd/../../..{outside}/secret.txt",
    "mkdir -p m; mount --bind {outside} m; cat m/secret.txt",
    "unshare -Urm cat {outside}/secret.txt",
    "chroot / cat {outside}/secret.txt",
    "env; cat /proc/$PPID/environ",
]
WRITING = [
    "echo broken > {outside}/secret.txt",
    "echo broken >> ../two/secret.txt",
    "rm -rf {outside} ../two",
    "ln -s {outside} d; echo broken > d/secret.txt",
    "touch {outside}/new ../two/new /tmp/../..{outside}/new",
    "truncate -s 0 {outside}/secret.txt",
    "chmod 777 {outside}/secret.txt; chmod 777 {outside}",
    "dd if=/dev/zero of={outside}/secret.txt count=1",
    "mv {outside}/secret.txt {outside}/gone.txt",
]


@pytest.mark.parametrize("way", READING)
def test_nothing_outside_is_read(
    workspace: Workspace, outside: Path, wall: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLLOOP_SECRET_FOR_THIS_TEST", SECRET)
    _, output = run(workspace, way.format(outside=outside, pid=os.getpid()))
    assert SECRET not in output
    assert not [path for path in workspace.root.rglob("*") if path.is_file() and _holds(path)]


def _holds(path: Path) -> bool:
    return not path.is_symlink() and SECRET in path.read_text(errors="replace")


@pytest.mark.parametrize("way", WRITING)
def test_nothing_outside_is_written(
    workspace: Workspace, outside: Path, wall: str, way: str
) -> None:
    mode = (outside / "secret.txt").stat().st_mode
    run(workspace, way.format(outside=outside))
    assert (outside / "secret.txt").read_text() == SECRET
    assert (outside / "secret.txt").stat().st_mode == mode
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]
    two = workspace.root.parent / "two"
    assert [path.read_text() for path in two.iterdir()] == [SECRET]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


def test_there_is_no_network(workspace: Workspace, wall: str, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    code, _ = run(workspace, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo hello >&3")
    assert code != 0
    with pytest.raises(TimeoutError):
        listener.accept()


def test_processes_outside_get_no_signal(workspace: Workspace, wall: str) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        run(workspace, f"kill -9 {other.pid}; kill -9 -1; kill -9 {os.getpid()}")
        assert other.poll() is None
        other.kill()


def test_what_a_command_starts_ends_with_it(workspace: Workspace, wall: str) -> None:
    mark = f"4{os.getpid()}"
    python = f"import os; os.fork() or os.setsid() and os.execvp('sleep', ['sleep', '{mark}'])"
    ways = [
        f"sleep {mark} &", f"(setsid sleep {mark} &)", f"nohup sleep {mark} >/dev/null 2>&1 &",
        f'python3 -c "{python}" &',
    ]  # fmt: skip
    code, output = run(workspace, "\n".join([*ways, "sleep 0.5", "echo on"]))
    assert (code, "on" in output) == (0, True)
    assert not running(mark)


def running(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if arguments[:2] == [b"sleep", mark.encode()]:
            found.append(str(path))
    return found


def test_a_command_that_takes_too_long_is_ended(workspace: Workspace, wall: str) -> None:
    start = time.monotonic()
    code, output = run(workspace, "echo begun; sleep 60", seconds=1)
    assert code == 124 and "begun" in output and "longer than 1" in output
    assert time.monotonic() - start < 20


def test_a_call_that_is_stopped_ends_its_command(workspace: Workspace, wall: str) -> None:
    mark = f"5{os.getpid()}"

    async def stopped() -> None:
        task = asyncio.create_task(run_command(workspace, f"sleep {mark}", 60))
        await asyncio.to_thread(wait_until, lambda: running(mark))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(stopped())
    wait_until(lambda: not running(mark))


def test_too_many_processes_are_ended(workspace: Workspace, wall: str) -> None:
    code, _ = run(workspace, "for n in $(seq 200); do sleep 30 & done; wait", seconds=20)
    assert code != 0


def test_too_large_files_and_too_much_memory_are_refused(workspace: Workspace, wall: str) -> None:
    run(workspace, "head -c 200000000 /dev/zero > large")
    assert (workspace.root / "large").stat().st_size <= walls.COMMAND_FILE_BYTES
    code, _ = run(workspace, "python3 -c \"x = bytearray(3_000_000_000); print('had it')\"")
    assert code != 0


def test_output_without_end_is_cut(workspace: Workspace, wall: str) -> None:
    ended = asyncio.run(run_command(workspace, "head -c 5000000 /dev/zero | tr '\\0' x", 20))
    assert ended.is_cut and len(ended.output) == walls.OUTPUT_BYTES


def test_ordinary_work_is_done(workspace: Workspace, wall: str) -> None:
    workspace.write("data/a.txt", b"one\ntwo\n")
    code, output = run(
        workspace,
        "set -e; wc -l < data/a.txt; grep -c two data/a.txt | tee count; sort -r data/a.txt; "
        "python3 -c 'print(6 * 7)'; mktemp; echo $HOME; cat /etc/shadow",
    )
    assert output.startswith("2\n1\ntwo\none\n42\n") and code != 0
    assert workspace.read("count") == b"1\n"
    assert str(workspace.root) in output


PATHS = [
    "../two/secret.txt", "/etc/passwd", "a/../../two/secret.txt", "..", "./../two", "link",
    "folder/secret.txt", "deep/folder/secret.txt", "pipe", "a\0b", "x" * 1001,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_path_of_the_file_tools_leads_out(
    workspace: Workspace, outside: Path, path: str
) -> None:
    (workspace.root / "link").symlink_to(outside / "secret.txt")
    (workspace.root / "folder").symlink_to(outside)
    (workspace.root / "deep").mkdir()
    (workspace.root / "deep" / "folder").symlink_to(outside)
    os.mkfifo(workspace.root / "pipe")
    for work in (workspace.read, lambda name: workspace.write(name, b"broken")):
        with pytest.raises(WorkspaceProblem):
            work(path)
    assert (outside / "secret.txt").read_text() == SECRET
    listed = {entry.path: entry.kind for entry in workspace.entries()}
    assert listed == {
        "deep": "folder", "deep/folder": "link", "folder": "link", "link": "link", "pipe": "other",
    }  # fmt: skip


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(
    workspace: Workspace, outside: Path
) -> None:
    """Something swaps a folder and a link to the outside as fast as it can."""
    folder, link = workspace.root / "f", workspace.root / "l"
    folder.mkdir()
    (folder / "secret.txt").write_text("inside")
    link.symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            os.rename(folder, workspace.root / "t")
            os.rename(link, folder)
            os.rename(folder, link)
            os.rename(workspace.root / "t", folder)

    thread = threading.Thread(target=swap)
    thread.start()
    read = set()
    for _ in range(2000):
        try:
            read.add(workspace.read("f/secret.txt"))
        except WorkspaceProblem:
            continue
    done.set()
    thread.join(10)
    assert read <= {b"inside"}
