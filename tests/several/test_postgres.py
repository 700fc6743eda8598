"""The application on PostgreSQL: tests that were written for any database, run there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.several.processes import ROOT, environment
from tests.several.services import Postgres

SAMPLE = {
    "rules of the database": ["tests/test_database_rules.py", "tests/runs/test_statements.py"],
    "runs and their endings": ["tests/faults/test_endings.py", "tests/faults/test_approvals.py"],
    "lost workers": ["tests/faults/test_lost_workers.py", "tests/runs/test_message_recorder.py"],
    "pages and their search": ["tests/chat/test_pages.py", "tests/chat/test_conversation.py"],
    "traces and their search": ["tests/traces/test_search.py", "tests/traces/test_recorder.py"],
    "memory and folded conversations": ["tests/memory", "tests/faults/test_compaction.py"],
    "chains of models": ["tests/faults/test_provider_chain.py"],
    "configuration": ["tests/bundle/test_import_export.py", "tests/admin/test_providers.py"],
}


@pytest.mark.parametrize("what", SAMPLE)
def test_on_postgresql_all_is_as_it_is_on_sqlite(postgres: Postgres, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SAMPLE[what]],
        cwd=ROOT,
        env=environment(postgres.url),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout
