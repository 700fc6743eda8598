"""Every fault of a bundle is found at once, with its JSON pointer."""

from __future__ import annotations

from typing import Any

import pytest

from agents.bundle.entries import KnownNames
from tests.bundle.bundles import BUNDLE, changed, faults_of, judge, warnings_of


def test_a_small_bundle_has_no_fault() -> None:
    assert faults_of(BUNDLE) == []


def test_all_faults_are_told_at_once_in_the_order_of_the_file() -> None:
    bundle = changed("servers/0/server_id", "bad_id")
    bundle["providers"][0]["base_url"] = "ftp://x"
    bundle["servers"][2]["comand"] = "x"
    bundle["assistants"][0]["provider"] = "nobody"
    bundle["extra"] = 1
    assert faults_of(bundle) == [
        "/extra",
        "/providers/0/base_url",
        "/servers/0/server_id",
        "/servers/2/comand",
        "/assistants/0/provider",
        "/assistants/0/mcp/servers/1",
    ]


@pytest.mark.parametrize("value", [[], "x", None, 1, True])
def test_a_bundle_that_is_no_object_is_one_fault(value: Any) -> None:
    assert faults_of(value) == [""]


@pytest.mark.parametrize("version", [2, "1", True, None, 0, 1.5])
def test_the_version_must_be_1(version: Any) -> None:
    assert faults_of({**BUNDLE, "version": version}) == ["/version"]


def test_the_version_is_required() -> None:
    assert faults_of({key: BUNDLE[key] for key in BUNDLE if key != "version"}) == ["/version"]


@pytest.mark.parametrize("key", ["providers", "servers", "assistants", "global_prompts"])
@pytest.mark.parametrize("value", [{}, "x", 3, None])
def test_sections_must_be_lists(key: str, value: Any) -> None:
    assert f"/{key}" in faults_of({**BUNDLE, key: value})


@pytest.mark.parametrize(
    ("path", "pointers"),
    [
        ("providers/0", ["/providers/0/base_url", "/providers/0/id"]),
        ("servers/3", ["/servers/3/server_id", "/servers/3/transport"]),
        ("assistants/0", ["/assistants/0/id", "/assistants/0/provider"]),
    ],
)
def test_what_is_required_is_told(path: str, pointers: list[str]) -> None:
    bundle = changed(path, {})
    if path == "providers/0":
        bundle["assistants"] = []
    assert faults_of(bundle) == pointers


@pytest.mark.parametrize(
    ("transport", "key"),
    [("stdio", "command"), ("http", "url"), ("sse", "url"), ("python", "module")],
)
def test_a_transport_needs_its_field(transport: str, key: str) -> None:
    entry = {"server_id": "local", "transport": transport}
    assert faults_of(changed("servers/3", entry)) == [f"/servers/3/{key}"]
    assert faults_of(changed("servers/3", {**entry, key: " "})) == [f"/servers/3/{key}"]


