"""System checks: each id fires where it should, is explained, and asks no database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.checks import run_checks

from agents.loop.errors import ServerUnavailable
from agents.loop.interfaces import ServerListing
from agents.mcp_client.pool import ServerPool
from agents.models import Server
from agents.runs.server_configs import server_config
from tests.servers import stdio_entry

ROOT = Path(__file__).resolve().parent.parent

FIRING: dict[str, dict[str, Any]] = {
    "agents.E001": {"TOOLLOOP_EVENT_SINKS": ["nowhere.Sink"]},
    "agents.E002": {"TOOLLOOP_EVENT_SINKS": ["pathlib.Path"]},
    "agents.W001": {"TOOLLOOP_WEB_TAKES_RUNS": False, "REDIS_URL": ""},
    "agents.W002": {"ENGINE": "django.db.backends.postgresql", "REDIS_URL": ""},
    "agents.W003": {"TOOLLOOP_ENCRYPTION_KEYS": ()},
    "agents.W004": {"ALLOWED_HOSTS": ["*"]},
}
CALM = {
    "TOOLLOOP_WEB_TAKES_RUNS": True,
    "TOOLLOOP_ENCRYPTION_KEYS": ("a-key",),
    "ALLOWED_HOSTS": ["example.org"],
    "REDIS_URL": "redis://127.0.0.1:1/0",
}


def ids(settings: LazySettings, given: dict[str, Any]) -> set[str]:
    engine = {"ENGINE": given.pop("ENGINE", "django.db.backends.sqlite3")}
    for name, value in {**CALM, **given}.items():
        setattr(settings, name, value)
    # The connections have read their settings already.
    default = settings.DATABASES["default"]
    before = default["ENGINE"]
    default |= engine
    try:
        return _fired()
    finally:
        default["ENGINE"] = before


def _fired() -> set[str]:
    found = run_checks(include_deployment_checks=True)
    return {str(message.id) for message in found if str(message.id).startswith("agents.")}


@pytest.mark.parametrize("check", FIRING)
def test_each_check_fires_alone_and_says_what_to_do(settings: LazySettings, check: str) -> None:
    assert ids(settings, {}) == set()
    assert ids(settings, dict(FIRING[check])) == {check}


def test_every_id_is_tested_and_explained() -> None:
    source = (ROOT / "agents" / "checks.py").read_text()
    found = set(re.findall(r'id="(agents\.[EW]\d{3})"', source))
    explained = (ROOT / "docs" / "settings.md").read_text()
    assert found == set(FIRING)
    assert all(f"`{name}`" in explained for name in found)


async def test_a_command_is_not_started_where_commands_are_switched_off(
    settings: LazySettings,
) -> None:
    row = Server(**stdio_entry("echo"))
    settings.TOOLLOOP_ALLOW_STDIO = False
    with pytest.raises(ServerUnavailable, match="switched off"):
        await listed(row)
    settings.TOOLLOOP_ALLOW_STDIO = True
    assert (await listed(row)).tools


async def listed(row: Server) -> ServerListing:
    pool = ServerPool()
    try:
        return await pool.servers({"echo": server_config(row, [])}).list_tools("echo")
    finally:
        await pool.close()
