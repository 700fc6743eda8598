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


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_killed_worker_loses_nothing_and_does_nothing_twice(database: str) -> None:
    said = measured(
        "bench.killed_workers", "--runs", "12", "--at-once", "6", "--database", database, "--check"
    )
    assert "12 runs, 2 times killed" in said


def test_every_run_comes_to_an_end_whatever_fails_around_it() -> None:
    assert "/readyz answers 200" in measured("bench.chaos", "--seconds", "12", "--check")


def test_under_load_every_run_is_answered() -> None:
    said = measured("bench.load", "--minutes", "0.3")
    assert " 0 not answered" in said
