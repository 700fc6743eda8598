"""The secrets that traces must not hold are found wherever they are configured."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from agents.models import Provider, Server
from agents.secret_values import current_secrets

pytestmark = pytest.mark.django_db


def test_keys_headers_and_named_variables_are_secrets(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPENAI_API_KEY = "from-settings"
    names = ("KEY", "IN_ENV", "IN_HEADER", "IN_URL", "IN_ARGS")
    for name in names:
        monkeypatch.setenv(name, f"value-of-{name}")
    monkeypatch.delenv("UNSET", raising=False)
    Provider.objects.create(provider_id="p", base_url="http://h", api_key_env="KEY")
    Provider.objects.create(
        provider_id="q", base_url="http://h", api_key="stored", api_key_env="UNSET"
    )
    Server.objects.create(
        server_id="s", transport="stdio", command="x", args=["--k=$ENV.IN_ARGS", "plain"],
        env={"A": "$ENV.IN_ENV", "MODE": "fast"},
    )  # fmt: skip
    Server.objects.create(
        server_id="h", transport="http", url="http://$ENV.IN_URL@h/",
        headers={"Authorization": "Bearer $ENV.IN_HEADER", "X-Key": "Token literal"},
    )  # fmt: skip
    expected = {f"value-of-{name}" for name in names} | {"from-settings", "stored", "literal"}
    assert current_secrets() == expected


def test_a_key_that_cannot_be_decrypted_does_not_hide_the_others(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TOOLLOOP_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    monkeypatch.setenv("KEY", "value-of-KEY")
    Provider.objects.create(
        provider_id="p", base_url="http://h", api_key="stored", api_key_env="KEY"
    )
    settings.TOOLLOOP_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    assert "value-of-KEY" in current_secrets()
