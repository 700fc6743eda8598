"""Makes the demo in a new database, and the operator who looks at it.

Place in the house: ``agents.demo``. Twice gives the same; what an operator changed since is left
alone.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents.demo import PRACTICE_BASE_URL, PRACTICE_MODEL
from agents.demo.script import STARTERS
from agents.loop.errors import ModelError
from agents.models import Assistant, AssistantServer, Provider, Server, Transport
from agents.runs.trust import BUILT_IN_SERVERS

DEMO_ASSISTANT = "demo"
OPERATOR = "operator"
SERVERS = ("weather", "calculator", "notes")
BUILT_IN = ("memory", "workspace")
PRACTICE_NAME = "Practice model (scripted, no AI)"

PROMPT = (
    "You are a friendly assistant who shows what tools can do. Use the tools for facts; answer "
    "shortly, in the language of the user."
)


def seed_demo() -> str:
    """Make what is missing of the demo; how to log in, as a line for the terminal."""
    password = _operator_password()
    with transaction.atomic():
        operator = _make_operator(password)
        if not Assistant.objects.filter(is_system=False).exists():
            _make_assistant(_make_provider(), _make_servers())
        else:
            _refresh_servers()
            _find_missing_model()
    if operator.check_password(password):
        return f"Log in: {OPERATOR} / {password}"
    return f"Log in: {OPERATOR}, with the password that was set (manage.py changepassword)"


def _operator_password() -> str:
    """The password in ``var/demo-password``; made where there is none."""
    path = Path(settings.BASE_DIR) / "var" / "demo-password"
    if path.exists():
        return path.read_text(encoding="utf-8").strip()
    path.parent.mkdir(parents=True, exist_ok=True)
    password = secrets.token_urlsafe(9)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(password + "\n")
    return password


def _make_operator(password: str) -> AbstractBaseUser:
    """The superuser of the demo; an older one without a password gets it."""
    users = get_user_model().objects
    operator = users.filter(username=OPERATOR).first()
    if operator is None:
        operator = users.create_superuser(OPERATOR, password=password)
    elif not operator.has_usable_password():
        operator.set_password(password)
        operator.save()
    return operator


def _make_provider() -> Provider:
    """The provider that the environment names, else the practice model."""
    key, base_url = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
    if not key and not base_url:
        return Provider.objects.get_or_create(
            provider_id="practice",
            defaults={"base_url": PRACTICE_BASE_URL, "default_model": PRACTICE_MODEL},
        )[0]
    url = base_url or "https://api.openai.com/v1"
    model = os.environ.get("OPENAI_MODEL") or _first_model(url, key)
    return Provider.objects.get_or_create(
        provider_id="openai",
        defaults={
            "base_url": url,
            "api_key_env": "OPENAI_API_KEY" if key else "",
            "default_model": model,
        },
    )[0]


def _first_model(base_url: str, key: str | None) -> str:
    """The first model of the provider; empty, with a word on it, where it does not answer."""
    from agents.providers.openai_chat import OpenAIChat  # late: openai takes a second to import

    async def ask() -> list[str]:
        client = OpenAIChat(base_url, key, timeout_seconds=20)
        try:
            return await client.list_models()
        finally:
            await client.close()

    try:
        models = asyncio.run(ask())
    except ModelError as error:
        sys.stderr.write(
            f"{error.message} {error.hint} Set OPENAI_MODEL or the provider's model.\n"
        )
        return ""
    return models[0] if models else ""


def _find_missing_model() -> None:
    """Ask again for the model that the provider of the environment did not tell at first."""
    provider = Provider.objects.filter(provider_id="openai", default_model="").first()
    if provider is None or not Assistant.objects.filter(provider=provider, model="").exists():
        return
    key = os.environ.get(provider.api_key_env) if provider.api_key_env else None
    provider.default_model = os.environ.get("OPENAI_MODEL") or _first_model(provider.base_url, key)
    provider.save(update_fields=["default_model"])


def _make_servers() -> list[Server]:
    own = [
        Server.objects.get_or_create(
            server_id=name,
            defaults={"transport": Transport.STDIO, "args": _arguments(name), **_place()},
        )[0]
        for name in SERVERS
    ]
    built_in = [
        Server.objects.get_or_create(
            server_id=name,
            defaults={"transport": Transport.PYTHON, "module": f"{BUILT_IN_SERVERS}.{name}"},
        )[0]
        for name in BUILT_IN
    ]
    return [*own, *built_in]


def _arguments(name: str) -> list[str]:
    return ["-m", f"agents.demo.servers.{name}"]


def _place() -> dict[str, str]:
    return {"command": sys.executable, "cwd": str(settings.BASE_DIR)}


def _refresh_servers() -> None:
    """Let the demo's servers be started from here, should the folder have another name now."""
    for name in SERVERS:
        servers = Server.objects.filter(server_id=name, transport=Transport.STDIO)
        for server in servers.exclude(**_place()):
            is_gone = not (Path(server.command).exists() and Path(server.cwd).exists())
            if server.args == _arguments(name) and is_gone:
                servers.update(**_place())


def _make_assistant(provider: Provider, servers: list[Server]) -> None:
    is_practice = provider.base_url == PRACTICE_BASE_URL
    assistant = Assistant.objects.create(
        assistant_id=DEMO_ASSISTANT,
        name=PRACTICE_NAME if is_practice else "Demo assistant",
        description=(
            "Shows what the tool loop does: weather, a calculator and notes. "
            + ("Its answers are scripted." if is_practice else "It uses your provider.")
        ),
        provider=provider,
        prompts=[{"role": "system", "content": PROMPT}],
        starters=[{"title": title, "text": text} for title, text in STARTERS],
        approval={"notes.delete_all": "ask"},
        tool_max_seconds=120,
    )
    for position, server in enumerate(servers):
        AssistantServer.objects.create(assistant=assistant, server=server, position=position)
