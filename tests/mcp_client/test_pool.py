"""The pool: one opening for all, waiting after failures, texts on failures, and the end."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agents.loop.errors import ServerUnavailable
from agents.loop.results import Outcome
from agents.mcp_client.pool import ServerPool
from tests.mcp_client.calling import Server, config_from, text_of, until
from tests.servers import received, stdio_entry


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def pids_in(path: Path) -> list[int]:
    """The process ids that servers wrote into a file."""
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_the_pool_does_not_import_mcp() -> None:
    code = (
        "import sys, agents.mcp_client.pool;"
        "print(*(name in sys.modules for name in ('mcp', 'pydantic')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["False", "False"]


async def test_the_connection_stays_open_between_runs(pool: ServerPool, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    for _ in range(3):
        await Server(pool, stdio_entry(pid_file=str(pids))).names()
    assert len(pids_in(pids)) == 1


async def test_many_callers_share_one_opening(pool: ServerPool, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    servers = [Server(pool, stdio_entry(pid_file=str(pids), start_delay=0.2)) for _ in range(5)]
    replies = await asyncio.gather(*(server.call("ping") for server in servers))
    assert [text_of(reply) for reply in replies] == ["pong"] * 5
    assert len(pids_in(pids)) == 1


async def test_a_cancelled_caller_does_not_end_the_opening_of_the_others(
    pool: ServerPool, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    server = Server(pool, stdio_entry(pid_file=str(pids), start_delay=0.3))
    first = asyncio.create_task(server.names())
    second = asyncio.create_task(server.names())
    await until(lambda: bool(pids_in(pids)))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert "echo" in await second
    assert len(pids_in(pids)) == 1


async def test_another_credential_or_configuration_has_its_own_connection(
    pool: ServerPool, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    entry = stdio_entry(pid_file=str(pids))
    await Server(pool, entry).names()
    await Server(pool, entry, credential="ann").names()
    await Server(pool, entry, credential="bob").names()
    await Server(pool, entry, credential="ann").names()
    assert len(pids_in(pids)) == 3
    await Server(pool, entry, env={"A": "1"}).names()
    assert len(pids_in(pids)) == 4


async def test_an_outdated_configuration_is_let_go(pool: ServerPool, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    entry = stdio_entry(pid_file=str(pids))
    await Server(pool, entry).names()
    await Server(pool, entry, env={"A": "1"}).names()
    old, new = pids_in(pids)
    await until(lambda: not is_alive(old))
    assert is_alive(new)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "no-such-command-here"}, "the command 'no-such-command-here' was not found"),
        ({"command": "/"}, "cannot be started"),
        ({"command": ""}, "cannot be started"),
        ({"command": "a\0b"}, "cannot be started"),
        ({"cwd": "/no/such/place"}, "the working directory '/no/such/place' does not exist"),
        ({"command": "true", "args": []}, "exit code 0"),
        ({"command": "sh", "args": ["-c", "echo oh no >&2; exit 7"]}, "exit code 7"),
        ({"command": "sh", "args": ["-c", "echo oh no >&2; exit 7"]}, "oh no"),
        ({"command": "sh", "args": ["-c", "kill -9 $$"]}, "by signal 9"),
        ({"transport": "carrier-pigeon"}, "transport must be stdio, http, sse or python"),
        ({"env": {"TOKEN": "$ENV.TOOLLOOP_NO_SUCH"}}, "TOOLLOOP_NO_SUCH"),
    ],
)
async def test_a_server_that_cannot_start_says_why(
    pool: ServerPool, entry: dict[str, Any], said: str
) -> None:
    server = Server(pool, stdio_entry(entry=entry))
    with pytest.raises(ServerUnavailable) as caught:
        await server.names()
    assert said in caught.value.reason
    assert "\n" not in caught.value.reason
    reply = await server.call("ping")
    assert (reply.outcome, said in reply.error) == (Outcome.SERVER_UNAVAILABLE, True)


async def test_the_last_words_of_a_server_that_ends_at_once_are_told(pool: ServerPool) -> None:
    entry = stdio_entry(stderr="ModuleNotFoundError: no module named x", exit_code=5)
    with pytest.raises(ServerUnavailable, match=r"exit code 5.*no module named x"):
        await Server(pool, entry).names()


async def test_a_silent_command_ends_at_the_connect_limit(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pool = ServerPool(connect_seconds=0.6)
    began = time.monotonic()
    entry = stdio_entry(silent=["*"], noise=["Welcome!"], pid_file=str(pids))
    with pytest.raises(ServerUnavailable, match=r"no answer within 0\.6 s.*Welcome!"):
        await Server(pool, entry).names()
    assert time.monotonic() - began < 1.5
    await pool.close()
    assert not is_alive(pids_in(pids)[0])


async def test_an_older_server_that_ignores_the_new_question_is_still_used() -> None:
    pool = ServerPool(connect_seconds=2)
    try:
        assert "echo" in await Server(pool, stdio_entry(silent=["server/discover"])).names()
    finally:
        await pool.close()


async def test_an_unknown_protocol_version_is_named(pool: ServerPool) -> None:
    with pytest.raises(ServerUnavailable, match="1999-01-01"):
        await Server(pool, stdio_entry(version="1999-01-01")).names()


async def test_after_failures_the_pool_waits_longer_each_time(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pool = ServerPool(connect_seconds=5, first_delay_seconds=0.3)
    server = Server(pool, stdio_entry(exit_code=1, pid_file=str(pids)))
    for _ in range(3):
        with pytest.raises(ServerUnavailable):
            await server.names()
    assert len(pids_in(pids)) == 1
    began = time.monotonic()
    with pytest.raises(ServerUnavailable, match=r"exit code 1.*next try in 0\.\d s"):
        await server.names()
    assert time.monotonic() - began < 0.1
    waits = [pool.delay_after(failures) for failures in (1, 2, 3, 4, 5, 6, 7, 8, 50)]
    assert waits[:4] == [0.3, 0.6, 1.2, 2.4]
    assert waits[-1] == 30
    await pool.close()


async def test_a_server_that_comes_back_is_used_after_the_wait(tmp_path: Path) -> None:
    pool = ServerPool(connect_seconds=5, first_delay_seconds=0.1)
    flag = tmp_path / "ready"
    entry = stdio_entry()
    ready = f'test -e {flag} || exit 9; exec "$@"'
    command = ["-c", ready, "sh", entry["command"], *entry["args"]]
    server = Server(pool, {**entry, "command": "sh", "args": command})
    with pytest.raises(ServerUnavailable, match="exit code 9"):
        await server.names()
    flag.touch()
    names: list[str] = []
    for _ in range(100):
        try:
            names = await server.names()
            break
        except ServerUnavailable:
            await asyncio.sleep(0.02)
    assert "echo" in names
    await pool.close()


async def test_a_server_may_crash_often_and_is_restarted_at_once(
    pool: ServerPool, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    server = Server(pool, stdio_entry(pid_file=str(pids)))
    await server.names()
    for _ in range(3):
        assert (await server.call("crash")).outcome is Outcome.SERVER_UNAVAILABLE
        assert text_of(await server.call("echo", {"message": "back"})) == "back"
    assert len(pids_in(pids)) == 4


async def test_a_server_that_was_killed_while_idle_is_restarted_before_the_next_call(
    pool: ServerPool, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    server = Server(pool, stdio_entry(pid_file=str(pids)))
    await server.names()
    os.kill(pids_in(pids)[0], 9)
    await until(lambda: not is_alive(pids_in(pids)[0]))
    assert text_of(await server.call("ping")) == "pong"
    os.kill(pids_in(pids)[1], 9)
    await until(lambda: not is_alive(pids_in(pids)[1]))
    assert "echo" in await server.names()
    assert len(pids_in(pids)) == 3


async def test_a_server_that_ends_while_it_is_listed_says_so(pool: ServerPool) -> None:
    with pytest.raises(ServerUnavailable, match="exit code 3"):
        await Server(pool, stdio_entry(exit_on="tools/list")).names()


async def test_declared_environment_and_directory_reach_the_process(
    pool: ServerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLLOOP_SECRET", "s3cret-value")
    monkeypatch.setenv("TOOLLOOP_OTHER", "must not leak")
    env = {"TOKEN": "Bearer $ENV.TOOLLOOP_SECRET"}
    server = Server(pool, stdio_entry(entry={"env": env, "cwd": str(tmp_path)}))
    assert text_of(await server.call("environ", {"name": "TOKEN"})) == "Bearer s3cret-value"
    assert text_of(await server.call("environ", {"name": "TOOLLOOP_OTHER"})) == "unset"
    assert text_of(await server.call("cwd")) == str(tmp_path)


async def test_secrets_are_in_no_error_and_no_status(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("TOOLLOOP_SECRET", "s3cret/value+x")
    words = "echo token $TOKEN was refused >&2; exit 4"
    entry = {"command": "sh", "args": ["-c", words], "env": {"TOKEN": "$ENV.TOOLLOOP_SECRET"}}
    with pytest.raises(ServerUnavailable, match=r"token \$ENV\.TOOLLOOP_SECRET was") as caught:
        await Server(pool, stdio_entry(entry=entry)).names()
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(pool.statuses())
    assert "s3cret" not in caplog.text


async def test_the_status_tells_how_each_server_stands(pool: ServerPool) -> None:
    good = Server(pool, stdio_entry("good", stderr="listening"))
    bad = Server(pool, stdio_entry("bad", exit_code=2))
    new = Server(pool, stdio_entry("new"))
    await good.names()
    with pytest.raises(ServerUnavailable):
        await bad.names()
    assert new.id == "new"
    by_id = {status.server_id: status for status in pool.statuses()}
    assert (by_id["good"].state, by_id["good"].protocol) == ("open", "2025-11-25")
    assert by_id["good"].stderr_tail == "listening"
    assert (by_id["bad"].state, "exit code 2" in by_id["bad"].last_error) == ("failed", True)
    assert by_id["bad"].retry_in_seconds > 0


async def test_twenty_servers_are_ended_with_the_pool(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pool = ServerPool(connect_seconds=20)
    servers = [Server(pool, stdio_entry(f"s{i}", pid_file=str(pids))) for i in range(20)]
    await asyncio.gather(*(server.names() for server in servers))
    assert len(pids_in(pids)) == 20
    began = time.monotonic()
    await pool.close()
    assert time.monotonic() - began < 4
    assert [pid for pid in pids_in(pids) if is_alive(pid)] == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
    gc.collect()


async def test_stubborn_servers_and_their_children_are_ended_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pool = ServerPool()
    plain = stdio_entry(stubborn=True, pid_file=str(pids))
    wrapped = [plain["command"], *plain["args"]]
    shell = {"command": "sh", "args": ["-c", 'trap "" TERM; "$@"; true', "sh", *wrapped]}
    behind_shell = {**stdio_entry("behind-shell"), **shell}
    await Server(pool, plain).names()
    await Server(pool, behind_shell).names()
    began = time.monotonic()
    await pool.close()
    assert time.monotonic() - began < 5
    assert len(pids_in(pids)) == 2
    assert [pid for pid in pids_in(pids) if is_alive(pid)] == []


async def test_calls_under_way_get_a_result_when_the_pool_is_closed(
    pool: ServerPool, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    server = Server(pool, stdio_entry(record=str(record)))
    call = asyncio.create_task(server.call("slow", {"seconds": 60}))
    await until(lambda: bool(received(record, "tools/call")))
    await pool.close()
    assert (await call).outcome is Outcome.SERVER_UNAVAILABLE
    assert (await server.call("ping")).outcome is Outcome.SERVER_UNAVAILABLE


async def test_closing_while_a_server_is_opened_ends_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pool = ServerPool()
    server = Server(pool, stdio_entry(silent=["*"], pid_file=str(pids)))
    waiting = asyncio.create_task(server.names())
    await until(lambda: bool(pids_in(pids)))
    await pool.close()
    with pytest.raises(ServerUnavailable):
        await waiting
    assert not is_alive(pids_in(pids)[0])


def test_a_program_that_never_closes_its_pool_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    config = config_from(stdio_entry(stubborn=True, pid_file=str(pids)))
    code = f"""
import asyncio
from agents.mcp_client.config import ServerConfig
from agents.mcp_client.pool import ServerPool
config = ServerConfig(server_id="echo", transport="stdio", command={config.command!r},
                      args={config.args!r})
async def main():
    await ServerPool().servers({{"echo": config}}).list_tools("echo")
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30, capture_output=True)
    assert [is_alive(pid) for pid in pids_in(pids)] == [False]