WRONG_TYPES = [
    ("providers/0/timeout_ms", [True, "60000", 0, -1, 1.5, None, 10**12]),
    ("providers/0/max_retries", [True, "2", -1, 0.5]),
    ("providers/0/vision", [1, "true", None]),
    ("providers/0/prices", [[], 1, None]),
    ("providers/0/prices/m1/input", [-1, "1", True, 10**400]),
    ("providers/0/prices/m1/currency", ["$", "eur", 1, None, "EURO", "EUR\n"]),
    ("providers/0/default_model", [1, True, [], "x" * 201]),
    ("providers/0/api_key_env", [1, "sk-abc", "$ENV.KEY", "MY KEY"]),
    (
        "providers/0/base_url",
        ["x", "ftp://h", "http://", "http://h:x", "http://u:p@h", "http://a b"],
    ),
    ("providers/0/id", ["", " ", 5, None, "x" * 101, " a"]),
    ("servers/2/args", ["-v", [1], [None], {"a": 1}]),
    ("servers/2/cwd", [1, []]),
    ("servers/2/tool_timeout_seconds", [True, "30", 0, -1]),
    ("servers/2/parallel_calls", [0, 1.5, True, "4"]),
    ("servers/2/review", ["later", 1, None]),
    ("servers/2/transport", ["websocket", None, 1]),
    ("servers/0/url", ["docs", "file:///x", "http://$ENV"]),
    ("servers/3/module", ["a b", "a.", "1a", "a-b"]),
    ("assistants/0/name", [1, [], "x" * 201]),
    ("assistants/0/disable_global_prompts", ["no", 0]),
    ("assistants/0/sandbox", ["false", 1]),
    ("assistants/0/on_tool_error", ["ignore", 1]),
    ("assistants/0/options", [[], "x"]),
    ("assistants/0/starters", ["x", {}]),
    ("assistants/0/prompts", ["x", {}]),
    ("assistants/0/limits/max_tools", [True, "20", -1, 2.5, None]),
    ("assistants/0/limits/repeat_limit", [0, "3", False]),
    ("assistants/0/limits/run_timeout_seconds", [0, "600", True]),
    ("assistants/0/limits/max_run_tokens", [0, "x", True]),
    ("assistants/0/limits/parallel_calls", [0, None]),
    ("assistants/0/compaction/enabled", [1, "yes"]),
    ("assistants/0/compaction/trigger_ratio", [0, 1.1, True, "0.85"]),
    ("assistants/0/compaction/reserve_tokens", [-1, 0.5]),
    ("assistants/0/compaction/context_window", [0, "128000"]),
    ("assistants/0/hooks/create", ["create", "a..b", 1, "a b.c", "a/b.c"]),
    ("assistants/0/mcp/servers", ["echo", {}]),
    ("assistants/0/fallback_provider", ["nobody", 1]),
    ("assistants/0/fallback_assistant", ["nobody", "helper", 1]),
]


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in WRONG_TYPES for value in values]
)
def test_a_wrong_value_is_one_fault_at_its_place(path: str, value: Any) -> None:
    bundle = changed(path, value)
    if path == "providers/0/id":
        bundle["assistants"] = []
    pointers = faults_of(bundle)
    assert len(pointers) == 1
    assert pointers[0].startswith(f"/{path}")


@pytest.mark.parametrize(
    "path",
    [
        "unknown", "providers/0/api_key", "servers/0/name", "assistants/0/tools",
        "assistants/0/mcp/tools", "assistants/0/mcp/options/turns", "assistants/0/limits/max_turn",
        "assistants/0/hooks/after", "assistants/0/compaction/window", "assistants/0/max_turn",
    ],
)  # fmt: skip
def test_an_unknown_key_is_a_fault(path: str) -> None:
    assert faults_of(changed(path, 1)) == [f"/{path}"]


def test_every_limit_of_the_loop_but_max_turn_can_be_set() -> None:
    limits = {
        "max_tools": 1, "tool_result_max_chars": 2, "turn_result_max_chars": 3.0,
        "max_consecutive_errors": 4, "repeat_limit": 5, "run_timeout_seconds": 0.5,
        "max_run_tokens": None, "tool_timeout_seconds": 7, "tool_max_seconds": 8,
        "parallel_calls": 9, "parameter_attempts": 1,
    }  # fmt: skip
    bundle, report = judge(changed("assistants/0/limits", limits))
    assert report.faults == []
    fields = bundle.assistants[0].fields
    assert {name: fields[name] for name in limits} == limits


@pytest.mark.parametrize(
    ("value", "turns"),
    [(7, 7), (7.0, 7), (1, 1)]
    + [(value, 5) for value in (0, -1, 0.5, "3", True, False, None, [], {}, 7.5, -7.0, 10**12)],
)
def test_a_max_turn_that_is_no_whole_number_from_1_on_becomes_5(value: Any, turns: int) -> None:
    bundle, report = judge(changed("assistants/0/mcp/options/max_turn", value))
    assert report.faults == []
    assert bundle.assistants[0].fields["max_turn"] == turns


@pytest.mark.parametrize(
    ("value", "is_on"),
    [(False, False)] + [(value, True) for value in (True, None, 0, "false", "no", [], 1)],
)
def test_the_tool_loop_is_on_unless_it_is_exactly_false(value: Any, is_on: bool) -> None:
    bundle, report = judge(changed("assistants/0/mcp/options/tool_loop", value))
    assert report.faults == []
    assert bundle.assistants[0].fields["tool_loop"] is is_on


@pytest.mark.parametrize(
    "server_id", ["A", "9", "a-b", "github.enterprise", "-", "x" * 64, "tools"]
)
def test_a_good_server_id_is_taken(server_id: str) -> None:
    assert faults_of(changed("servers/3/server_id", server_id)) == []


@pytest.mark.parametrize(
    "server_id", ["a_b", "a..b", ".a", "a.", "a b", "é", "x" * 65, "a\n", "a/b", "", 5, None]
)
def test_a_bad_server_id_is_a_fault(server_id: Any) -> None:
    assert faults_of(changed("servers/3/server_id", server_id)) == ["/servers/3/server_id"]


