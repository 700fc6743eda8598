"""The scripted provider itself: it must refuse what real ones refuse."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, text
from tests.history_faults import history_fault

USER = {"role": "user", "content": "hi"}


def assistant(*ids: str, name: str = "echo__ping", arguments: Any = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    made = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "pong"}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, assistant("a", "b"), tool("a"), tool("b"), USER],
        [USER, assistant("a"), tool("a"), assistant("a"), tool("a")],
        [{"role": "system", "content": "x"}, USER, {"role": "assistant", "content": ""}],
    ],
)
def test_well_paired_histories_pass(messages: list[dict[str, Any]]) -> None:
    assert history_fault(messages) == ""


@pytest.mark.parametrize(
    "messages",
    [
        [USER, assistant("a")],
        [USER, assistant("a"), USER],
        [USER, assistant("a"), USER, tool("a")],
        [USER, assistant("a", "b"), tool("a"), USER],
        [USER, tool("a")],
        [USER, assistant("a"), tool("a"), tool("a")],
        [USER, assistant("a", "a"), tool("a"), tool("a")],
        [USER, assistant(""), tool("")],
        [USER, assistant("a", name=""), tool("a")],
        [USER, assistant("a", name="x.y"), tool("a")],
        [USER, assistant("a", arguments={}), tool("a")],
        [USER, {"role": "assistant", "content": None}],
        [USER, {"role": "assistant", "content": "a", "tool_calls": []}],
        [{"role": "user", "content": None}],
        [{"role": "robot", "content": "x"}],
    ],
)
def test_badly_paired_histories_are_refused(messages: list[dict[str, Any]]) -> None:
    assert history_fault(messages)


def test_ids_and_system_messages_can_be_restricted() -> None:
    paired = [USER, assistant("call_1"), tool("call_1")]
    assert "must match" in history_fault(paired, id_pattern="[a-zA-Z0-9]{9}")
    late = [USER, {"role": "system", "content": "x"}]
    assert history_fault(late, system_first=True)
    assert not history_fault(late)


def test_a_fault_makes_the_test_fail() -> None:
    def send() -> None:
        with FakeProvider([text("a")]) as provider:
            body = json.dumps({"model": "m", "messages": [USER, tool("a")]}).encode()
            url = f"{provider.base_url}/chat/completions"
            with pytest.raises(urllib.error.HTTPError, match="400") as caught:
                urllib.request.urlopen(urllib.request.Request(url, body), timeout=10)
            caught.value.close()

    with pytest.raises(AssertionError, match="refused messages"):
        send()


def test_it_runs_as_a_program(tmp_path: Path) -> None:
    script = tmp_path / "steps.json"
    script.write_text(json.dumps([{"text": "Hello"}]))
    command = [sys.executable, "-m", "tests.fake_provider", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"{process.stdout.readline().strip()}/chat/completions"
            body = json.dumps({"model": "m", "messages": [USER]}).encode()
            with urllib.request.urlopen(urllib.request.Request(url, body), timeout=10) as answer:
                assert "[DONE]" in answer.read().decode()
        finally:
            process.terminate()
