"""The settings that come from the environment, read and checked.

Place in the house: ``toolloop_site``; ``settings.py`` is its only caller. Every variable is
described in ``docs/settings.md``. Nonsense is refused at start: ``ImproperlyConfigured`` names the
variable, what was expected and what came. Values that hold secrets are never quoted.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from toolloop_site.database_url import DatabaseConfig, read_database

DEFAULT_ALLOWED_HOSTS = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_EVENT_SINKS = ("traces.recorder.TraceSink",)

TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off")

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SITE_HOST = re.compile(r"\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_HOST_AND_PORT = re.compile(
    r"(\*\.)?([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Every setting of the environment, checked. Unset URLs and keys are ``""``."""

    secret_key: str
    debug: bool
    allowed_hosts: tuple[str, ...]
    database: DatabaseConfig
    redis_url: str
    web_takes_runs: bool
    allow_stdio: bool
    is_https: bool
    embeddings: str
    workspaces: str
    workspace_scope: str
    workspace_deny: tuple[str, ...]
    workspace_unwalled: bool
    event_sinks: tuple[str, ...]
    encryption_keys: tuple[str, ...]
    trusted_hosts: tuple[str, ...]
    trusted_env: tuple[str, ...]
    hook_modules: tuple[str, ...]
    trace_redact: tuple[str, ...]
    runs_per_process: int
    runs_per_user: int
    openai_api_key: str
    openai_base_url: str
    openai_model: str
    otlp_endpoint: str


def read_environment(environ: Mapping[str, str], base_dir: Path) -> Environment:
    """All settings from ``environ``; files that they need are made below ``base_dir / "var"``.

    Raises ``ImproperlyConfigured`` for the first variable that holds nonsense.
    """
    return Environment(
        secret_key=_read_secret_key(environ, base_dir / "var" / "secret-key"),
        debug=_read_bool(environ, "DEBUG", default=False),
        allowed_hosts=_read_list(
            environ,
            "ALLOWED_HOSTS",
            _SITE_HOST,
            "host names without scheme and port",
            default=DEFAULT_ALLOWED_HOSTS,
        ),
        database=read_database(_text(environ, "DATABASE_URL"), base_dir),
        redis_url=_read_url(environ, "REDIS_URL", ("redis", "rediss", "unix")),
        web_takes_runs=_read_bool(environ, "TOOLLOOP_WEB_TAKES_RUNS", default=True),
        allow_stdio=_read_bool(environ, "TOOLLOOP_ALLOW_STDIO", default=True),
        is_https=_read_bool(environ, "TOOLLOOP_HTTPS", default=False),
        embeddings=_read_embeddings(environ),
        workspaces=_read_folder(environ, "TOOLLOOP_WORKSPACES", base_dir / "var" / "workspaces"),
        workspace_scope=_read_choice(
            environ, "TOOLLOOP_WORKSPACE_SCOPE", ("conversation", "assistant")
        ),
        workspace_deny=_read_patterns(environ, "TOOLLOOP_WORKSPACE_DENY"),
        workspace_unwalled=_read_bool(environ, "TOOLLOOP_WORKSPACE_UNWALLED", default=False),
        event_sinks=_read_sinks(environ),
        encryption_keys=_read_encryption_keys(environ),
        trusted_hosts=_read_list(
            environ,
            "TOOLLOOP_ALLOWED_HOSTS",
            _HOST_AND_PORT,
            "hosts such as example.org or 127.0.0.1:9001",
        ),
        trusted_env=_read_list(
            environ, "TOOLLOOP_ALLOWED_ENV", _ENV_NAME, "names of environment variables"
        ),
        hook_modules=_read_list(
            environ, "TOOLLOOP_HOOK_MODULES", _DOTTED, "modules such as myproject.hooks"
        ),
        runs_per_process=_read_number(environ, "TOOLLOOP_RUNS_PER_PROCESS", default=20),
        runs_per_user=_read_number(environ, "TOOLLOOP_RUNS_PER_USER", default=5),
        trace_redact=_read_patterns(environ, "TOOLLOOP_TRACE_REDACT"),
        openai_api_key=_read_word(environ, "OPENAI_API_KEY", is_secret=True),
        openai_base_url=_read_url(environ, "OPENAI_BASE_URL", ("http", "https")),
        openai_model=_read_word(environ, "OPENAI_MODEL"),
        otlp_endpoint=_read_url(environ, "OTEL_EXPORTER_OTLP_ENDPOINT", ("http", "https")),
    )


def refuse(name: str, expected: str, came: str) -> ImproperlyConfigured:
    """The one-line refusal of a variable's value."""
    return ImproperlyConfigured(f"{name}: expected {expected}, got {came}")


