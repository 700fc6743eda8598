"""A running application and a real browser.

``site`` serves the demo with Daphne on a free port, with a database and a password of its own;
``page`` is a logged-in tab. Where Chromium is missing these tests are not collected, and the end of
the test run says so.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.running import wait_until

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
]

collect_ignore_glob = [] if Path(CHROMIUM).exists() else ["test_*.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out."""
    if collect_ignore_glob:
        terminalreporter.write_line("left out: tests/browser (install chromium)")


@dataclass(frozen=True)
class Site:
    """A served application. ``database`` is a URL for commands beside it."""

    url: str
    password: str
    database: str
    pid: int


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The demo, served; ended in order at the end."""
    folder = tmp_path_factory.mktemp("site")
    with served(folder) as running:
        yield running


@contextmanager
def served(folder: Path, **environment: str) -> Iterator[Site]:
    """The application in a process of its own, with its database in ``folder``."""
    database = f"sqlite:///{folder}/site.sqlite3"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    port = _free_port()
    with (folder / "site.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", "manage.py", "serve", "--port", str(port)],
            cwd=ROOT,
            env={**inherited, "DATABASE_URL": database, **environment},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdout is not None
        try:
            address, login = (process.stdout.readline().strip() for _ in range(2))
            assert address == f"Toolloop: http://127.0.0.1:{port}/", "see site.log"
            wait_until(lambda: _listens(port))
            yield Site(
                url=address.removeprefix("Toolloop: "),
                password=login.removeprefix("Log in: operator / "),
                database=database,
                pid=process.pid,
            )
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
            process.stdout.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(site: Site, browser: Browser) -> Iterator[Page]:
    """A tab of the operator, logged in, in English; errors of the page fail the test."""
    context = browser.new_context(locale="en-US", viewport={"width": 1360, "height": 900})
    context.set_default_timeout(15_000)
    tab = context.new_page()
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda note: faults.append(note.text) if note.type == "error" else None)
    log_in(tab, site)
    yield tab
    context.close()
    assert faults == []


def log_in(tab: Page, site: Site, name: str = "operator", password: str = "") -> None:
    """Log in through the page."""
    tab.goto(site.url)
    tab.fill("input[name=username]", name)
    tab.fill("input[name=password]", password or site.password)
    tab.click("form button[type=submit]")
    tab.wait_for_selector("#say")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
    except OSError:
        return False
    return True
