"""Views of the list that a person keeps: under a name, for this person alone."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from tests.traces.stored import store_run
from traces import saved_views
from traces.models import SavedView

pytestmark = pytest.mark.django_db


@pytest.fixture
def mira() -> User:
    return User.objects.create_user("mira")


@pytest.fixture
def client(mira: User) -> Client:
    client = Client()
    client.force_login(mira)
    store_run(user=mira.pk, message="coats")
    return client


def save(client: Client, query: str, name: str = "") -> HttpResponse:
    return client.post(reverse("trace_view_save"), {"query": query, "name": name})


def kept(user: User) -> list[tuple[str, str]]:
    return list(SavedView.objects.filter(user=str(user.pk)).values_list("name", "query"))


def shown(client: Client, query: str = "") -> list[str]:
    page = client.get(reverse("traces") + query).content.decode()
    return re.findall(r'class="chip saved[^>]*><a href="([^"]*)"', page)


def test_a_view_is_kept_shown_and_leads_back(client: Client, mira: User) -> None:
    response = save(client, "view=errors&since=day", "Bad days")
    assert response["Location"] == reverse("traces") + "?view=errors&since=day"
    assert kept(mira) == [("Bad days", "view=errors&since=day")]
    assert shown(client) == ["?view=errors&amp;since=day"]
    page = client.get(reverse("traces"), {"view": "errors", "since": "day"}).content.decode()
    assert '<span class="chip saved on">' in page
    assert "Save view" not in page


def test_only_what_narrows_is_kept(client: Client, mira: User) -> None:
    save(client, "view=errors&after=9-x&junk=1&since=never&q=%E9%9B%A8", "Rain")
    assert kept(mira) == [("Rain", "q=%E9%9B%A8&view=errors")]


@pytest.mark.parametrize("query", ["", "junk=1", "after=9-x"])
def test_the_whole_list_is_no_view(client: Client, mira: User, query: str) -> None:
    assert save(client, query, "All").status_code == 400
    assert kept(mira) == []
    assert "Save view" not in client.get(reverse("traces") + f"?{query}").content.decode()


def test_a_query_may_begin_as_in_an_address(client: Client, mira: User) -> None:
    assert save(client, "?view=errors", "Bad").status_code == 302
    assert kept(mira) == [("Bad", "view=errors")]


def test_a_view_of_the_whole_list_is_refused_for_its_true_cause(client: Client) -> None:
    told = save(client, "junk=1").content.decode()
    assert "at least one filter" in told and "junk=1" in told and "remove" not in told


def test_a_view_without_a_name_is_named_by_what_it_holds(client: Client, mira: User) -> None:
    save(client, "view=errors&status=failed", "  ")
    assert kept(mira) == [("errors, failed", "view=errors&status=failed")]


def test_a_name_is_proposed_in_the_words_of_the_page(client: Client) -> None:
    query = {"view": "errors", "since": "day", "q": "rain"}
    page = client.get(reverse("traces"), query).content.decode()
    assert 'value="Errors, last 24 hours, rain"' in page


def test_a_name_is_cut_and_used_once(client: Client, mira: User) -> None:
    save(client, "view=errors", "n" * 90)
    save(client, "view=slow", "n" * 60)
    assert kept(mira) == [("n" * 60, "view=slow")]


def test_a_view_is_removed_and_the_list_stays(client: Client, mira: User) -> None:
    save(client, "view=errors", "Bad")
    [row] = SavedView.objects.all()
    address = reverse("trace_view_remove", args=[row.pk])
    response = client.post(address, {"query": "status=failed"})
    assert response["Location"] == reverse("traces") + "?status=failed"
    assert kept(mira) == []
    assert client.post(address).status_code == 404


def test_nobody_sees_or_removes_the_views_of_others(client: Client, mira: User) -> None:
    save(client, "view=errors", "Bad")
    [row] = SavedView.objects.all()
    other = Client()
    other.force_login(User.objects.create_superuser("op"))
    assert shown(other) == []
    assert other.post(reverse("trace_view_remove", args=[row.pk])).status_code == 404
    nobody = Client().post(reverse("trace_view_remove", args=[row.pk]))
    assert nobody["Location"].startswith("/login/")
    assert Client().post(reverse("trace_view_save"))["Location"].startswith("/login/")
    assert kept(mira) == [("Bad", "view=errors")]


def test_views_are_changed_by_post_alone(client: Client) -> None:
    save(client, "view=errors", "Bad")
    [row] = SavedView.objects.all()
    assert client.get(reverse("trace_view_remove", args=[row.pk])).status_code == 405
    assert client.get(reverse("trace_view_save")).status_code == 405


def test_there_is_a_limit_that_says_so(
    client: Client, mira: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 1)
    save(client, "view=errors", "One")
    refused = save(client, "view=slow", "Two")
    assert refused.status_code == 400
    assert refused.content.decode() == (
        "There are 40 saved views already: remove one of them first."
    )
    save(client, "view=slow", "One")
    assert kept(mira) == [("One", "view=slow")]


def test_a_name_with_markup_is_shown_as_text(client: Client) -> None:
    save(client, "view=errors", "<script>alert(1)</script>")
    page = client.get(reverse("traces")).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
