"""What the tests of the MCP client share: a pool that is always closed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest

from agents.mcp_client.pool import ServerPool

REAL_SERVERS = ("TOOLLOOP_TEST_TIME_SERVER", "TOOLLOOP_TEST_EVERYTHING")
MISSING = [name for name in REAL_SERVERS if not os.environ.get(name)]

collect_ignore = ["test_real_servers.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out and what would bring it back."""
    if MISSING:
        terminalreporter.write_line(
            f"left out: tests/mcp_client/test_real_servers.py (set {' and '.join(MISSING)})"
        )


@pytest.fixture
async def pool() -> AsyncIterator[ServerPool]:
    """A pool with short limits; whatever it started is ended after the test."""
    pool = ServerPool(connect_seconds=5, first_delay_seconds=0.2)
    yield pool
    await pool.close()
