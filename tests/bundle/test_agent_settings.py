"""The pair settings.json and config.toml becomes a bundle; nothing in it is lost silently."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.bundle.files import SourceFiles
from agents.bundle.parsing import BundleUnreadable
from agents.bundle.report import Report
from agents.bundle.sources import read_source
from agents.models import Assistant, Server
from tests.bundle.bundles import judge
from tests.bundle.test_import_export import run

SETTINGS: dict[str, Any] = {
    "provider": {
        "baseUrl": "https://models.example.org/api", "apiKeyEnv": "MODELS_KEY",
        "defaultModel": "m1", "fallbackModel": "m2", "timeoutMs": 60000, "maxRetries": 2,
    },
    "agent": {
        "maxLoopTurns": 12, "stopOnNoToolCall": True, "toolResultMaxChars": 8000,
        "appendToolResultAsRole": "tool",
    },
    "session": {
        "transcriptDir": "~/.agent/sessions",
        "compaction": {"enabled": True, "reserveTokensFloor": 8000, "triggerRatio": 0.85},
    },
}  # fmt: skip
CONFIG = """
[agent]
name = "research"
workspace = "~/work"

[tools.allow]
names = ["bash", "read_file", "memory_search"]

[tools.deny]
names = ["write_file"]

[tools.bash]
enabled = true
timeoutMs = 30000
maxOutputChars = 6000
denyPatterns = ["rm -rf /", "shutdown"]

[tools.memory_search]
enabled = false
topK = 5

[loop]
onToolError = "return_to_model"
maxConsecutiveErrors = 4
"""


def convert(texts: dict[str, str], **options: str) -> tuple[Any, dict[str, str]]:
    """The bundle and the warnings by their places."""
    report = Report()
    source = read_source(SourceFiles(name="x", texts=texts), report, **options)
    assert report.faults == [] and source.kind == "settings"
    return source.value, {finding.pointer: finding.message for finding in report.warnings}


def pair() -> dict[str, str]:
    return {"settings.json": json.dumps(SETTINGS), "config.toml": CONFIG}


def test_the_pair_becomes_one_provider_and_one_assistant() -> None:
    bundle, _ = convert(pair())
    assert bundle == {
        "version": 1,
        "providers": [
            {
                "id": "models.example.org", "base_url": "https://models.example.org/api/v1",
                "api_key_env": "MODELS_KEY", "default_model": "m1", "fallback_model": "m2",
                "timeout_ms": 60000, "max_retries": 2,
            }
        ],
        "assistants": [
            {
                "id": "research", "name": "research", "provider": "models.example.org",
                "limits": {"tool_result_max_chars": 8000, "max_consecutive_errors": 4},
                "mcp": {
                    "options": {"max_turn": 12},
                    "servers": [
                        {"server_id": "tools", "tools": ["bash", "read_file", "memory_search"]}
                    ],
                },
                "approval": {"tools.write_file": "deny", "tools.memory_search": "deny"},
                "on_tool_error": "return_to_model",
                "compaction": {"enabled": True, "reserve_tokens": 8000, "trigger_ratio": 0.85},
            }
        ],
    }  # fmt: skip
    faults = judge(bundle)[1].faults
    assert [fault.pointer for fault in faults] == ["/assistants/0/mcp/servers/0"]


def test_each_setting_without_a_counterpart_is_listed() -> None:
    _, warnings = convert(pair())
    assert set(warnings) == {
        "settings.json#/provider/baseUrl", "settings.json#/agent/stopOnNoToolCall",
        "settings.json#/agent/appendToolResultAsRole", "settings.json#/session/transcriptDir",
        "config.toml#/agent/workspace", "config.toml#/tools", "config.toml#/tools/bash/timeoutMs",
        "config.toml#/tools/bash/maxOutputChars", "config.toml#/tools/bash/denyPatterns",
        "config.toml#/tools/memory_search/topK",
    }  # fmt: skip
    for name in ("stopOnNoToolCall", "appendToolResultAsRole"):
        assert "how the loop works anyway" in warnings[f"settings.json#/agent/{name}"]
    assert "bash, read_file, memory_search" in warnings["config.toml#/tools"]
    changed = json.loads(json.dumps(SETTINGS))
    changed["agent"]["stopOnNoToolCall"] = False
    changed["provider"]["apiKey"] = "sk-topsecret"
    _, warnings = convert({"settings.json": json.dumps(changed)})
    assert "no counterpart" in warnings["settings.json#/agent/stopOnNoToolCall"]
    assert "sk-topsecret" not in repr(warnings)


def test_deny_alone_keeps_all_other_tools() -> None:
    bundle, _ = convert({"config.toml": '[tools]\ndeny = ["bash"]'}, tools_server="shell")
    assert bundle["assistants"][0]["approval"] == {"shell.bash": "deny"}
    assert bundle["assistants"][0]["mcp"]["servers"] == [{"server_id": "shell", "tools": None}]


def test_an_empty_allow_list_allows_nothing() -> None:
    bundle, _ = convert({"config.toml": "[tools.allow]\nnames = []"})
    assert bundle["assistants"][0]["mcp"]["servers"] == [{"server_id": "tools", "tools": []}]


def test_a_text_without_a_name_is_told_by_what_is_in_it() -> None:
    assert convert({"pasted": json.dumps(SETTINGS)})[0]["providers"]
    assert convert({"pasted": CONFIG})[0]["assistants"][0]["id"] == "research"
    report = Report()
    source = read_source(SourceFiles(name="x", texts={"pasted": "version: 1"}), report)
    assert (source.kind, source.value) == ("bundle", {"version": 1})


def test_what_is_nothing_that_is_known_says_what_was_expected() -> None:
    with pytest.raises(BundleUnreadable, match=r"package\.yao.*settings\.json.*got a\.json, b"):
        read_source(SourceFiles(name="x", texts={"b.json": "{}", "a.json": "{}"}), Report())
    with pytest.raises(BundleUnreadable, match="no file of a kind"):
        read_source(SourceFiles(name="x", texts={}), Report())
    with pytest.raises(BundleUnreadable, match="broken TOML"):
        read_source(SourceFiles(name="x", texts={"config.toml": "[a"}), Report())


def told_by(paths: list[str]) -> str:
    """What the command says on standard error, with faults."""
    err = io.StringIO()
    with pytest.raises(CommandError):
        call_command("import_config", *paths, stdout=io.StringIO(), stderr=err)
    return err.getvalue()


@pytest.mark.django_db
def test_the_command_takes_both_files_and_the_server_of_their_tools(tmp_path: Path) -> None:
    paths = []
    for name, text in pair().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        paths.append(str(tmp_path / name))
    with pytest.raises(CommandError, match="1 fault"):
        run("import_config", *paths)
    assert not Assistant.objects.filter(is_system=False).exists()
    message = "there is no server 'tools' in the bundle or in the database (assistant research)"
    assert f"/assistants/0/mcp/servers/0: {message}\n" in told_by(paths)
    Server.objects.create(server_id="shell", transport="stdio", command="shell")
    run("import_config", *paths, "--tools-server", "shell")
    row = Assistant.objects.get(assistant_id="research")
    assert (row.max_turn, row.max_consecutive_errors) == (12, 4)
    assert row.approval == {"shell.write_file": "deny", "shell.memory_search": "deny"}
    assert row.server_links.get().allowed_tools == ["bash", "read_file", "memory_search"]
