"""How much a trace takes: what was sent again is not stored again."""

from __future__ import annotations

import json

import pytest
from django.db import connection

from tests.fake_provider import FakeProvider, Json, Step, call, calls, text
from tests.running import Runner
from tests.traces.reading_tool import prose
from traces.models import Trace

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 40
STORED = """
    SELECT (SELECT sum(length(content) + 80) FROM traces_blob)
         + (SELECT sum(length(CAST(attributes AS text)) + 200) FROM traces_span)
"""
"""Bytes of payloads and spans, with what their other columns take."""


def test_forty_turns_store_less_than_a_tenth_of_what_was_sent(runner: Runner) -> None:
    def step(body: Json, number: int) -> Step:
        if number == REQUESTS - 1:
            return text("That was the last page.")
        return calls(call(f"c{number}", "book__read_page", {"number": number}))

    with FakeProvider(step) as provider:
        runner.configure(
            provider,
            servers=[
                {
                    "server_id": "book",
                    "transport": "python",
                    "module": "tests.traces.reading_tool",
                }
            ],
            assistant={
                "prompts": [{"role": "system", "content": prose(-1)}],
                "mcp": {"options": {"max_turn": REQUESTS}},
            },
        )
        ran = runner.run("Read the whole book.")
        sent = sum(len(json.dumps(request.body)) for request in provider.requests)
    assert ran.finished["answer"] == "That was the last page."
    assert len(provider.requests) == REQUESTS and Trace.objects.get().is_indexed
    with connection.cursor() as cursor:
        cursor.execute(STORED)
        [stored] = cursor.fetchone()
    assert stored < sent / 10, f"{stored} of {sent}"
