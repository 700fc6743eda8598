"""Yao's own files become a bundle; what has no counterpart is listed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError

from agents.bundle.files import SourceFiles
from agents.bundle.relaxed_json import plain_json
from agents.bundle.report import Report
from agents.bundle.sources import read_source
from agents.models import Assistant, Provider, Server
from tests.bundle.bundles import judge
from tests.bundle.test_import_export import run

PACKAGE = """// The keeper
{
  "name": "Keeper", /* shown */
  "type": "assistant",
  "connector": "openai.gpt-4o",
  "description": "Keeps // things",
  "options": { "temperature": 0.5 },
  "mcp": {
    "servers": [
      "echo",
      { "server_id": "tools", "tools": ["search", "create"], "resources": ["data://*"] },
      { "docs": ["find"] },
    ],
    "options": { "tool_loop": true, "max_turn": 7, "extra": 1 },
  },
  "placeholder": { "title": "Hello", "prompts": ["What is there?"] },
  "kb": { "collections": ["a"] },
  "tags": ["x"],
}
"""
APPLICATION = {
    "assistants/keeper/package.yao": PACKAGE,
    "assistants/keeper/prompts.yml": (
        "- role: system\n  name: main\n  content: |\n"
        "    You keep. Today is {{ $CTX.date }}, $CTX.locale.\n"
    ),
    "assistants/keeper/prompts/chat/kind.yml": "- role: system\n  content: Be kind.\n",
    "assistants/keeper/src/index.ts": "",
    "assistants/keeper/mcps/tools.mcp.yao": json.dumps(
        {
            "label": "Tools", "transport": "stdio", "command": "python", "timeout": "1m30s",
            "arguments": ["tools.py"], "env": {"API_KEY": "$ENV.API_KEY"},
        }
    ),
    "mcps/docs.mcp.yao": json.dumps(
        {"transport": "http", "url": "https://docs.example.org/mcp",
         "authorization_token": "Bearer $ENV.DOCS"}
    ),
    "mcps/echo.mcp.yao": json.dumps(
        {"transport": "process", "tools": {"ping": "scripts.mcp.Ping"}, "resources": {}}
    ),
    "mcps/mapping/echo/schemes/ping.jsonl": '{"name": "one", "input": {}, "output": "pong"}\n\n',
    "mcps/mapping/echo/schemes/ping.in.yao": "{}",
    "connectors/openai/gpt-4o.conn.yao": json.dumps(
        {"label": "GPT", "type": "openai", "options": {
            "model": "gpt-4o", "host": "https://api.openai.com", "key": "$ENV.OPENAI_API_KEY",
            "capabilities": {"vision": True, "streaming": True}}}
    ),
}  # fmt: skip


def convert(texts: dict[str, str], name: str = "app") -> tuple[dict[str, object], dict[str, str]]:
    """The bundle, which must have no fault, and the warnings by their places."""
    report = Report()
    files = SourceFiles(
        name=name,
        texts={path: text for path, text in texts.items() if not path.endswith(".ts")},
        unread=tuple(path for path in texts if path.endswith(".ts")),
    )
    source = read_source(files, report)
    assert report.faults == []
    assert isinstance(source.value, dict) and source.kind == "yao"
    return source.value, {finding.pointer: finding.message for finding in report.warnings}


def test_an_application_becomes_a_bundle_that_is_valid() -> None:
    bundle, _ = convert(APPLICATION)
    assert bundle == {
        "version": 1,
        "providers": [
            {
                "id": "openai.gpt-4o", "base_url": "https://api.openai.com/v1",
                "default_model": "gpt-4o", "api_key_env": "OPENAI_API_KEY", "vision": True,
            }
        ],
        "servers": [
            {
                "server_id": "agents.keeper.tools", "transport": "stdio", "command": "python",
                "args": ["tools.py"], "env": {"API_KEY": "$ENV.API_KEY"},
                "tool_max_seconds": 90.0,
            },
            {
                "server_id": "docs", "transport": "http", "url": "https://docs.example.org/mcp",
                "headers": {"Authorization": "Bearer $ENV.DOCS"},
            },
            {
                "server_id": "echo", "transport": "python", "module": "mcps.echo",
                "samples": {"ping": [{"name": "one", "input": {}, "output": "pong"}]},
            },
        ],
        "assistants": [
            {
                "id": "keeper", "provider": "openai.gpt-4o", "name": "Keeper",
                "description": "Keeps // things", "options": {"temperature": 0.5},
                "mcp": {
                    "servers": [
                        "echo",
                        {"server_id": "agents.keeper.tools", "tools": ["search", "create"]},
                        {"server_id": "docs", "tools": ["find"]},
                    ],
                    "options": {"tool_loop": True, "max_turn": 7},
                },
                "starters": ["What is there?"],
                "prompts": [
                    {"role": "system", "content": "You keep. Today is {{ date }}, $CTX.locale.\n"}
                ],
                "prompt_presets": {"chat.kind": [{"role": "system", "content": "Be kind."}]},
            }
        ],
    }  # fmt: skip
    assert judge(bundle)[1].faults == []


def test_what_has_no_counterpart_is_listed_with_its_place() -> None:
    _, warnings = convert(APPLICATION)
    package = "assistants/keeper/package.yao#"
    assert {
        f"{package}/type", f"{package}/kb", f"{package}/tags", f"{package}/placeholder/title",
        f"{package}/mcp/options/extra", f"{package}/mcp/servers/1/resources",
        "assistants/keeper/prompts.yml#/0/name", "assistants/keeper/prompts.yml#/0/content",
        "assistants/keeper/src/index.ts", "assistants/keeper/mcps/tools.mcp.yao#/label",
        "mcps/echo.mcp.yao#/tools", "mcps/echo.mcp.yao#/resources",
        "mcps/mapping/echo/schemes/ping.in.yao", "connectors/openai/gpt-4o.conn.yao#/label",
        "connectors/openai/gpt-4o.conn.yao#/options/host",
    } == set(warnings)  # fmt: skip
    assert "module mcps.echo with the functions ping" in warnings["mcps/echo.mcp.yao#/tools"]
    assert "Python" in warnings["assistants/keeper/src/index.ts"]


def test_one_assistant_alone_is_called_by_its_folder_or_zip() -> None:
    texts = {"package.yao": '{"name": "A", "connector": "main"}'}
    bundle, _ = convert(texts, name="downloads/keeper.v2.zip")
    assert bundle["assistants"] == [
        {"id": "keeper", "provider": "main", "name": "A", "mcp": {"servers": [], "options": {}}}
    ]


def test_secrets_that_are_written_out_are_not_repeated_in_warnings() -> None:
    texts = {
        "connectors/a.conn.yao": json.dumps(
            {"type": "openai", "options": {"host": "https://x.org/v1", "key": "sk-topsecret",
                                           "proxy_token": "hush"}}
        )
    }  # fmt: skip
    bundle, warnings = convert(texts)
    assert bundle["providers"] == [{"id": "a", "base_url": "https://x.org/v1"}]
    assert "sk-topsecret" not in repr(warnings) and "hush" not in repr(warnings)
    assert set(warnings) == {
        "connectors/a.conn.yao#/options/key", "connectors/a.conn.yao#/options/proxy_token",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("It is $SYS.DATETIME.", "It is {{ date }} {{ time }}."),
        ("{{$CTX.time}} in $CTX.timezone", "{{ time }} in $CTX.timezone"),
        ("$5 and {{ name }}", "$5 and {{ name }}"),
    ],
)
def test_date_and_time_in_prompts_are_named_as_here(theirs: str, ours: str) -> None:
    prompts = json.dumps([{"role": "system", "content": theirs}])
    bundle, _ = convert({"package.yao": '{"connector": "m"}', "prompts.yml": prompts})
    [assistant] = bundle["assistants"]  # type: ignore[misc]
    assert assistant["prompts"] == [{"role": "system", "content": ours}]


def test_an_address_from_a_variable_is_told_and_is_a_fault() -> None:
    options = {"host": "$ENV.HOST", "model": "m"}
    bundle, warnings = convert({"connectors/a.conn.yao": json.dumps({"options": options})})
    assert "write it out" in warnings["connectors/a.conn.yao#/options/host"]
    assert [fault.pointer for fault in judge(bundle)[1].faults] == ["/providers/0/base_url"]


def test_of_many_unread_files_the_first_are_named_and_the_others_counted() -> None:
    texts = {f"src/{n:02}.ts": "" for n in range(53)}
    _, warnings = convert({"package.yao": '{"connector": "main"}', **texts})
    assert "src/49.ts" in warnings and "src/50.ts" not in warnings
    assert warnings[""] == "3 more files are not read"


def test_underscores_in_server_ids_become_hyphens_everywhere() -> None:
    bundle, warnings = convert(
        {
            "mcps/my_docs.mcp.yao": '{"transport": "sse", "url": "https://x.org/sse"}',
            "assistants/a/package.yao": '{"connector": "main", "mcp": {"servers": ["my_docs"]}}',
        }
    )
    assert bundle["servers"] == [
        {"server_id": "my-docs", "transport": "sse", "url": "https://x.org/sse"}
    ]
    assert bundle["assistants"][0]["mcp"]["servers"] == ["my-docs"]  # type: ignore[index]
    assert "my-docs" in warnings["mcps/my_docs.mcp.yao#"]


def test_an_empty_whitelist_means_no_tool_and_says_so() -> None:
    mcp = {"servers": [{"server_id": "docs", "tools": []}]}
    bundle, warnings = convert({"package.yao": json.dumps({"connector": "m", "mcp": mcp})})
    [assistant] = bundle["assistants"]  # type: ignore[misc]
    assert assistant["mcp"]["servers"] == [{"server_id": "docs", "tools": []}]
    assert "package.yao#/mcp/servers/0/tools" in warnings


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('{"a": "// no" // yes\n}', '{"a": "// no"       \n}'),
        ('{"a": "\\"/*", /* b\n c */ "d": 1,}', '{"a": "\\"/*",     \n      "d": 1 }'),
        ('[1, 2, // last\n]', "[1, 2         \n]"),
        ('{"a": ",]"}', '{"a": ",]"}'),
        ("[1,, 2]", "[1,, 2]"),
    ],
)  # fmt: skip
def test_comments_and_last_commas_become_blanks(text: str, plain: str) -> None:
    assert plain_json(text) == plain


@pytest.mark.django_db
def test_the_command_reads_a_directory_its_package_and_a_zip(tmp_path: Path) -> None:
    folder = tmp_path / "keeper"
    for path, text in APPLICATION.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "link.json").symlink_to("/etc/hostname")
    out, err = run("import_config", str(folder), "--preview")
    assert "created    assistant keeper\n" in out and not Server.objects.exists()
    assert "warning: assistants/keeper/package.yao#/kb: has no counterpart here" in err
    assert "link.json" not in err
    run("import_config", str(folder))
    assert Provider.objects.get().api_key_env == "OPENAI_API_KEY"
    assert Assistant.objects.get(assistant_id="keeper").max_turn == 7
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path, text in APPLICATION.items():
            target.writestr(path, text)
    assert "1 assistant unchanged" in run("import_config", str(archive))[0]
    package = folder / "assistants" / "keeper" / "package.yao"
    out, err = run("import_config", str(package), "--preview")
    assert "updated    assistant keeper" not in out


@pytest.mark.django_db
def test_a_connector_that_is_not_there_is_a_fault_with_its_pointer(tmp_path: Path) -> None:
    (tmp_path / "package.yao").write_text('{"connector": "gpt"}', encoding="utf-8")
    with pytest.raises(CommandError, match="1 fault"):
        run("import_config", str(tmp_path))


@pytest.mark.django_db
def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "package.yao").write_text('{\n// x\n"a": }', encoding="utf-8")
    with pytest.raises(CommandError, match=r"package.yao: broken JSON, line 3"):
        run("import_config", str(tmp_path))
