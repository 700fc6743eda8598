"""The measurements in their short forms: what they assert holds for a few runs and browsers too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.several.processes import ROOT, environment


def measured(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT, env=environment(""), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_many_runs_at_once_are_all_answered(database: str) -> None:
    said = measured("bench.many_runs", "--runs", "12", "--rounds", "1", "--database", database)
    assert "locked" not in said
    assert "turns/s" in said


@pytest.mark.parametrize("more", [[], ["--across"]], ids=["one process", "across processes"])
def test_many_browsers_are_shown_every_word(more: list[str]) -> None:
    said = measured("bench.many_browsers", "--browsers", "12", "--deltas", "150", "--check", *more)
    assert said.count(": 0 wrong") == 2
