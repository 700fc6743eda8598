"""Which failures the model can correct."""

from __future__ import annotations

import pytest

from agents.loop.correctable import is_correctable
from agents.loop.results import Outcome


def correctable(
    text: str, outcome: Outcome = Outcome.TOOL_ERROR, code: int | None = None, names: str = ""
) -> bool:
    return is_correctable(outcome, text=text, rpc_code=code, own_names=names.split())


@pytest.mark.parametrize("outcome", [Outcome.INVALID_ARGUMENTS, Outcome.UNKNOWN_TOOL])
def test_bad_arguments_and_unknown_tools_are_correctable_whatever_the_text(
    outcome: Outcome,
) -> None:
    assert correctable("connection refused", outcome)


@pytest.mark.parametrize(
    "outcome",
    [
        outcome
        for outcome in Outcome
        if outcome
        not in (
            Outcome.INVALID_ARGUMENTS,
            Outcome.UNKNOWN_TOOL,
            Outcome.TOOL_ERROR,
            Outcome.PROTOCOL_ERROR,
        )
    ],
)
def test_other_outcomes_are_not_even_if_the_text_speaks_of_arguments(outcome: Outcome) -> None:
    assert not correctable("invalid argument", outcome)


@pytest.mark.parametrize(
    ("code", "expected"), [(-32602, True), (-32601, True), (-32603, False), (-1, False)]
)
def test_a_protocol_error_is_judged_by_its_code(code: int, expected: bool) -> None:
    assert correctable("required", Outcome.PROTOCOL_ERROR, code) is expected


def test_a_protocol_error_without_a_code_is_not_correctable() -> None:
    assert not correctable("invalid", Outcome.PROTOCOL_ERROR)


@pytest.mark.parametrize(
    "text",
    [
        "network_id is required",
        "networks must be a list",
        "no such city",
        "the disconnection_time is invalid",
        "'timeout' must be a number",
        "`connection` is missing",
        'Field required: "network"',
        "timeout-ms must be positive",
        "invalid connectionstring",
        '{"loc": ["timeout"], "msg": "Field required"}',
        '{"timeout": "must be a number"}',
        '{"message": "`timeout` must be a number"}',
        "",
    ],
)
def test_texts_that_the_model_can_correct(text: str) -> None:
    assert correctable(text)


@pytest.mark.parametrize(
    "text",
    [
        "connection refused",
        "Connection: invalid argument",
        "request TIMED OUT",
        "read timeout",
        "401 Unauthorized",
        "Forbidden.",
        "service unavailable, required parameter missing",
        "context deadline exceeded",
        "context  canceled",
        "500 Internal Server Error",
        "internal error",
        "Network is unreachable",
        "can't do it: connection lost, don't try",
        '{"error": "timeout"}',
        '{"error": "connection refused"}',
        '{"code": 3, "message":"forbidden", "field": "x"}',
    ],
)
def test_texts_that_the_model_cannot_correct(text: str) -> None:
    assert not correctable(text)


def test_the_tools_own_names_say_nothing() -> None:
    assert correctable("timeout must be at most 60", names="timeout url")
    assert correctable("network-scan: bad range", names="network-scan")
    assert not correctable("timeout: connection lost", names="timeout")
