"""Settings come from the environment; nonsense is refused at the start with the variable's name."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from toolloop_site.env import Environment, read_environment

ROOT = Path(__file__).resolve().parent.parent


def read(tmp_path: Path, **environ: str) -> Environment:
    return read_environment({"SECRET_KEY": "k" * 32, **environ}, tmp_path)


def test_an_empty_environment_gives_the_defaults(tmp_path: Path) -> None:
    environment = read_environment({}, tmp_path)
    assert environment.debug is False
    assert environment.web_takes_runs is True
    assert environment.is_https is False
    assert environment.allowed_hosts == ("127.0.0.1", "localhost", "[::1]")
    assert environment.event_sinks == ("traces.recorder.TraceSink",)
    assert environment.database["NAME"] == str(tmp_path / "var" / "toolloop.sqlite3")
    assert environment.encryption_keys == ()
    lists = (environment.trusted_hosts, environment.trusted_env, environment.hook_modules)
    assert lists == ((), (), ())
    texts = (environment.redis_url, environment.openai_base_url, environment.otlp_endpoint)
    assert texts == ("", "", "")


def test_an_empty_value_counts_as_not_set(tmp_path: Path) -> None:
    names = ("DEBUG", "ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL", "TOOLLOOP_EVENT_SINKS")
    assert read(tmp_path, **dict.fromkeys(names, " ")) == read(tmp_path)


def test_values_are_taken(tmp_path: Path) -> None:
    keys = [Fernet.generate_key().decode() for _ in range(2)]
    environment = read(
        tmp_path,
        DEBUG="TRUE",
        ALLOWED_HOSTS="example.org, .example.net,*",
        DATABASE_URL="postgres://u:p%40ss@127.0.0.1:5433/name",
        REDIS_URL="redis://127.0.0.1:6379/1",
        TOOLLOOP_WEB_TAKES_RUNS="0",
        TOOLLOOP_HTTPS="on",
        TOOLLOOP_EMBEDDINGS="openai/text/small",
        TOOLLOOP_EVENT_SINKS="a.B,c.d.E",
        TOOLLOOP_ENCRYPTION_KEYS=",".join(keys),
        TOOLLOOP_ALLOWED_HOSTS="127.0.0.1:9001,[::1]:80,*.example.org",
        TOOLLOOP_ALLOWED_ENV="A,B_1",
        TOOLLOOP_HOOK_MODULES="a,b.c",
        TOOLLOOP_TRACE_REDACT="CUST-[0-9]{6}\n a|b ",
        OPENAI_BASE_URL="http://127.0.0.1:11434/v1",
    )
    assert environment.debug is True
    assert environment.allowed_hosts == ("example.org", ".example.net", "*")
    assert environment.database["PASSWORD"] == "p@ss"
    assert environment.database["PORT"] == 5433
    assert environment.redis_url == "redis://127.0.0.1:6379/1"
    assert environment.web_takes_runs is False
    assert environment.is_https is True
    assert environment.embeddings == "openai/text/small"
    assert environment.event_sinks == ("a.B", "c.d.E")
    assert environment.encryption_keys == tuple(keys)
    assert environment.trusted_hosts == ("127.0.0.1:9001", "[::1]:80", "*.example.org")
    assert environment.trusted_env == ("A", "B_1")
    assert environment.hook_modules == ("a", "b.c")
    assert environment.trace_redact == ("CUST-[0-9]{6}", "a|b")


NONSENSE = {
    "SECRET_KEY": ["short"],
    "DEBUG": ["maybe", "2", "truee"],
    "ALLOWED_HOSTS": ["http://example.org", "a b", "example.org:80", "a,,b c"],
    "DATABASE_URL": [
        "foo", "mysql://u@h/n", "http://h/n", "postgres://u:secretpw@h/", "sqlite://:memory:",
        "sqlite:////nowhere/at/all.sqlite3", "sqlite:////tmp", "postgres://u:secretpw@h:x/n", "://",
    ],
    "REDIS_URL": ["127.0.0.1:6379", "http://h", "redis://", "redis://h:x"],
    "TOOLLOOP_WEB_TAKES_RUNS": ["worker"],
    "TOOLLOOP_HTTPS": ["https", "443"],
    "TOOLLOOP_EMBEDDINGS": ["openai", "/m", "openai/"],
    "TOOLLOOP_WORKSPACE_SCOPE": ["user", "Conversation"],
    "TOOLLOOP_WORKSPACE_DENY": ["(", "x*"],
    "TOOLLOOP_WORKSPACES": ["spaces", "./spaces"],
    "TOOLLOOP_WORKSPACE_UNWALLED": ["yes please"],
    "TOOLLOOP_EVENT_SINKS": ["TraceSink", "a-b.C", "a..B", "a.B c.D", "/x/y"],
    "TOOLLOOP_ENCRYPTION_KEYS": ["secretpw", "A" * 44, "A" * 43, "é" * 44],
    "TOOLLOOP_ALLOWED_HOSTS": ["http://h", "a b", "h:x", "h/x"],
    "TOOLLOOP_ALLOWED_ENV": ["$ENV.A", "A-B", "1A", "A B"],
    "TOOLLOOP_HOOK_MODULES": ["a-b", "a.", "a/b", ".a"],
    "TOOLLOOP_TRACE_REDACT": ["[", "a\n(", "x*", "a|"],
    "OPENAI_API_KEY": ["secretpw x", "secretpw\nx"],
    "OPENAI_BASE_URL": ["127.0.0.1:1/v1", "ftp://h", "http://", "http://h:x/", "http://h h/"],
    "OPENAI_MODEL": ["a\nb"],
    "OTEL_EXPORTER_OTLP_ENDPOINT": ["localhost:4318", "grpc://h", "http://", "http://h:99999"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values]
)
def test_nonsense_is_refused_in_one_line_with_the_name(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        read(tmp_path, **{name: value})
    message = str(caught.value)
    assert message.startswith(f"{name}: expected ")
    assert "\n" not in message
    assert "secretpw" not in message


def test_a_secret_key_is_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    first = read_environment({}, tmp_path).secret_key
    path = tmp_path / "var" / "secret-key"
    assert len(first) >= 50
    assert read_environment({}, tmp_path).secret_key == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret-key"]


def test_an_empty_secret_key_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "secret-key").touch()
    with pytest.raises(ImproperlyConfigured, match=r"SECRET_KEY: expected .*delete the file"):
        read_environment({}, tmp_path)


def test_sqlite_is_ready_for_several_writers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.sqlite3"
    for environment in (read(tmp_path), read(tmp_path, DATABASE_URL=url)):
        options: Any = environment.database["OPTIONS"]
        assert options["transaction_mode"] == "IMMEDIATE"
        assert "journal_mode=WAL" in options["init_command"]
        assert environment.database["CONN_MAX_AGE"] is None


def manage(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_manage_py_tells_nonsense_in_one_line() -> None:
    result = manage("check", DEBUG="maybe")
    assert result.returncode == 1
    assert result.stderr == "manage.py: DEBUG: expected true or false, got 'maybe'\n"


def test_a_sink_that_cannot_be_imported_is_an_error_of_the_check() -> None:
    result = manage("check", TOOLLOOP_EVENT_SINKS="nowhere.Sink")
    assert result.returncode == 1
    assert "TOOLLOOP_EVENT_SINKS: nowhere.Sink cannot be imported" in result.stderr
    result = manage("check", TOOLLOOP_EVENT_SINKS="collections.OrderedDict")
    assert "collections.OrderedDict is no sink: it lacks handle, flush, close" in result.stderr


def test_the_settings_import_neither_openai_nor_mcp() -> None:
    code = (
        "import sys, django; django.setup(); import toolloop_site.urls;"
        "print(sorted({'openai', 'mcp'} & set(sys.modules)))"
    )
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "toolloop_site.settings"}
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (result.stdout, result.stderr) == ("[]\n", "")
