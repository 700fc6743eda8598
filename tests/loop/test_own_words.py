"""The texts of errors and hints are recognised, so that pages can say them in other languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.loop.own_words import HINTS, LINES, PROBLEMS, own_problem, own_words, split_hint

ROOT = Path(__file__).parents[2] / "agents"
RAISED = {
    "ContextTooLong", "DelegationRefused", "HookError", "ModelError", "ModelKeyRefused",
    "ArgumentsProblem", "CutOff", "ModelNotFound", "ModelOverloaded", "ModelRefused",
    "ModelUnreachable", "Unreadable", "kind",
}  # fmt: skip
"""What is raised with a line for people and a hint; ``kind`` is one of them."""

BUILT = {"_judge": "agents/providers/openai_errors.py", "_expectation": "agents/loop/arguments.py"}
"""Functions that give such texts back."""


def holes(text: str) -> str:
    """A text with every value in it as ``*``."""
    return re.sub(r"'?%\(\w+\)s'?", "*", text)


KNOWN = {holes(text).replace("more text", "*") for text in LINES + HINTS + PROBLEMS}


def text_of(node: ast.expr) -> str:
    """A literal or an f-string with ``*`` for its values; empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "*"
            for part in node.values
        )
    return ""


def raised_texts(tree: ast.AST) -> Iterator[str]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in RAISED:
            yield from map(text_of, call.args[:1])
            yield from (text_of(given.value) for given in call.keywords if given.arg == "hint")


def returned_texts(tree: ast.AST) -> Iterator[str]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name in BUILT:
            for made in ast.walk(function):
                if isinstance(made, ast.Return) and made.value is not None:
                    parts = made.value.elts if isinstance(made.value, ast.Tuple) else [made.value]
                    yield from map(text_of, parts)


def texts_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {*raised_texts(tree), *returned_texts(tree)}
    return {text for text in found if " " in text.replace("*", "")}


CHECKS = "loop_checks"
"""What checks of a loop raise inside of themselves is no error of a run."""


@pytest.mark.parametrize("room", ["providers", "runs", "loop"])
def test_every_error_of_a_run_has_its_template(room: str) -> None:
    paths = (path for path in (ROOT / room).rglob("*.py") if path.parent.name != CHECKS)
    found = {text for path in paths for text in texts_in(path)}
    if room != "runs":
        assert len(found) > 8
    assert sorted(found - KNOWN) == []


def test_what_a_provider_said_stays_as_it_is() -> None:
    line = "The provider at http://x/v1 refused the key (401): Bad key. Ask: the admin"
    assert own_words(line, lambda text: f"<{text}>") == f"<{line}>"
    reworded = own_words(
        line, lambda text: text.replace("refused the key", "said no"), lambda said: said[:7]
    )
    assert reworded == "The provider at http:// said no (401): Bad key"


@pytest.mark.parametrize("text", ["connection refused", "The provider", "", "Set X"])
def test_what_somebody_else_said_is_none_of_ours(text: str) -> None:
    assert own_words(text, str) is None


def test_the_problems_with_arguments_are_told_one_by_one() -> None:
    text = (
        "Invalid arguments for weather__get: the arguments do not fit the tool's schema: "
        'the required property "city" is missing; /days: expected integer, got "x"; '
        'unknown properties ["a"]; allowed are ["city"]. Received: {"days": "x", "a": 1}'
    )
    assert own_words(text, str) == text
    assert own_words(text, lambda template: f"<{template}>") == (
        "<Invalid arguments for weather__get: <the arguments do not fit the tool's schema: "
        '<<<the required property "city" is missing>; /days: <expected integer, got "x">>; '
        '<unknown properties ["a"]; allowed are ["city"]>>>. Received: {"days": "x", "a": 1}>'
    )


def test_one_problem_keeps_its_pointer() -> None:
    problem = '/a/b: expected integer, got "x"'
    assert own_problem(problem, lambda text: f"<{text}>") == '/a/b: <expected integer, got "x">'


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("It broke: Oh! No. Wait and try again, or use another model.",
         "It broke: Oh! No.", "Wait and try again, or use another model."),
        ("It broke", "It broke", ""),
        ("It broke. Do something. Else.", "It broke. Do something. Else.", ""),
        ("No key. Set MY_KEY and start again.", "No key.", "Set MY_KEY and start again."),
    ],
)  # fmt: skip
def test_the_hint_behind_an_error_is_found(text: str, error: str, hint: str) -> None:
    assert split_hint(text) == (error, hint)
