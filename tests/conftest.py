"""What all tests share: a database in a file of this test process, so that threads and child
processes can open it too."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from tests.running import Runner

TOGETHER = ("browser", "several")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Name the test database after this process: several test runs never meet in one database."""
    test = connections["default"].settings_dict["TEST"]
    if connections["default"].vendor == "sqlite":
        test["NAME"] = str(tmp_path_factory.mktemp("database") / "toolloop.sqlite3")
    else:
        test["NAME"] = f"test_toolloop_{os.getpid()}"


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """Close what the thread of ``sync_to_async`` left open: PostgreSQL drops no database in use."""
    yield
    asyncio.run(sync_to_async(connections.close_all)())


@pytest.fixture
def runner(transactional_db: None, tmp_path: Path) -> Runner:
    """Runs assistants through the commands that people use; see ``tests.running``."""
    return Runner(folder=tmp_path)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Where two processes share the tests: those of a browser, and those of several processes,
    share what they have started, and come first, as they take longest; of the others each file
    stays together."""

    def part(item: pytest.Item) -> str:
        return next((part for part in TOGETHER if f"tests/{part}/" in item.nodeid), "")

    for item in items:
        item.add_marker(pytest.mark.xdist_group(part(item) or item.path.name))
    yield
    items.sort(key=lambda item: (*TOGETHER, "").index(part(item)))