def _text(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()


def _read_bool(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = _text(environ, name)
    if not text:
        return default
    if text.lower() in TRUE_WORDS:
        return True
    if text.lower() in FALSE_WORDS:
        return False
    raise refuse(name, "true or false", repr(text))


def _read_folder(environ: Mapping[str, str], name: str, default: Path) -> str:
    """The path of a folder from the root."""
    text = _text(environ, name)
    if text and not Path(text).is_absolute():
        raise refuse(name, "a path from the root", repr(text))
    return text or str(default)


def _read_choice(environ: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """One of these words, the first by default."""
    text = _text(environ, name) or choices[0]
    if text not in choices:
        raise refuse(name, " or ".join(choices), repr(text))
    return text


def _read_embeddings(environ: Mapping[str, str]) -> str:
    """``provider/model``, or empty."""
    text = _text(environ, "TOOLLOOP_EMBEDDINGS")
    provider, _, model = text.partition("/")
    if text and not (provider.strip() and model.strip()):
        raise refuse("TOOLLOOP_EMBEDDINGS", "the id of a provider, a slash, a model", repr(text))
    return text


def _read_number(environ: Mapping[str, str], name: str, *, default: int) -> int:
    """A whole number from 1 to 10,000."""
    text = _text(environ, name)
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= number <= 10_000:
        raise refuse(name, "a whole number from 1 to 10000", repr(text))
    return number


def _read_word(environ: Mapping[str, str], name: str, *, is_secret: bool = False) -> str:
    text = _text(environ, name)
    if not text.isprintable() or (is_secret and (" " in text or not text.isascii())):
        came = "a value with blanks or other characters" if is_secret else repr(text)
        raise refuse(name, "one word of printable characters", came)
    return text


def _read_list(
    environ: Mapping[str, str],
    name: str,
    pattern: re.Pattern[str],
    expected: str,
    default: tuple[str, ...] = (),
) -> tuple[str, ...]:
    parts = [part.strip() for part in _text(environ, name).split(",")]
    for part in parts:
        if part and not pattern.fullmatch(part):
            raise refuse(name, f"{expected}, separated by commas", repr(part))
    return tuple(dict.fromkeys(part for part in parts if part)) or default


def _read_sinks(environ: Mapping[str, str]) -> tuple[str, ...]:
    name, expected = "TOOLLOOP_EVENT_SINKS", "classes such as traces.recorder.TraceSink"
    sinks = _read_list(environ, name, _DOTTED, expected, default=DEFAULT_EVENT_SINKS)
    for sink in sinks:
        if "." not in sink:
            raise refuse(name, f"{expected}, separated by commas", repr(sink))
    return sinks


def _read_url(environ: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str:
    text = _text(environ, name)
    if not text:
        return ""
    expected = f"a URL that starts with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    if problem := url_problem(text, schemes):
        raise refuse(name, expected, problem)
    return text


def url_problem(text: str, schemes: tuple[str, ...]) -> str:
    """What is wrong with a URL, or ``""``. A password in it is not quoted."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"a broken URL ({error})"
    if not text.isprintable() or " " in text:
        return "a URL with blanks in it"
    if parts.scheme not in schemes:
        return repr(text) if "@" not in text else f"a URL with the scheme {parts.scheme!r}"
    if port == 0:
        return "a URL with port 0"
    if parts.scheme == "unix":
        return "" if parts.path else "a URL without a path"
    return "" if host else "a URL without a host"


def _read_encryption_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    name = "TOOLLOOP_ENCRYPTION_KEYS"
    keys = tuple(part.strip() for part in _text(environ, name).split(",") if part.strip())
    for number, key in enumerate(keys, 1):
        try:
            length = len(base64.b64decode(key.encode(), altchars=b"-_", validate=True))
        except (binascii.Error, ValueError):
            length = 0
        if length != 32:
            expected = (
                "Fernet keys (32 bytes in URL-safe base64, 44 characters), separated by commas"
            )
            raise refuse(name, expected, f"something else as key {number} (not shown)")
    return keys


def _read_secret_key(environ: Mapping[str, str], path: Path) -> str:
    text = _text(environ, "SECRET_KEY")
    if text:
        if len(text) < 16:
            raise refuse("SECRET_KEY", "at least 16 characters", f"{len(text)}")
        return text
    if not path.exists():
        _create_secret_key(path)
    key = path.read_text().strip()
    if len(key) < 16:
        what = f"a key in {path}: delete the file to get a new one, or set the variable"
        raise refuse("SECRET_KEY", what, "an empty or short file")
    return key


def _create_secret_key(path: Path) -> None:
    """Write a new key for the owner alone; of several processes at once the first one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50) + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _read_patterns(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Regular expressions, one per line."""
    patterns = tuple(line.strip() for line in _text(environ, name).splitlines() if line.strip())
    for pattern in patterns:
        try:
            is_empty = re.compile(pattern).match("") is not None
        except re.error as error:
            raise refuse(
                name, "regular expressions, one per line", f"{pattern!r:.60}: {error}"
            ) from error
        if is_empty:
            raise refuse(name, "regular expressions that match some text", f"{pattern!r:.60}")
    return patterns