def test_ids_that_stand_twice_are_faults_for_servers_without_regard_to_case() -> None:
    bundle = changed("servers/3/server_id", "ECHO")
    bundle["providers"].append(dict(bundle["providers"][0]))
    bundle["assistants"].append(dict(bundle["assistants"][0]))
    pointers = ["/providers/1/id", "/servers/3/server_id", "/assistants/1/id"]
    assert faults_of(bundle) == pointers


def test_a_server_that_differs_from_a_stored_one_by_case_is_a_fault() -> None:
    assert faults_of(BUNDLE, KnownNames(tools={"Echo": None})) == ["/servers/2/server_id"]


def test_fields_of_another_transport_are_faults_unless_empty() -> None:
    entry = {"server_id": "local", "transport": "python", "module": "m", "url": None, "args": []}
    assert faults_of(changed("servers/3", entry)) == []
    assert faults_of(changed("servers/3", {**entry, "url": "http://h", "env": {"A": "b"}})) == [
        "/servers/3/env",
        "/servers/3/url",
    ]


@pytest.mark.parametrize("key", ["env", "headers"])
@pytest.mark.parametrize("value", [1, True, None, [], {}])
def test_variables_and_headers_must_be_text(key: str, value: Any) -> None:
    index = 2 if key == "env" else 0
    path = f"servers/{index}/{key}/NAME"
    assert faults_of(changed(path, value)) == [f"/{path}"]


@pytest.mark.parametrize("value", ["$ENV", "$ENV.", "Bearer $ENV.1A", "$ENV.A $ENV-B", "x$ENV/"])
def test_an_env_reference_without_a_name_is_a_fault(value: str) -> None:
    assert faults_of(changed("servers/2/env/NAME", value)) == ["/servers/2/env/NAME"]
    assert faults_of(changed("servers/2/args", ["ok", value])) == ["/servers/2/args/1"]


@pytest.mark.parametrize("value", ["$ENV.A", "Bearer $ENV.A_1", "$ENVIRONMENT", "$HOME", "100 $"])
def test_an_env_reference_with_a_name_is_fine_though_it_is_not_set(value: str) -> None:
    assert faults_of(changed("servers/2/env/NAME", value)) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [("servers/2/env", "A=B"), ("servers/0/headers", "A B"), ("servers/2/env", "")],
)
def test_names_of_variables_and_headers_are_checked(path: str, name: str) -> None:
    assert faults_of(changed(path, {name: "x"})) == [f"/{path}/{name}"]


def test_pointers_escape_slashes_and_tildes() -> None:
    bundle = changed("assistants/0/approval", {"a/b~c": "allow"})
    assert faults_of(bundle) == ["/assistants/0/approval/a~1b~0c"]


@pytest.mark.parametrize(
    ("item", "tools"),
    [
        ("docs", None),
        ({"server_id": "docs"}, None),
        ({"server_id": "docs", "tools": None}, None),
        ({"server_id": "docs", "tools": ["a", "b", "a"]}, ("a", "b")),
        ({"server_id": "docs", "tools": []}, ()),
        ({"docs": ["a"]}, ("a",)),
        ({"docs": []}, ()),
        ({"docs": {"tools": ["a"]}}, ("a",)),
        ({"docs": {}}, None),
    ],
)
def test_the_four_forms_of_a_server_choice(item: Any, tools: tuple[str, ...] | None) -> None:
    bundle, report = judge(changed("assistants/0/mcp/servers", [item]))
    assert report.faults == []
    assert [(c.server_id, c.tools) for c in bundle.assistants[0].servers] == [("docs", tools)]


def test_a_server_named_tools_can_be_chosen() -> None:
    bundle = changed("servers/3/server_id", "tools")
    bundle["assistants"][0]["mcp"]["servers"] = [{"tools": ["a"]}]
    entries, report = judge(bundle)
    assert report.faults == []
    assert entries.assistants[0].servers[0].tools == ("a",)


@pytest.mark.parametrize(
    ("item", "pointer"),
    [
        (5, ""),
        (None, ""),
        ([], ""),
        ({}, ""),
        ("", ""),
        ("nobody", ""),
        ("Docs", ""),
        ({"server_id": "nobody"}, ""),
        ({"server_id": 5}, "/server_id"),
        ({"server_id": "docs", "tools": "a"}, "/tools"),
        ({"server_id": "docs", "tools": [1]}, "/tools/0"),
        ({"server_id": "docs", "tools": [""]}, "/tools/0"),
        ({"server_id": "docs", "allow": []}, "/allow"),
        ({"docs": "a"}, "/docs"),
        ({"docs": None}, "/docs"),
        ({"docs": {"allow": ["a"]}}, "/docs/allow"),
        ({"docs": ["a"], "echo": ["b"]}, ""),
    ],
)
def test_any_other_form_is_a_fault(item: Any, pointer: str) -> None:
    pointers = faults_of(changed("assistants/0/mcp/servers", [item]))
    assert pointers == [f"/assistants/0/mcp/servers/0{pointer}"]


