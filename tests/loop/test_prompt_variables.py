"""Variables in prompts are filled in once; what is unknown stays and is named."""

from __future__ import annotations

from datetime import UTC, datetime

from agents.loop.prompt_variables import fill_variables, unknown_variables, variable_values

VALUES = variable_values(
    now=datetime(2026, 12, 1, 9, 5, tzinfo=UTC), user="Ada", assistant="Desk {{ user }}"
)


def test_all_variables_are_filled_in_however_they_are_spaced() -> None:
    text = "{{date}} {{ time }} {{  user}} {{assistant }}"
    filled = fill_variables(text, VALUES)
    assert filled == "2026-12-01 (Tuesday) 09:05 UTC Ada Desk {{ user }}"


def test_what_is_no_variable_stays() -> None:
    text = "{{ name }} {{}} { user } {{ user | upper }} {% now %} {{ user.name }}"
    assert fill_variables(text, VALUES) == text
    assert unknown_variables(text) == ["name", "user.name"]
    assert unknown_variables("{{ date }} and {{ x }} and {{ x }}") == ["x"]
