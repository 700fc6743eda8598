"""A running application and a real browser.

``site`` serves the demo with Daphne on a free port, with a database of its own; ``page`` is a
logged-in tab, ``tabs`` makes more of them. Where Chromium is missing these tests are not collected,
and the end of the test run says so.

The fixtures live as long as this package: Playwright keeps an event loop running in the thread, and
tests that come after would not get one of their own.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    StorageState,
    expect,
    sync_playwright,
)

from tests.running import wait_until

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
]

USUAL = {
    "locale": "en-US",
    "viewport": {"width": 1360, "height": 900},
    "reduced_motion": "reduce",
}
"""How the tabs are, unless told otherwise; without motion they cost less."""

PATIENCE_MILLISECONDS = 15_000
"""How long something that a page must show may take: other tests share the machine."""

expect.set_options(timeout=PATIENCE_MILLISECONDS)

NEEDS = {
    "TOOLLOOP_TEST_EVERYTHING": "test_admin_everything.py",
    "TOOLLOOP_TEST_AXE": "test_accessible.py",
}
"""What is not Python, by the variable that says where it is, and the tests that need it."""

LEFT_OUT = {name: file for name, file in NEEDS.items() if not os.environ.get(name)}
collect_ignore_glob = [] if Path(CHROMIUM).exists() else ["test_*.py"]
collect_ignore = list(LEFT_OUT.values())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out."""
    if collect_ignore_glob:
        terminalreporter.write_line("left out: tests/browser (install chromium)")
        return
    for name, file in LEFT_OUT.items():
        terminalreporter.write_line(f"left out: tests/browser/{file} (set {name})")


@dataclass(frozen=True)
class Site:
    """A served application. ``database`` is a URL for commands beside it."""

    url: str
    password: str
    database: str
    pid: int


@pytest.fixture(scope="package")
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


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def operator(site: Site, browser: Browser) -> StorageState:
    """The cookies of the operator, logged in once."""
    context = browser.new_context()
    log_in(context.new_page(), site)
    state = context.storage_state()
    context.close()
    return state


OpenTab = Callable[..., Page]


@pytest.fixture
def tabs(browser: Browser, operator: StorageState) -> Iterator[OpenTab]:
    """Opens tabs in contexts of their own, logged in as the operator unless told otherwise.

    ``tabs(url, forgives="", **options of new_context)``. Errors on a console or in a page fail the
    test, but for those that begin with ``forgives``.
    """
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def open_tab(url: str, forgives: str = "", **options: Any) -> Page:
        def note(text: str) -> None:
            if not forgives or not text.startswith(forgives):
                faults.append(text)

        settings = {**USUAL, "storage_state": operator, **options}
        context = browser.new_context(**settings)
        contexts.append(context)
        context.set_default_timeout(15_000)
        context.on("weberror", lambda found: note(str(found.error)))
        context.on("console", lambda line: note(line.text) if line.type == "error" else None)
        tab = context.new_page()
        tab.goto(url)
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def page(site: Site, tabs: OpenTab) -> Page:
    """A tab of the operator on the page of a new conversation."""
    return tabs(f"{site.url}c/new/")


def log_in(tab: Page, site: Site, name: str = "operator", password: str = "") -> None:
    """Log in through the page; returns when the scripts of the next one have run."""
    tab.goto(site.url)
    tab.fill("input[name=username]", name)
    tab.fill("input[name=password]", password or site.password)
    tab.press("input[name=password]", "Enter")
    tab.wait_for_selector("#say")
    tab.wait_for_load_state()


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
