"""``DATABASE_URL`` as Django's database settings.

Place in the house: ``toolloop_site``. SQLite gets what many writers need: WAL, transactions that
take the write lock at once (``IMMEDIATE``; anything else fails with "database is locked" under
load), one lasting connection per thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

DatabaseConfig: TypeAlias = dict[str, object]

SQLITE_OPTIONS: dict[str, object] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}

EXPECTED = "sqlite:///path/to/file or postgres://user:password@host:port/name"


def read_database(url: str, base_dir: Path) -> DatabaseConfig:
    """Django's settings of the default database; without a URL SQLite in ``var/toolloop.sqlite3``.

    Raises ``ImproperlyConfigured``; a password in the URL is not quoted.
    """
    if not url:
        var = base_dir / "var"
        var.mkdir(parents=True, exist_ok=True)
        return _sqlite({"NAME": str(var / "toolloop.sqlite3")})
    config = _parse(url)
    if config["ENGINE"] == "django.db.backends.sqlite3":
        return _checked_sqlite(config)
    if config["ENGINE"] == "django.db.backends.postgresql":
        return _checked_postgres(config)
    raise _refused("another database")


def _parse(url: str) -> DatabaseConfig:
    if "://" not in url:
        raise _refused("a value without ://")
    try:
        return dict(dj_database_url.parse(url))
    except (ValueError, dj_database_url.ParseError, dj_database_url.UnknownSchemeError) as error:
        scheme = url.split("://", 1)[0]
        raise _refused(f"a URL that cannot be read (it starts with {scheme!r})") from error


def _refused(came: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"DATABASE_URL: expected {EXPECTED}, got {came}")


def _sqlite(config: DatabaseConfig) -> DatabaseConfig:
    given = config.get("OPTIONS") or {}
    options = {**SQLITE_OPTIONS, **(given if isinstance(given, dict) else {})}
    return {
        **config,
        "ENGINE": "django.db.backends.sqlite3",
        "OPTIONS": options,
        "CONN_MAX_AGE": None,
    }


def _checked_sqlite(config: DatabaseConfig) -> DatabaseConfig:
    name = str(config.get("NAME") or "")
    if name in ("", ":memory:"):
        raise _refused("an SQLite database in memory, which threads cannot share")
    if not Path(name).parent.is_dir():
        raise _refused(f"an SQLite file in the folder {Path(name).parent}, which does not exist")
    if Path(name).is_dir():
        raise _refused(f"the folder {name} instead of an SQLite file")
    return _sqlite(config)


def _checked_postgres(config: DatabaseConfig) -> DatabaseConfig:
    if not config.get("NAME"):
        raise _refused("a PostgreSQL URL without the database's name")
    # Each request has a thread of its own under ASGI: a connection that outlives it would be left.
    return {**config, "CONN_MAX_AGE": 0}
