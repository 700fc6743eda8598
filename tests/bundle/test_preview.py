"""The preview of an import tells what an import then does, and writes nothing."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from agents.bundle.changes import FieldChange, ImportPlan
from agents.bundle.importing import ImportOutcome, import_value, preview_value
from agents.bundle.report import Report
from agents.management.commands.import_config import field_line
from agents.models import Assistant, Provider, Server
from tests.bundle.test_import_export import FULL, load, run, stored_rows

pytestmark = pytest.mark.django_db

KEY = "sk-abcdefghijklmnopqrstuvwxyz0123"


def full(path: str = "", value: Any = None) -> dict[str, Any]:
    """The full bundle with one member changed."""
    bundle = copy.deepcopy(FULL)
    if path:
        *parents, last = path.split("/")
        target: Any = bundle
        for key in parents:
            target = target[int(key)] if isinstance(target, list) else target[key]
        target[int(last) if isinstance(target, list) else last] = value
    return bundle


def preview(value: Any) -> ImportPlan:
    outcome = preview_value(value, Report())
    assert outcome.faults == ()
    return outcome.plan


def counts(plan: ImportPlan) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in plan.items:
        found[item.change] = found.get(item.change, 0) + 1
    return found


def changes(plan: ImportPlan) -> dict[str, tuple[str | None, str | None]]:
    """Before and after of every field of what is there already."""
    return {
        f"{item.item_id}:{field.path}": (field.before, field.after)
        for item in plan.items
        if item.change == "updated"
        for field in item.fields
    }


def test_a_preview_writes_nothing_and_says_what_is_new() -> None:
    before = stored_rows()
    plan = preview(FULL)
    assert stored_rows() == before
    assert counts(plan) == {"created": 8, "updated": 2}
    helper = next(item for item in plan.items if item.item_id == "helper")
    shown = {field.path: field.after for field in helper.fields}
    assert shown["limits/max_tools"] == "5"
    assert shown["mcp/servers/docs.search"] == '["find"]'
    assert shown["hooks/create"] == "myproject.hooks.create"
    assert "limits/repeat_limit" not in shown
    assert all(field.before is None for field in helper.fields)


def test_what_is_stored_already_is_unchanged() -> None:
    load(FULL)
    plan = preview(FULL)
    assert plan.is_empty
    assert counts(plan) == {"unchanged": 10}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("providers/0/timeout_ms", 7000, {"main:timeout_ms": ("5000", "7000")}),
        ("providers/0/prices/m1/input", 2, {"main:prices/m1/input": ("1.5", "2")}),
        ("servers/0/env/MODE", "slow", {"echo:env/MODE": ("fast", "slow")}),
        ("servers/0/cwd", None, {"echo:cwd": ("/tmp", None)}),
        ("servers/0/tool_max_seconds", 5, {"echo:tool_max_seconds": ("4.5", "5")}),
        ("servers/0/samples/echo/0/output", "ho", {"echo:samples/echo/0/output": ("hi", "ho")}),
        ("assistants/0/approval/default", "allow", {"helper:approval/default": ("ask", "allow")}),
        ("assistants/0/limits/max_run_tokens", None,
         {"helper:limits/max_run_tokens": ("9000", None)}),
        ("assistants/0/fallback_provider", "main", {"helper:fallback_provider": ("spare", "main")}),
        ("assistants/0/fallback_assistant", None, {"helper:fallback_assistant": ("other", None)}),
        ("assistants/0/mcp/servers/1", "docs.search",
         {"helper:mcp/servers/docs.search": ('["find"]', "*")}),
        ("assistants/0/mcp/servers", ["local", "echo", {"docs.search": ["find"]}],
         {"helper:mcp/servers/local": ("-", "*"),
          "helper:mcp/servers": ('["echo", "docs.search", "local"]',
                                 '["local", "echo", "docs.search"]')}),
        ("assistants/2/model", "large", {"toolloop.title:model": ("small", "large")}),
        ("global_prompts/0/content", "Be brief.",
         {":global_prompts/0/content": ("Be kind.", "Be brief.")}),
        ("assistants/0/prompt_presets/short", [],
         {"helper:prompt_presets/short/0/role": ("system", None),
          "helper:prompt_presets/short/0/content": ("Be short.", None),
          "helper:prompt_presets/short": (None, "[]")}),
    ],
)  # fmt: skip
def test_each_field_is_told_before_and_after_and_counts_are_those_of_the_import(
    path: str, value: Any, expected: dict[str, tuple[str | None, str | None]]
) -> None:
    load(FULL)
    plan = preview(full(path, value))
    assert changes(plan) == expected
    outcome = import_value(full(path, value), Report())
    updated = sum(
        count["updated"] for name, count in outcome.counts.items() if "prompt" not in name
    )
    assert updated == (0 if path.startswith("global") else 1)
    assert preview(full(path, value)).is_empty


def test_secrets_are_never_shown_but_their_change_is() -> None:
    bundle = full("servers/0/env/TOKEN", KEY)
    bundle["servers"][1]["headers"] = {"X-Team": "red", "Authorization": f"Bearer {KEY}"}
    bundle["servers"][1]["url"] = "http://me:pass-word@127.0.0.1:9100/mcp"
    bundle["servers"][0]["args"] = ["--token", "hush-hush", "--api-key=sesame", "plain"]
    bundle["assistants"][0]["options"]["user_secret"] = "sesame"
    first = repr(preview(bundle))
    load(bundle)
    other = json.loads(
        json.dumps(bundle).replace(KEY, KEY[::-1]).replace("sesame", "open").replace(
            "hush-hush", "hush-hi").replace("pass-word", "pass-phrase").replace("red", "blue")
    )  # fmt: skip
    plan = preview(other)
    for secret in (KEY, KEY[::-1], "sesame", "hush", "pass-", "red", "blue"):
        assert secret not in first.replace("api_key", "") and secret not in repr(plan)
    hidden = {f.path for item in plan.items for f in item.fields if f.is_secret}
    assert {"env/TOKEN", "headers/Authorization", "headers/X-Team", "url", "args"} <= hidden
    assert "options/user_secret" in hidden


def test_commands_are_shown_where_they_are_new_or_changed() -> None:
    line = "TOKEN=$ENV.TOKEN MODE=fast python3 -u echo.py  (/tmp)"
    assert preview(FULL).commands == (("echo", line),)
    load(FULL)
    assert preview(full("servers/0/parallel_calls", 3)).commands == ()
    assert preview(full("servers/0/args/1", "x y.py")).commands == (
        ("echo", 'TOKEN=$ENV.TOKEN MODE=fast python3 -u "x y.py"  (/tmp)'),
    )


def test_an_import_that_is_not_the_one_expected_writes_nothing() -> None:
    load(FULL)
    wanted = full("providers/0/timeout_ms", 7000)
    fingerprint = preview(wanted).fingerprint
    Provider.objects.filter(provider_id="main").update(timeout_ms=6000)
    outcome: ImportOutcome = import_value(wanted, Report(), expected=fingerprint)
    assert outcome.is_stale and outcome.counts == {}
    assert Provider.objects.get(provider_id="main").timeout_ms == 6000
    again = import_value(wanted, Report(), expected=preview(wanted).fingerprint)
    assert not again.is_stale
    assert Provider.objects.get(provider_id="main").timeout_ms == 7000


def test_the_command_shows_a_preview_and_writes_nothing(tmp_path: Path) -> None:
    load(FULL)
    file = tmp_path / "b.json"
    bundle = full("assistants/0/limits/max_tools", 7)
    bundle["servers"].append({"server_id": "new", "transport": "stdio", "command": "uvx"})
    file.write_text(json.dumps(bundle), encoding="utf-8")
    before = stored_rows()
    out, _ = run("import_config", str(file), "--preview")
    assert stored_rows() == before
    assert "updated    assistant helper\n    limits/max_tools: 5 -> 7\n" in out
    assert "created    server new\n    transport: stdio\n    command: uvx\n" in out
    assert "runs on this machine, for new: uvx\n" in out
    assert "unchanged  provider main\n" in out
    assert "trusts" not in out
    assert out.endswith("nothing was imported\n")


def test_the_command_names_what_would_be_trusted_and_whitelists_in_words(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(json.dumps(FULL), encoding="utf-8")
    out, _ = run("import_config", str(file), "--preview")
    assert "trusts the env MAIN_KEY\n" in out and "trusts the module myproject.hooks\n" in out
    assert "    mcp/servers/echo: all tools\n" in out
    assert "    mcp/servers/local: no tool\n" in out


def test_a_preview_with_faults_tells_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(json.dumps(full("providers/0/base_url", 7)), encoding="utf-8")
    with pytest.raises(CommandError, match="1 fault"):
        run("import_config", str(file), "--preview")
    assert not Server.objects.exists()
    assert not Assistant.objects.filter(is_system=False).exists()


def test_a_secret_that_changes_says_so_in_a_line() -> None:
    field = FieldChange(path="env/TOKEN", before="\u2022", after="\u2022", is_secret=True)
    assert field_line(field) == "env/TOKEN: \u2022 -> \u2022 (changed, not shown)"
