"""Configurations: variables, secrets and the fingerprint."""

from __future__ import annotations

import dataclasses

import pytest

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import Sample, ToolLimits
from agents.mcp_client.config import ServerConfig, resolve_config

BASE = ServerConfig(server_id="docs", transport="http")


def test_variables_are_filled_in_wherever_they_may_stand() -> None:
    config = ServerConfig(
        server_id="docs",
        transport="http",
        args=("--key=$ENV.KEY", "plain"),
        env={"A": "$ENV.KEY", "B": "$ENV.KEY-$ENV.TWO", "C": "$HOME"},
        url="http://127.0.0.1/$ENV.TWO/mcp",
        headers={"Authorization": "Bearer $ENV.KEY"},
    )
    resolved = resolve_config(config, {"KEY": "k1", "TWO": "t2"})
    assert resolved.args == ("--key=k1", "plain")
    assert resolved.env == {"A": "k1", "B": "k1-t2", "C": "$HOME"}
    assert resolved.url == "http://127.0.0.1/t2/mcp"
    assert resolved.headers == {"Authorization": "Bearer k1"}


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("args", ("a", "$ENV.GONE"), r"args\[1\]"),
        ("env", {"TOKEN": "$ENV.GONE"}, r"env\.TOKEN"),
        ("url", "http://$ENV.GONE/", "url"),
        ("headers", {"X-Key": "$ENV.GONE"}, r"headers\.X-Key"),
    ],
)
def test_an_unset_variable_names_server_field_and_variable(
    field: str, value: object, where: str
) -> None:
    config = dataclasses.replace(BASE, **{field: value})  # type: ignore[arg-type]
    with pytest.raises(ServerUnavailable, match=rf"server docs: {where} needs .* GONE"):
        resolve_config(config, {})


def test_secrets_are_scrubbed_in_every_form_and_not_shown() -> None:
    config = dataclasses.replace(
        BASE, url="http://h/?key=$ENV.KEY", headers={"Authorization": "Bearer literal-token"}
    )
    resolved = resolve_config(config, {"KEY": 'se"cret/1'})
    text = 'se"cret/1 se%22cret%2F1 se\\"cret/1 literal-token'
    scrubbed = resolved.scrub(text)
    assert scrubbed == "$ENV.KEY $ENV.KEY $ENV.KEY [header Authorization]"
    assert "cret" not in repr(resolved)


@pytest.mark.parametrize(
    "change",
    [
        {"transport": "sse"},
        {"command": "x"},
        {"args": ("a",)},
        {"env": {"A": "1"}},
        {"cwd": "/tmp"},
        {"url": "http://x"},
        {"headers": {"A": "1"}},
        {"module": "a.b"},
    ],
)
def test_the_fingerprint_changes_with_what_the_connection_depends_on(
    change: dict[str, object],
) -> None:
    assert dataclasses.replace(BASE, **change).fingerprint != BASE.fingerprint  # type: ignore[arg-type]


def test_the_fingerprint_does_not_change_with_limits_and_samples() -> None:
    changed = dataclasses.replace(
        BASE, limits=ToolLimits(idle_seconds=1), samples={"a": (Sample(name="x"),)}
    )
    assert changed.fingerprint == BASE.fingerprint
