"""Real processes side by side: PostgreSQL, Redis, web processes, workers, nginx.

Where one of the programs is missing these tests are not collected, and the end of the test run says
so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.several.person import Person
from tests.several.processes import Deployment, Installation, deployed
from tests.several.services import (
    Postgres,
    Redis,
    missing_programs,
    private_postgres,
    private_redis,
)

MISSING = missing_programs()
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out."""
    if MISSING:
        terminalreporter.write_line(f"left out: tests/several (install {' '.join(MISSING)})")


@pytest.fixture(scope="package")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for these tests; each asks for a database of its own."""
    with private_postgres() as server:
        yield server


@pytest.fixture(scope="package")
def redis() -> Iterator[Redis]:
    """A Redis for these tests. Who stops it starts it again."""
    with private_redis() as server:
        yield server


@pytest.fixture(scope="package")
def deployment(
    postgres: Postgres, redis: Redis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """``deploy/run-all.sh``, with nginx in front."""
    folder = tmp_path_factory.mktemp("deployment")
    with deployed(postgres.create_database("deployed"), redis.url, folder) as running:
        yield running


@pytest.fixture
def installation(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path
) -> Iterator[Installation]:
    """A database of its own; the test starts the processes that it wants."""
    name = f"n{abs(hash(request.node.nodeid))}"
    with Installation(folder=tmp_path, database=postgres.create_database(name)) as made:
        yield made


@pytest_asyncio.fixture
async def person(deployment: Deployment) -> AsyncIterator[Person]:
    """Somebody who is logged in at the deployment."""
    visitor = Person(deployment.url)
    await visitor.log_in(deployment.password)
    yield visitor
    await visitor.close()