def test_the_same_server_twice_is_a_fault_in_any_form() -> None:
    servers = ["docs", {"docs": ["a"]}, "echo", {"server_id": "echo"}]
    pointers = faults_of(changed("assistants/0/mcp/servers", servers))
    assert pointers == ["/assistants/0/mcp/servers/1", "/assistants/0/mcp/servers/3"]


def test_references_may_point_to_what_the_database_has() -> None:
    bundle = {
        "version": 1,
        "assistants": [
            {
                "id": "helper", "provider": "p", "fallback_provider": "q",
                "fallback_assistant": "other", "mcp": {"servers": ["s"]},
                "approval": {"s.x": "ask"},
            }
        ],
    }  # fmt: skip
    known = KnownNames(
        providers=frozenset({"p", "q"}), assistants=frozenset({"other"}), tools={"s": None}
    )
    assert faults_of(bundle, known) == []
    assert len(faults_of(bundle)) == 4


@pytest.mark.parametrize("key", ["default", "echo.wipe", "docs.search.*", "docs.x.y", "docs.a*"])
def test_a_rule_for_a_server_of_the_assistant_is_fine(key: str) -> None:
    assert faults_of(changed("assistants/0/approval", {key: "ask"})) == []


@pytest.mark.parametrize("key", ["echo", "echo.", "local.x", "*", "echo__wipe", "", ".x", "ech.x"])
def test_a_rule_for_no_server_of_the_assistant_is_a_fault(key: str) -> None:
    assert faults_of(changed("assistants/0/approval", {key: "ask"})) == [
        f"/assistants/0/approval/{key}"
    ]


@pytest.mark.parametrize("action", ["Allow", "yes", True, None, {}])
def test_a_rule_says_allow_ask_or_deny(action: Any) -> None:
    assert faults_of(changed("assistants/0/approval/default", action)) == [
        "/assistants/0/approval/default"
    ]


@pytest.mark.parametrize(
    "pattern",
    ["^[a-zA-Z0-9]{9}$", "^[a-z]{1,40}$", "^[a-zA-Z0-9_-]{1,64}$", "^[\\w-]{4}$", None, ""],
)
def test_a_character_class_with_a_length_is_a_call_id_pattern(pattern: Any) -> None:
    assert faults_of(changed("providers/0/tool_call_id_pattern", pattern)) == []


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z]{9}", "^[a-z]+$", "^[a-z]*$", "^(a|b){9}$", "^[a-z]{9}", "^[a-z]{0}$", "^[a-z]{5,2}$",
        "^[^a-z]{9}$", "^.{9}$", "^[]{9}$", "^[z-a]{9}$", "^[a-z]{,9}$", "^[a-z]{9,}$", 9, True,
        "^[a-z]{999}$", "^call_[a-z]{9}$", "^[a-z]{9}$\n",
    ],
)  # fmt: skip
def test_any_other_call_id_pattern_is_a_fault(pattern: Any) -> None:
    path = "providers/0/tool_call_id_pattern"
    assert faults_of(changed(path, pattern)) == [f"/{path}"]


def test_fields_of_calls_are_those_of_a_vendor() -> None:
    path = "providers/0/call_fields"
    assert faults_of(changed(path, {"extra_content": {"google": {}}})) == []
    assert faults_of(changed(path, {"id": "x"})) == [f"/{path}/id"]
    assert faults_of(changed(path, ["x"])) == [f"/{path}"]


@pytest.mark.parametrize("starters", [["Hi"], [{"title": "A", "text": "B"}], [{"text": "B"}], []])
def test_starters_are_texts_or_objects_of_texts(starters: Any) -> None:
    assert faults_of(changed("assistants/0/starters", starters)) == []


@pytest.mark.parametrize("starter", ["", 5, None, {}, {"title": 1}, {"name": "x"}, []])
def test_other_starters_are_faults(starter: Any) -> None:
    assert faults_of(changed("assistants/0/starters", [starter])) == ["/assistants/0/starters/0"]


