"""How long a provider's first chunk takes to a browser's socket, and what an idle server holds.

python -m bench.first_chunk [--messages 30] [--check]

Serves the application in a process of its own, with a provider on a socket that writes the time
into its first chunk; a client on a web socket reads it. Prints the median in milliseconds (bound:
50) and the resident memory of the idle server in MB (bound: 200). ``--check`` ends with 1 over a
bound.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

from bench.sockets import Socket
from bench.streaming import stream_pieces

ROOT = Path(__file__).parent.parent
MOST_MS, MOST_MB = 50.0, 200.0


async def answer_with_time(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One provider connection: each answer is the time at which it is written."""
    await stream_pieces(reader, writer, lambda: [f"@{time.time_ns()}@"], pause=0.02)


def serve(folder: Path, provider_url: str) -> tuple[subprocess.Popen[str], str, str]:
    """The application with the demo and an assistant at this provider: process, URL, password."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3"}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        environment.pop(name, None)
    environment |= {"OPENAI_BASE_URL": provider_url, "OPENAI_MODEL": "timed"}
    port = str(_free_port())
    process = subprocess.Popen(
        [sys.executable, "-u", "manage.py", "serve", "--port", port],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip().removeprefix("Toolloop: ")
    password = process.stdout.readline().strip().rpartition(" ")[2]
    return process, url, password


async def log_in(url: str, password: str) -> tuple[str, str]:
    """A session's cookie and the id of a new conversation."""
    async with httpx2.AsyncClient(base_url=url, follow_redirects=True) as client:
        for _ in range(100):
            try:
                form = await client.get("/")
                break
            except httpx2.ConnectError:
                await asyncio.sleep(0.1)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
        assert token is not None
        fields = {"username": "operator", "password": password}
        fields["csrfmiddlewaretoken"] = token[1]
        page = await client.post(str(form.url), data=fields, headers={"Referer": url})
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None, "the log-in failed"
        assistant = re.search(r'name="assistant" value="(\d+)"', page.text)
        assert assistant is not None
        made = await client.post(
            "/c/new/",
            data={"assistant": assistant[1], "csrfmiddlewaretoken": token[1]},
            headers={"Referer": url},
        )
        conversation = re.search(r"/c/([0-9a-f]{32})/", str(made.url))
        assert conversation is not None, made.url
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        return cookie, conversation[1]


async def measure(url: str, password: str, messages: int) -> list[float]:
    """Milliseconds from the provider's first chunk to the socket, for each message."""
    cookie, conversation = await log_in(url, password)
    port = int(url.rstrip("/").rpartition(":")[2])
    socket = await Socket.open("127.0.0.1", port, f"/ws/c/{conversation}/", cookie)
    await socket.send({"type": "hello", "seq": 0})
    times: list[float] = []
    for number in range(messages):
        await socket.send({"type": "send", "text": f"message {number}", "token": str(number)})
        times.append(await asyncio.wait_for(_delay(socket), 30))
        await asyncio.sleep(0.3)
    socket.close()
    return times


async def _delay(socket: Socket) -> float:
    while True:
        message = await socket.receive()
        found = re.match(r"@(\d+)@", str(message.get("text", "")))
        if message.get("type") == "delta" and found:
            return (time.time_ns() - int(found[1])) / 1e6


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def _free_port() -> int:
    import socket  # the name is used for web sockets above

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def run(messages: int) -> tuple[float, float, float]:
    """Median delay, and memory before and after the messages."""
    provider = await asyncio.start_server(answer_with_time, "127.0.0.1", 0)
    provider_url = f"http://127.0.0.1:{provider.sockets[0].getsockname()[1]}/v1"
    with tempfile.TemporaryDirectory() as folder:
        process, url, password = serve(Path(folder), provider_url)
        try:
            await asyncio.sleep(3)
            idle = memory_mb(process.pid)
            times = await measure(url, password, messages)
            return statistics.median(times), idle, memory_mb(process.pid)
        finally:
            process.terminate()
            process.wait(30)
            provider.close()


def main() -> None:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=30)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    median, idle, used = asyncio.run(run(options.messages))
    print(f"first chunk to the socket: median {median:.1f} ms (bound {MOST_MS:g})")
    print(f"memory: idle {idle:.0f} MB (bound {MOST_MB:g}), after the messages {used:.0f} MB")
    if options.check and (median > MOST_MS or idle > MOST_MB):
        sys.exit(1)


if __name__ == "__main__":
    main()
