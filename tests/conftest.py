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
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.running import Runner

LONGEST = ("tests/browser/", "tests/several/")


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those of a browser and those of several processes come first, as they take longest."""

    def place(item: pytest.Item) -> int:
        return next((i for i, part in enumerate(LONGEST) if part in item.nodeid), len(LONGEST))

    items.sort(key=place)


class FromBothEnds(LoadScopeScheduling):
    """How processes share the tests: file by file, the first process from the front of the list,
    the others from its end. So the tests of a browser, which come first, run beside others and not
    beside each other until those are done, and share what they have started."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node is not self.nodes[0]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FromBothEnds:
    """Where the tests run in several processes."""
    return FromBothEnds(config, log)
