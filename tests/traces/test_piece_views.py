"""Pictures and exports of a trace: for those who may read it, and nobody else."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.traces.stored import store_run
from traces.models import Trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("mira")


@pytest.fixture
def trace(owner: User) -> Trace:
    return store_run(user=owner.pk, message="A question about coats")


def browser(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def addresses(trace: Trace) -> list[str]:
    pictures = [reverse("trace_picture", args=[trace.pk, name]) for name in ("timeline", "flame")]
    names = ("json", "otlp", "markdown", "transcript")
    return pictures + [reverse("trace_export", args=[trace.pk, name]) for name in names]


def test_pieces_are_for_the_owner_and_an_operator(trace: Trace, owner: User) -> None:
    operator = User.objects.create_superuser("op")
    stranger = User.objects.create_user("stranger")
    for address in addresses(trace):
        assert browser(owner).get(address).status_code == 200
        assert browser(operator).get(address).status_code == 200
        assert browser(stranger).get(address).status_code == 404
        response = browser(None).get(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")


@pytest.mark.parametrize("name", ["timeline", "flame"])
def test_a_picture_is_the_same_when_the_page_is_loaded_with_it(
    trace: Trace, owner: User, name: str
) -> None:
    client = browser(owner)
    page = client.get(reverse("trace", args=[trace.pk]), {"view": name}).content.decode()
    assert f'data-picture="{name}"' in page
    assert f'<a href="?view={name}" data-view="{name}" aria-current="true">' in page
    selected = page.split('data-span="')[-1].split('"')[0]
    piece = client.get(reverse("trace_picture", args=[trace.pk, name]), {"span": selected})
    assert piece.content.decode().count("data-block-of=") == page.count("data-block-of=")


def test_a_page_without_a_picture_is_not_burdened_with_one(trace: Trace, owner: User) -> None:
    page = browser(owner).get(reverse("trace", args=[trace.pk])).content.decode()
    assert "data-picture=" not in page
    assert page.count("data-fetch=") == 2


def test_a_picture_that_does_not_exist_is_not_found(trace: Trace, owner: User) -> None:
    address = reverse("trace_picture", args=[trace.pk, "pie"])
    assert browser(owner).get(address).status_code == 404
    page = browser(owner).get(reverse("trace", args=[trace.pk]), {"view": "pie"})
    assert '<a href="?view=tree" data-view="tree" aria-current="true">' in page.content.decode()


def test_an_export_is_a_file_of_its_own_kind(trace: Trace, owner: User) -> None:
    response = browser(owner).get(reverse("trace_export", args=[trace.pk, "markdown"]))
    assert response["Content-Disposition"] == 'attachment; filename="trace-trace-r1.md"'
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "A question about coats" in response.content.decode()


def test_an_export_without_texts_has_none(trace: Trace, owner: User) -> None:
    client = browser(owner)
    address = reverse("trace_export", args=[trace.pk, "otlp"])
    assert "A question about coats" in client.get(address).content.decode()
    bare = client.get(address, {"content": "0"})
    assert "A question about coats" not in bare.content.decode()
    transcript = reverse("trace_export", args=[trace.pk, "transcript"])
    assert client.get(transcript, {"content": "0"}).status_code == 400


def test_an_unknown_format_is_not_found(trace: Trace, owner: User) -> None:
    address = reverse("trace_export", args=[trace.pk, "pdf"])
    assert browser(owner).get(address).status_code == 404


def test_the_page_offers_every_format(trace: Trace, owner: User) -> None:
    page = browser(owner).get(reverse("trace", args=[trace.pk])).content.decode()
    for name in ("json", "otlp", "markdown", "transcript"):
        assert f'href="{reverse("trace_export", args=[trace.pk, name])}"' in page
