"""Limits of single tools, entered in rows."""

from __future__ import annotations

import pytest
from django.test import Client

from agents.models import Assistant
from tests.admin.posting import errors_of, submit
from tests.admin.test_assistants import FORM, desk, notes, weather
from tests.admin.test_versions import page

__all__ = ["desk", "notes", "weather"]

ROW = "tool_limits__{}__{}"


def row(number: int, **fields: str) -> dict[str, str]:
    return {ROW.format(number, name): value for name, value in fields.items()}


def test_limits_are_entered_changed_and_taken_away(operator: Client, desk: Assistant) -> None:
    first = row(1, tool="weather.get", max_calls="3", tool_timeout_seconds="2.5")
    second = row(2, tool="notes.read", tool_result_max_chars="2000", polling="on")
    assert submit(operator, page(desk), FORM, **first, **second).status_code == 302
    desk.refresh_from_db()
    assert desk.tool_limits == {
        "weather.get": {"max_calls": 3, "tool_timeout_seconds": 2.5},
        "notes.read": {"tool_result_max_chars": 2000, "polling": True},
    }
    shown = operator.get(page(desk)).content.decode()
    assert 'value="weather.get"' in shown and 'value="2.5"' in shown
    assert 'name="tool_limits-1-polling" checked' in shown
    emptied = row(1, tool="", tool_result_max_chars="", polling="")
    assert submit(operator, page(desk), FORM, **emptied).status_code == 302
    desk.refresh_from_db()
    assert desk.tool_limits == {"weather.get": {"max_calls": 3, "tool_timeout_seconds": 2.5}}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"tool": "weather.get", "max_calls": "0"}, "weather.get/max_calls: expected a whole"),
        ({"tool": "weather.get", "max_calls": "many"}, "weather.get/max_calls: expected a whole"),
        ({"tool": "weather.get", "tool_max_seconds": "-1"}, "weather.get/tool_max_seconds"),
        ({"tool": "get", "max_calls": "1"}, "a server and a tool such as weather.get"),
        ({"tool": "", "max_calls": "1"}, "Row 1: fill in the column “Tool”."),
    ],
)
def test_what_is_no_limit_is_told_at_the_rows(
    operator: Client, desk: Assistant, fields: dict[str, str], told: str
) -> None:
    answer = submit(operator, page(desk), FORM, **row(1, **fields))
    assert told in errors_of(answer)
    desk.refresh_from_db()
    assert desk.tool_limits == {}
