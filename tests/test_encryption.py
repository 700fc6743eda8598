"""Encrypted fields: what stands in the database, and which keys can read it."""

from __future__ import annotations

import io
import json

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import FieldError
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from agents.encryption import DecryptionFailed
from agents.models import Provider, Server

pytestmark = pytest.mark.django_db


def stored(column: str, table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")
        return cursor.fetchone()[0]


def make_provider(**fields: str) -> Provider:
    return Provider.objects.create(provider_id="p", base_url="http://h", **fields)


def test_a_key_is_stored_encrypted_and_read_back() -> None:
    make_provider(api_key="sehr geheim ✓")
    assert "geheim" not in stored("api_key", "agents_provider")
    assert Provider.objects.get().api_key == "sehr geheim ✓"


def test_an_object_is_stored_encrypted_and_read_back() -> None:
    headers = {"Authorization": "Bearer abc", "X": "ü"}
    Server.objects.create(server_id="s", transport="http", url="http://h", headers=headers)
    assert "Bearer" not in stored("headers", "agents_server")
    assert Server.objects.get().headers == headers


def test_empty_values_are_stored_empty_and_can_be_asked_for() -> None:
    make_provider()
    Server.objects.create(server_id="s", transport="stdio", command="x")
    assert stored("api_key", "agents_provider") == ""
    assert stored("env", "agents_server") == ""
    assert Server.objects.get().env == {}
    assert Provider.objects.filter(api_key="").exists()


def test_the_first_key_encrypts_and_all_of_them_decrypt(settings: Settings) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.TOOLLOOP_ENCRYPTION_KEYS = (old,)
    provider = make_provider(api_key="geheim")
    settings.TOOLLOOP_ENCRYPTION_KEYS = (new, old)
    assert Provider.objects.get().api_key == "geheim"
    provider.save()
    settings.TOOLLOOP_ENCRYPTION_KEYS = (new,)
    assert Provider.objects.get().api_key == "geheim"


def test_a_missing_key_is_an_error_that_tells_what_to_set(settings: Settings) -> None:
    settings.TOOLLOOP_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    make_provider(api_key="geheim")
    settings.TOOLLOOP_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    with pytest.raises(
        DecryptionFailed, match=r"agents.Provider.api_key.*TOOLLOOP_ENCRYPTION_KEYS"
    ):
        Provider.objects.get()


def test_a_changed_secret_key_is_told_too(settings: Settings) -> None:
    settings.TOOLLOOP_ENCRYPTION_KEYS = ()
    make_provider(api_key="geheim")
    settings.SECRET_KEY = "another secret key of some length"
    with pytest.raises(DecryptionFailed, match="SECRET_KEY"):
        Provider.objects.get()


def test_a_stored_text_that_was_never_encrypted_is_the_same_error() -> None:
    make_provider()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE agents_provider SET api_key = 'plain é'")
    with pytest.raises(DecryptionFailed):
        Provider.objects.get()


def test_a_dump_holds_the_encrypted_form_and_loads_again(tmp_path: object) -> None:
    make_provider(api_key="geheim")
    out = io.StringIO()
    call_command("dumpdata", "agents.provider", stdout=out)
    assert "geheim" not in out.getvalue()
    path = f"{tmp_path}/dump.json"
    with open(path, "w") as file:
        json.dump(json.loads(out.getvalue()), file)
    Provider.objects.all().delete()
    call_command("loaddata", path, verbosity=0)
    assert Provider.objects.get().api_key == "geheim"


def test_comparisons_that_cannot_work_are_refused() -> None:
    with pytest.raises(FieldError, match="encrypted"):
        Provider.objects.filter(api_key__contains="x").exists()