@pytest.mark.parametrize(
    ("prompt", "pointers"),
    [
        ({"role": "system", "content": "x"}, []),
        ({"role": "assistant", "content": "x"}, []),
        ({"role": "tool", "content": "x"}, ["/role"]),
        ({"content": "x"}, ["/role"]),
        ({"role": "user"}, ["/content"]),
        ({"role": "user", "content": 5}, ["/content"]),
        ({"role": "user", "content": "x", "name": "y"}, ["/name"]),
        ("x", [""]),
    ],
)
def test_prompts_have_a_role_and_content(prompt: Any, pointers: list[str]) -> None:
    for path in ("assistants/0/prompts", "global_prompts", "assistants/0/prompt_presets/short"):
        found = faults_of(changed(path, [prompt]))
        assert found == [f"/{path}/0{pointer}" for pointer in pointers]


def test_samples_are_checked() -> None:
    sample = {"name": "simple", "input": {"a": 1}, "output": None}
    assert faults_of(changed("servers/2/samples", {"echo": [sample]})) == []
    bad = {"echo": [{"input": {}}, {"name": "x", "inputs": {}}, 5], "ping": {}}
    assert faults_of(changed("servers/2/samples", bad)) == [
        "/servers/2/samples/echo/0/name",
        "/servers/2/samples/echo/1/inputs",
        "/servers/2/samples/echo/2",
        "/servers/2/samples/ping",
    ]


@pytest.mark.parametrize("key", ["name", "mcp", "hooks", "limits", "description", "approval"])
def test_only_three_fields_of_a_system_assistant_can_be_set(key: str) -> None:
    entry = {"id": "toolloop.title", "provider": "main", "model": "m", "prompts": []}
    bundle = changed("assistants/0", entry)
    assert faults_of(bundle) == []
    assert faults_of(changed("assistants/0", {**entry, key: {}})) == [f"/assistants/0/{key}"]


def test_other_ids_of_the_application_are_taken_by_it() -> None:
    bundle = changed("assistants/0", {"id": "toolloop.mine", "provider": "main"})
    assert faults_of(bundle) == ["/assistants/0/id"]


def test_warnings_forbid_nothing() -> None:
    bundle = changed("servers/0/headers", {"Authorization": "Bearer abcdef", "Accept": "x"})
    bundle["servers"][1] |= {"transport": "sse", "headers": {"Authorization": "Bearer $ENV.X"}}
    bundle["servers"][2]["env"] = {"API_KEY": "abc", "MODE": "fast", "TOKEN": "$ENV.TOKEN"}
    bundle["assistants"][0]["options"] = {"model": "x", "temperature": 1}
    assert faults_of(bundle) == []
    assert warnings_of(bundle) == [
        "/servers/0/headers/Authorization",
        "/servers/1/transport",
        "/servers/2/env/API_KEY",
        "/assistants/0/options/model",
    ]


def test_a_whitelisted_tool_that_a_server_has_not_listed_is_a_warning() -> None:
    bundle = changed("assistants/0/mcp/servers", [{"docs": ["find", "gone"]}, {"echo": ["x"]}])
    known = KnownNames(tools={"docs": frozenset({"find"}), "echo": None})
    _, report = judge(bundle, known)
    assert report.faults == []
    assert [str(warning) for warning in report.warnings] == [
        "/assistants/0/mcp/servers/0: the server docs has listed no tool 'gone' so far",
        "/assistants/0/mcp/servers/1: the server echo was not asked for its tools so far: "
        "the whitelist is not checked",
    ]


def test_a_bundle_tells_which_hosts_names_and_modules_it_trusts() -> None:
    bundle = changed("providers/0/api_key_env", "MAIN_KEY")
    bundle["servers"][0]["headers"] = {"Authorization": "Bearer $ENV.DOCS"}
    bundle["servers"][1]["url"] = "http://user:$ENV.PW@Docs.Example.org/mcp?key=$ENV.K"
    bundle["servers"][2]["args"] = ["--x=$ENV.X"]
    bundle["assistants"][0]["hooks"] = {"create": "myproject.hooks.create"}
    entries, report = judge(bundle)
    assert report.faults == []
    assert set(entries.trusted) == {
        ("host", "127.0.0.1:9001"), ("env", "MAIN_KEY"), ("host", "127.0.0.1:9100"),
        ("env", "DOCS"), ("host", "docs.example.org"), ("env", "PW"), ("env", "K"), ("env", "X"),
        ("module", "myproject.tools"), ("module", "myproject.hooks"),
    }  # fmt: skip
