"""``manage.py check_servers`` against real servers."""

from __future__ import annotations

import io
import json
import sys
import time
from typing import Any

import pytest
from django.core.management import call_command

from agents.bundle.importing import import_bundle
from agents.models import Server, Tool
from tests.servers import stdio_entry

pytestmark = pytest.mark.django_db


def load(*servers: dict[str, Any]) -> None:
    outcome = import_bundle(json.dumps({"version": 1, "servers": servers}))
    assert outcome.faults == ()


def check(*arguments: str) -> tuple[str, str, int]:
    """Standard output, standard error and the exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("check_servers", *arguments, stdout=out, stderr=err)
    except SystemExit as exit:
        code = int(exit.code or 0)
    return out.getvalue(), err.getvalue(), code


def broken_entry(server_id: str) -> dict[str, Any]:
    code = "import sys; sys.exit('cannot start: no database')"
    return {
        "server_id": server_id,
        "transport": "stdio",
        "command": sys.executable,
        "args": ["-S", "-c", code],
    }


def test_all_servers_are_checked_and_their_tools_stored() -> None:
    load(stdio_entry("echo"), stdio_entry("more"))
    out, err, code = check("--json")
    assert (err, code) == ("", 0)
    found = json.loads(out)
    assert [entry["server_id"] for entry in found] == ["echo", "more"]
    echo = found[0]
    assert (echo["status"], echo["protocol"], echo["error"]) == ("ok", "2025-11-25", None)
    assert echo["tools"][:2] == ["echo", "ping"]
    assert set(echo) == {"server_id", "status", "protocol", "tools", "error"}
    assert Tool.objects.filter(server__server_id="echo").count() == len(echo["tools"])
    assert Server.objects.get(server_id="echo").protocol == "2025-11-25"


def test_a_server_that_does_not_answer_is_told_and_the_others_are_checked() -> None:
    load(stdio_entry("echo"), broken_entry("broken"))
    out, _, code = check("--json")
    assert code == 1
    broken, echo = json.loads(out)
    assert (broken["server_id"], broken["status"], broken["tools"]) == ("broken", "unavailable", [])
    assert "cannot start: no database" in broken["error"]
    assert "\n" not in broken["error"]
    assert echo["status"] == "ok"
    assert "cannot start" in Server.objects.get(server_id="broken").last_error


def test_without_json_each_server_is_a_line() -> None:
    load(stdio_entry("echo"), broken_entry("broken"))
    out, _, code = check()
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("broken: unavailable: ")
    assert lines[1].startswith("echo: ok (2025-11-25), tools: echo, ping")


def test_named_servers_alone_are_checked() -> None:
    load(stdio_entry("echo"), broken_entry("broken"))
    out, _, code = check("echo", "--json")
    assert code == 0
    assert [entry["server_id"] for entry in json.loads(out)] == ["echo"]


def test_an_unknown_server_is_told_and_the_json_stays_json() -> None:
    load(stdio_entry("echo"))
    out, err, code = check("echo", "nope", "--json")
    assert code == 1
    assert err == "There is no server 'nope'. Known servers: echo\n"
    assert [entry["server_id"] for entry in json.loads(out)] == ["echo"]


def test_without_servers_the_list_is_empty() -> None:
    assert check("--json") == ("[]\n", "", 0)


def slow_entry(server_id: str, seconds: float) -> dict[str, Any]:
    """The standard server, which begins only after some time."""
    entry = stdio_entry(server_id)
    program, script = entry["args"][-2:]
    code = (
        f"import runpy, sys, time; time.sleep({seconds}); sys.argv = {[program, script]!r};"
        f"runpy.run_path({program!r}, run_name='__main__')"
    )
    return {**entry, "args": ["-S", "-E", "-c", code]}


def test_servers_are_checked_at_the_same_time() -> None:
    load(*(slow_entry(f"s{number}", 0.6) for number in range(5)))
    begun = time.perf_counter()
    out, _, code = check("--json")
    assert code == 0
    assert len(json.loads(out)) == 5
    assert time.perf_counter() - begun < 5 * 0.6
