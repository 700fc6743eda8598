"""Whatever stands in the files of other systems, reading them ends in findings and never breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.bundle.changes import plan_import
from agents.bundle.entries import KnownNames
from agents.bundle.files import SourceFiles
from agents.bundle.parsing import BundleUnreadable
from agents.bundle.report import Report
from agents.bundle.sources import read_source
from agents.bundle.validation import validate_bundle
from tests.bundle.bundles import BUNDLE
from tests.bundle.test_agent_settings import SETTINGS

NAMES = [
    "name", "connector", "options", "mcp", "servers", "server_id", "tools", "resources", "prompts",
    "placeholder", "sandbox", "type", "host", "key", "model", "capabilities", "vision", "role",
    "content", "transport", "command", "arguments", "env", "url", "authorization_token", "headers",
    "timeout", "provider", "baseUrl", "agent", "maxLoopTurns", "session", "compaction", "version",
    "stopOnNoToolCall", "tool_loop", "max_turn", "a/b", "~", "",
]  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["process", "stdio", "http", "$ENV.KEY", "30s", "x_y", "http://[", "{{a}}"]),
    st.text(max_size=4),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=12,
)
PATHS = [
    "package.yao", "prompts.yml", "prompts/a.yml", "mcps/x_y.mcp.yao", "agent/prompts.yml",
    "assistants/a/b/package.yao", "assistants/a/b/mcps/t.mcp.yao", "connectors/o/p.conn.yao",
    "mcps/mapping/x_y/schemes/t.jsonl", "settings.json", "config.toml", "bundle.json",
]  # fmt: skip


def read(texts: dict[str, str]) -> None:
    report = Report()
    try:
        source = read_source(SourceFiles(name="a.zip", texts=texts), report)
    except BundleUnreadable as error:
        assert str(error)
        return
    validate_bundle(source.value, KnownNames(), report)
    assert all(finding.message for finding in (*report.faults, *report.warnings))


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(PATHS), VALUES, max_size=4))
def test_any_json_in_any_of_the_files(files: dict[str, Any]) -> None:
    read({path: json.dumps(value) for path, value in files.items()})


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(PATHS), st.text(alphabet='{}[]"/*,:-\\\n a=1', max_size=30))
def test_any_text_in_any_of_the_files(path: str, text: str) -> None:
    read({path: text})


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["provider", "agent", "session"]), st.sampled_from(NAMES), VALUES)
def test_any_value_in_the_settings(part: str, name: str, value: Any) -> None:
    changed = json.loads(json.dumps(SETTINGS))
    key = sorted(changed[part])[len(name) % len(changed[part])]
    changed[part][key] = value
    read({"settings.json": json.dumps(changed)})


@pytest.mark.django_db
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    options=st.dictionaries(st.text(max_size=3), VALUES, max_size=3),
    variables=st.dictionaries(st.sampled_from("ABC"), st.text(max_size=5), max_size=3),
)
def test_a_plan_is_made_of_any_valid_bundle(
    options: dict[str, Any], variables: dict[str, str]
) -> None:
    value = json.loads(json.dumps(BUNDLE))
    value["assistants"][0]["options"] = options
    value["servers"][2]["env"] = variables
    report = Report()
    bundle = validate_bundle(value, KnownNames(), report)
    if not report.faults:
        assert plan_import(bundle).fingerprint
