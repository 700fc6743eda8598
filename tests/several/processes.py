"""Starts web processes and workers of one installation, and ends what it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import psycopg

from tests.several.services import end_process, free_port, listens, wait_for

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What ``deploy/run-all.sh`` runs."""

    url: str
    password: str
    database: str


@contextmanager
def deployed(database: str, redis_url: str, folder: Path) -> Iterator[Deployment]:
    """The script, from the moment at which it is ready; ended in order."""
    port = free_port()
    more = {"PORT": str(port), "REDIS_URL": redis_url, "SEED_DEMO": "1", "PYTHON": sys.executable}
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            ["deploy/run-all.sh"], cwd=ROOT, env={**environment(database), **more},
            stdout=file, stderr=file, text=True,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(lambda: ask(f"{url}/readyz")[0] == 200, f"readiness ({log})", 90)
            yield Deployment(url=url, password=_password(log.read_text()), database=database)
        finally:
            end_process(process)
    assert "Traceback" not in log.read_text(), log.read_text()


def environment(database: str) -> dict[str, str]:
    """This process's environment with this database, without a provider of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    inherited.pop("REDIS_URL", None)
    return {**inherited, "DATABASE_URL": database}


def ask(url: str) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an address; status 0 where nobody answers with JSON."""
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _json(error.read())
    except OSError:
        return 0, {}


def _json(body: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(body))
    except ValueError:
        return {}


def _password(log: str) -> str:
    [line] = [line for line in log.splitlines() if line.startswith("Log in: ")]
    return line.rpartition(" / ")[2]


@dataclass(slots=True, kw_only=True)
class Web:
    """A web process."""

    process: subprocess.Popen[str]
    url: str
    password: str


@dataclass(slots=True, kw_only=True)
class Installation:
    """One database and the processes that a test starts on it. Used with ``with``."""

    folder: Path
    database: str
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._started:
            end_process(process)
            if process.stdout is not None:
                process.stdout.close()

    def web(self, **more: str) -> Web:
        """A web process that takes no runs unless told otherwise; it seeds the demo."""
        port = free_port()
        given = {"TOOLLOOP_WEB_TAKES_RUNS": "0", **more}
        process = self._start("serve", "--port", str(port), **given)
        assert process.stdout is not None
        address, login = (process.stdout.readline().strip() for _ in range(2))
        assert address == f"Toolloop: http://127.0.0.1:{port}/", self.log()
        wait_for(lambda: listens(port), "the web process")
        return Web(
            process=process, url=address.split()[1].rstrip("/"), password=login.rpartition(" ")[2]
        )

    def worker(self, runs: int = 20, **more: str) -> subprocess.Popen[str]:
        """A worker, from the moment at which it takes runs."""
        process = self._start("run_worker", "--runs", str(runs), **more)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Taking up to"), self.log()
        mark = f"/{process.pid}/"
        wait_for(lambda: any(mark in owner for owner in self.workers()), "its sign of life")
        return process

    def workers(self) -> list[str]:
        """The names of the processes that take runs."""
        return [str(row[0]) for row in self.rows("SELECT owner FROM agents_worker")]

    def manage(self, *arguments: str, text: str = "") -> str:
        """What a command writes; it must succeed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=environment(self.database), input=text, capture_output=True, text=True,
            timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """What a statement finds or returns, committed."""
        with psycopg.connect(self.database) as connection:
            # psycopg takes literal SQL alone; these statements are the tests' own.
            found = connection.execute(sql, values)  # type: ignore[arg-type]
            return found.fetchall() if found.description else []

    def run_row(self, *columns: str) -> tuple[Any, ...]:
        """These columns of the newest run."""
        sql = f"SELECT {', '.join(columns)} FROM agents_run ORDER BY created_at DESC LIMIT 1"
        return self.rows(sql)[0]

    def log(self) -> str:
        """What all processes wrote on standard error."""
        return (self.folder / "log").read_text()

    def _start(self, *command: str, **more: str) -> subprocess.Popen[str]:
        with (self.folder / "log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-u", "manage.py", *command],
                cwd=ROOT, env={**environment(self.database), **more}, stdout=subprocess.PIPE,
                stderr=log, text=True,
            )  # fmt: skip
        self._started.append(process)
        return process
