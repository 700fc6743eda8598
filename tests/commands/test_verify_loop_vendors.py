"""``manage.py verify_loop`` against providers that are as strict as vendors are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.commands.test_verify_loop import LOOK, causes, obedient, report, tools, verdicts
from tests.fake_provider import FakeProvider, Json, Step, text
from tests.providers.vendor_faults import refusal_of
from tests.running import Runner

SIGNED = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
SETTINGS = {"plain_schemas": True, "call_fields": SIGNED}
RICH: Json = {**LOOK, "inputSchema": {**LOOK["inputSchema"], "additionalProperties": False}}


def forgetful(body: Json, number: int) -> Step:
    """Takes no call without a signature, and makes none itself until a result is there."""
    refusal = refusal_of("gemini", body)
    if refusal is not None:
        return refusal
    has_result = any(message["role"] == "tool" for message in body["messages"])
    return obedient(body, number) if has_result else text("I cannot look.")


@pytest.mark.parametrize(
    ("settings", "second"), [(SETTINGS, "result_used"), ({"plain_schemas": True}, "result_refused")]
)
def test_a_call_made_by_hand_is_taken_with_the_fields_that_the_provider_wants(
    runner: Runner, settings: dict[str, Any], second: str
) -> None:
    with FakeProvider(forgetful) as provider:
        runner.configure(provider, servers=tools(RICH), provider_fields=settings)
        found, _ = report()
    assert verdicts(found)[0] == "failed"
    assert causes(found)[1] == second
