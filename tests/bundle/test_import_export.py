"""Importing and exporting bundles against the database and through the commands."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.utils import timezone

from agents.bundle.exporting import export_bundle
from agents.bundle.importing import import_bundle
from agents.models import (
    Assistant,
    AssistantServer,
    GlobalPrompt,
    Provider,
    Server,
    Tool,
    ToolSample,
    TrustedName,
)
from agents.system_assistants import default_prompts
from tests.bundle.bundles import BUNDLE, changed

pytestmark = pytest.mark.django_db

FULL: dict[str, Any] = {
    "version": 1,
    "providers": [
        {
            "id": "main", "base_url": "http://127.0.0.1:9001/v1", "api_key_env": "MAIN_KEY",
            "default_model": "m1", "fallback_model": "m2", "vision": True,
            "prices": {"m1": {"input": 1.5}}, "timeout_ms": 5000, "max_retries": 0,
            "system_first_only": True, "tool_call_id_pattern": "^[a-zA-Z0-9]{9}$",
            "call_fields": {"extra_content": {"google": {"thought_signature": "s"}}},
            "plain_schemas": True,
        },
        {"id": "spare", "base_url": "https://example.org/v1"},
    ],
    "servers": [
        {
            "server_id": "echo", "transport": "stdio", "command": "python3",
            "args": ["-u", "echo.py"],
            "env": {"TOKEN": "$ENV.TOKEN", "MODE": "fast"}, "cwd": "/tmp", "review": "warn",
            "tool_timeout_seconds": 3, "tool_max_seconds": 4.5, "parallel_calls": 2,
            "samples": {
                "echo": [
                    {"name": "one", "description": "d", "input": {"message": "hi"}, "output": "hi"},
                    {"name": "two", "input": None, "output": [1, 2.5, None]},
                ],
                "a/b": [{"name": "three"}],
            },
        },
        {
            "server_id": "docs.search", "transport": "http", "url": "http://127.0.0.1:9100/mcp",
            "headers": {"Authorization": "Bearer $ENV.DOCS"},
        },
        {"server_id": "old", "transport": "sse", "url": "http://127.0.0.1:9102/sse"},
        {"server_id": "local", "transport": "python", "module": "myproject.tools"},
    ],
    "assistants": [
        {
            "id": "helper", "name": "Helper", "description": "Helps", "provider": "main",
            "model": "m1", "fallback_model": "m2", "fallback_provider": "spare",
            "fallback_assistant": "other", "starters": ["Hi", {"title": "T", "text": "x"}],
            "disable_global_prompts": True, "prompts": [{"role": "system", "content": "You help."}],
            "prompt_presets": {"short": [{"role": "system", "content": "Be short."}]},
            "mcp": {
                "servers": ["echo", {"docs.search": ["find"]}, {"server_id": "local", "tools": []}],
                "options": {"tool_loop": False, "max_turn": 7.0},
            },
            "options": {"temperature": 0.2, "stop": ["x"]},
            "hooks": {"create": "myproject.hooks.create", "next": "myproject.hooks.next"},
            "limits": {"max_tools": 5, "max_run_tokens": 9000, "parallel_calls": 1},
            "on_tool_error": "fail", "sandbox": True,
            "approval": {"default": "ask", "docs.search.*": "deny"},
            "compaction": {"enabled": False, "trigger_ratio": 0.5, "context_window": 32000},
        },
        {"id": "other", "provider": "spare"},
        {"id": "toolloop.title", "provider": "spare", "model": "small"},
    ],
    "global_prompts": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "x"}],
}  # fmt: skip

MODELS = (
    Provider, Server, ToolSample, Assistant, AssistantServer, GlobalPrompt, TrustedName, Tool,
)  # fmt: skip


def stored_rows() -> dict[str, list[dict[str, Any]]]:
    """Every row of the configuration but for times of day."""
    return {
        model.__name__: [
            {name: value for name, value in row.items() if name != "added_at"}
            for row in model.objects.order_by("pk").values()
        ]
        for model in MODELS
    }


def load(value: Any) -> str:
    """Import a bundle that must have no fault; the summary."""
    outcome = import_bundle(json.dumps(value), name="b.json")
    assert outcome.faults == ()
    return outcome.summary()


def run(command: str, *arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(command, *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_a_bundle_is_stored_as_it_says() -> None:
    assert load(FULL) == (
        "2 providers created, 4 servers created, 2 assistants created, 1 assistant updated, "
        "2 global prompts updated"
    )
    helper = Assistant.objects.get(assistant_id="helper")
    assert helper.provider == Provider.objects.get(provider_id="main")
    assert helper.fallback_assistant == Assistant.objects.get(assistant_id="other")
    assert (helper.max_turn, helper.tool_loop, helper.max_run_tokens) == (7, False, 9000)
    links = helper.server_links.values_list("server__server_id", "allowed_tools")
    assert list(links) == [("echo", None), ("docs.search", ["find"]), ("local", [])]
    echo = Server.objects.get(server_id="echo")
    assert echo.env == {"TOKEN": "$ENV.TOKEN", "MODE": "fast"}
    samples = echo.samples.values_list("tool", "position", "name")
    assert set(samples) == {("echo", 0, "one"), ("echo", 1, "two"), ("a/b", 0, "three")}
    title = Assistant.objects.get(assistant_id="toolloop.title")
    assert (title.provider.provider_id, title.model) == ("spare", "small")
    assert title.prompts == default_prompts("toolloop.title")
    assert title.is_system


def test_importing_twice_gives_the_same() -> None:
    load(FULL)
    before = stored_rows()
    assert load(FULL) == (
        "2 providers unchanged, 4 servers unchanged, 3 assistants unchanged, "
        "2 global prompts unchanged"
    )
    assert stored_rows() == before


def test_importing_an_export_gives_the_same_database() -> None:
    load(FULL)
    before = stored_rows()
    bundle, notes = export_bundle()
    assert notes == []
    load(bundle)
    assert stored_rows() == before
    Assistant.objects.update(fallback_assistant=None, provider=None, fallback_provider=None)
    Assistant.objects.filter(is_system=False).delete()
    for model in (Server, Provider, GlobalPrompt):
        model.objects.all().delete()
    load(bundle)
    assert export_bundle() == (bundle, [])


def test_a_field_that_an_item_does_not_name_goes_back_to_its_default() -> None:
    load(FULL)
    small = {
        "version": 1,
        "providers": [{"id": "main", "base_url": "http://127.0.0.1:1/v1"}],
        "servers": [{"server_id": "echo", "transport": "python", "module": "m"}],
        "assistants": [{"id": "helper", "provider": "main"}, {"id": "toolloop.title"}],
    }
    load(small)
    fresh = Assistant(assistant_id="helper", name="helper")
    helper = Assistant.objects.get(assistant_id="helper")
    ignored = {"id", "provider", "version"}
    names = [field.name for field in Assistant._meta.fields if field.name not in ignored]
    assert {name: getattr(helper, name) for name in names} == {
        name: getattr(fresh, name) for name in names
    }
    assert helper.server_links.count() == 0
    echo = Server.objects.get(server_id="echo")
    assert (echo.command, echo.args, echo.env, echo.cwd) == ("", [], {}, "")
    assert (echo.tool_timeout_seconds, echo.review, echo.samples.count()) == (None, "block", 0)
    assert Provider.objects.get(provider_id="main").timeout_ms == 60_000
    title = Assistant.objects.get(assistant_id="toolloop.title")
    assert (title.provider, title.model) == (None, "")


def test_what_the_file_does_not_name_stays() -> None:
    load(FULL)
    before = stored_rows()
    load({"version": 1})
    assert stored_rows() == before


def test_a_key_that_was_entered_in_the_admin_stays() -> None:
    load(FULL)
    Provider.objects.filter(provider_id="main").update(api_key="entered-by-hand")
    load(FULL)
    assert Provider.objects.get(provider_id="main").api_key == "entered-by-hand"


def test_true_is_not_taken_for_the_1_that_is_stored() -> None:
    load(changed("assistants/0/options", {"n": 1}))
    load(changed("assistants/0/options", {"n": True}))
    assert Assistant.objects.get(assistant_id="helper").options["n"] is True


def test_a_bundle_with_a_fault_changes_nothing(tmp_path: Path) -> None:
    before = stored_rows()
    bundle = changed("assistants/0/provider", "nobody")
    bundle["servers"][0]["server_id"] = "a_b"
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(bundle))
    err = io.StringIO()
    with pytest.raises(CommandError, match="3 faults, nothing was imported"):
        call_command("import_config", str(path), stderr=err)
    lines = err.getvalue().splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "/servers/0/server_id",
        "/assistants/0/provider",
        "/assistants/0/mcp/servers/1",
    ]
    assert stored_rows() == before


def test_the_command_tells_in_one_line_and_warns_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "bundle.yaml"
    path.write_text(yaml.safe_dump(changed("servers/0/headers", {"X-Api-Key": "abc"})))
    out, err = run("import_config", str(path))
    assert out.count("\n") == 1
    assert "1 provider created" in out
    assert err.startswith("warning: /servers/0/headers/X-Api-Key: ")


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b'{"version": 1,', b""])
def test_a_file_without_a_bundle_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bundle.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CommandError) as caught:
        call_command("import_config", str(path))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_import_puts_what_it_names_on_the_lists() -> None:
    load(FULL)
    trusted = set(TrustedName.objects.values_list("kind", "value", "source"))
    assert trusted == {
        ("host", "127.0.0.1:9001", "bundle"), ("host", "example.org", "bundle"),
        ("host", "127.0.0.1:9100", "bundle"), ("host", "127.0.0.1:9102", "bundle"),
        ("env", "MAIN_KEY", "bundle"), ("env", "TOKEN", "bundle"), ("env", "DOCS", "bundle"),
        ("module", "myproject.tools", "bundle"), ("module", "myproject.hooks", "bundle"),
    }  # fmt: skip


def test_a_whitelist_is_checked_against_the_tools_that_are_known() -> None:
    load(BUNDLE)
    docs = Server.objects.get(server_id="docs")
    docs.protocol = "2025-11-25"
    docs.save()
    now = timezone.now()
    common = {"server": docs, "definition_hash": "x", "first_seen": now, "last_seen": now}
    Tool.objects.create(name="find", **common)
    Tool.objects.create(name="gone", vanished_at=now, **common)
    bundle = changed("assistants/0/mcp/servers", [{"docs": ["find", "gone"]}])
    warnings = import_bundle(json.dumps(bundle)).warnings
    assert [str(warning) for warning in warnings] == [
        "/assistants/0/mcp/servers/0: the server docs has listed no tool 'gone' so far"
    ]


def test_an_export_holds_no_secret() -> None:
    load(FULL)
    Provider.objects.filter(provider_id="spare").update(
        api_key="very-secret", base_url="http://user:pa55word@example.org/v1"
    )
    echo = Server.objects.get(server_id="echo")
    echo.env = {"API_TOKEN": "t0psecret", "MODE": "fast", "TOKEN": "$ENV.TOKEN"}
    echo.args = ["--api-key=abc123", "--token", "def456", "-v", "sk-abcdefghijklmnop1234"]
    echo.save()
    docs = Server.objects.get(server_id="docs.search")
    docs.url = "http://me:s3cret@127.0.0.1:9100/mcp?token=q1w2e3&page=2"
    docs.headers = {"Authorization": "Bearer literal-thing", "Accept": "text/plain"}
    docs.save()
    out, err = run("export_config")
    for secret in ("very-secret", "pa55word", "t0psecret", "abc123", "def456", "sk-abc",
                   "s3cret", "q1w2e3", "literal-thing"):  # fmt: skip
        assert secret not in out + err
    servers = {server["server_id"]: server for server in json.loads(out)["servers"]}
    assert servers["echo"]["env"] == {
        "API_TOKEN": "$ENV.ECHO_API_TOKEN", "MODE": "fast", "TOKEN": "$ENV.TOKEN",
    }  # fmt: skip
    assert servers["echo"]["args"] == [
        "--api-key=$ENV.ECHO_API_KEY", "--token", "$ENV.ECHO_TOKEN", "-v", "$ENV.ECHO_ARGUMENT",
    ]  # fmt: skip
    assert servers["docs.search"]["headers"] == {
        "Authorization": "$ENV.DOCS_SEARCH_AUTHORIZATION", "Accept": "text/plain",
    }  # fmt: skip
    assert servers["docs.search"]["url"] == (
        "http://$ENV.DOCS_SEARCH_USERINFO@127.0.0.1:9100/mcp?token=$ENV.DOCS_SEARCH_TOKEN&page=2"
    )
    assert err.count("note: ") == 9
    assert import_bundle(out).faults == ()


def test_an_export_can_be_yaml_in_a_file(tmp_path: Path) -> None:
    load(FULL)
    before = stored_rows()
    path = tmp_path / "out.yaml"
    assert run("export_config", "--format", "yaml", "--output", str(path)) == ("", "")
    assert yaml.safe_load(path.read_text()) == export_bundle()[0]
    run("import_config", str(path))
    assert stored_rows() == before


def test_an_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_config", "--output", str(tmp_path / "missing" / "x.json"))


def test_an_export_names_a_system_assistant_only_when_it_was_changed() -> None:
    assert export_bundle()[0]["assistants"] == []
    title = Assistant.objects.get(assistant_id="toolloop.title")
    title.prompts = [{"role": "system", "content": "Name it."}]
    title.save()
    assert export_bundle()[0]["assistants"] == [
        {"id": "toolloop.title", "provider": None, "model": "", "prompts": title.prompts}
    ]
