"""Providers in the admin: the form, the key that is never shown, the test button."""

from __future__ import annotations

from html import unescape

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.test import Client

from agents.encryption import derived_key
from agents.models import Provider, TrustedName
from tests.admin.posting import errors_of, read_form, submit
from tests.fake_provider import FakeProvider, text

KEY = "sk-very-secret-key-0123456789"
ADD = "/admin/agents/provider/add/"


def make_provider(**fields: object) -> Provider:
    given = {"base_url": "https://api.example.org/v1", "default_model": "m1", **fields}
    return Provider.objects.create(provider_id="main", **given)


def page_of(row: Provider) -> str:
    return f"/admin/agents/provider/{row.pk}/change/"


def press(client: Client, row: Provider) -> str:
    """Press Test; the line that is shown then."""
    response = client.post(f"/admin/agents/provider/{row.pk}/test/", follow=True)
    return " ".join(str(message) for message in response.context["messages"])


def test_a_provider_is_added_and_its_key_stored_encrypted(operator: Client) -> None:
    response = submit(
        operator, ADD, "provider_form", provider_id="main",
        base_url="https://api.example.org/v1", new_key=f" {KEY} ", default_model="m1",
    )  # fmt: skip
    assert response.status_code == 302
    row = Provider.objects.get()
    assert (row.provider_id, row.api_key, row.timeout_ms) == ("main", KEY, 60_000)


def test_the_key_is_on_no_page(operator: Client, reader: Client) -> None:
    row = make_provider(api_key=KEY)
    for client in (operator, reader):
        for path in ("/admin/agents/provider/", page_of(row), f"{page_of(row)[:-7]}history/"):
            response = client.get(path)
            assert response.status_code == 200
            assert KEY not in response.content.decode()


def test_an_empty_key_keeps_the_stored_one_and_the_box_removes_it(operator: Client) -> None:
    row = make_provider(api_key=KEY)
    assert submit(operator, page_of(row), "provider_form", default_model="m2").status_code == 302
    row.refresh_from_db()
    assert (row.default_model, row.api_key) == ("m2", KEY)
    assert submit(operator, page_of(row), "provider_form", remove_key="on").status_code == 302
    row.refresh_from_db()
    assert row.api_key == ""


def test_a_key_that_cannot_be_decrypted_is_told_and_can_be_entered_again(
    operator: Client, settings: LazySettings
) -> None:
    row = make_provider(api_key=KEY)
    settings.TOOLLOOP_ENCRYPTION_KEYS = (derived_key("another secret"),)
    assert "stored" in operator.get("/admin/agents/provider/").content.decode()
    assert "cannot be decrypted" in operator.get(page_of(row)).content.decode()
    assert "cannot be decrypted" in press(operator, row)
    response = operator.get("/admin/agents/assistant/add/", follow=True)
    assert "cannot be decrypted" in response.content.decode()
    assert submit(operator, page_of(row), "provider_form", new_key="fresh-key").status_code == 302
    row.refresh_from_db()
    assert row.api_key == "fresh-key"


def test_a_new_key_replaces_the_stored_one(operator: Client) -> None:
    row = make_provider(api_key=KEY)
    submit(operator, page_of(row), "provider_form", new_key="another-key-1")
    row.refresh_from_db()
    assert row.api_key == "another-key-1"


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("base_url", "api.example.org", "expected a URL such as"),
        ("base_url", "https://u:p@api.example.org/v1", "without user and password"),
        ("base_url", "https://api.example.org/v1/chat/completions", "without /chat/completions"),
        ("base_url", "https://api.example.org/v1/chat/completions/", "without /chat/completions"),
        ("provider_id", "a b/c", "an id without blanks and slashes"),
        ("prices__1__input", "free", "m1/input: expected a number from 0 on"),
        ("prices__1__output", "-1", "m1/output: expected a number from 0 on"),
        ("prices__1__output", "nan", "m1/output: expected a number from 0 on"),
        ("prices__1__cached", "1e999", "m1/cached: expected a number from 0 on"),
        ("prices__1__currency", "$", "m1/currency: expected three capital letters such as USD"),
        ("prices__1__model", "", "Row 1: fill in the column “Model”."),
        ("prices__2__model", "m1", "m1 stands twice"),
        ("prices__1__input", "", "expected a price beside the currency"),
        ("prices__1__more", "{", "m1: load the page again."),
        ("prices__1__more", "[1]", "m1: load the page again."),
        ("api_key_env", "sk-abc def", "expected the name of an environment variable"),
        ("tool_call_id_pattern", "[a-z]+", "expected a character class with a length"),
        ("timeout_ms", "0", "a whole number from 1"),
        ("new_key", "two\nlines", "Expected the key alone"),
    ],
)
def test_nonsense_is_told_at_its_field_and_nothing_is_saved(
    operator: Client, field: str, value: str, told: str
) -> None:
    row = make_provider(prices={"m1": {"input": 2, "currency": "EUR"}})
    response = submit(operator, page_of(row), "provider_form", default_model="m9", **{field: value})
    assert told in unescape(errors_of(response))
    row.refresh_from_db()
    assert row.default_model == "m1"


def test_prices_are_entered_in_rows_and_what_has_no_column_stays(operator: Client) -> None:
    kept = {"input": 2, "cached": 0.5, "output": 8.25, "currency": "EUR", "batch": 1}
    row = make_provider(prices={"m1": kept, "gone": {"input": 1}, "a/b:free": {}})
    new = {"model": "m2", "input": "0.15", "output": "1e-05", "currency": "usd"}
    posted = {f"prices__4__{column}": value for column, value in new.items()}
    emptied = {"prices__2__model": "", "prices__2__input": ""}
    saved = submit(operator, page_of(row), "provider_form", **posted, **emptied)
    assert saved.status_code == 302
    row.refresh_from_db()
    m2 = {"input": 0.15, "output": 1e-05, "currency": "USD"}
    assert row.prices == {"m1": kept, "a/b:free": {}, "m2": m2}
    fields = read_form(operator.get(page_of(row)), "provider_form")
    assert (fields["prices-2-input"], fields["prices-3-output"]) == (["2"], ["1e-05"])


def test_rows_come_back_as_they_were_typed(operator: Client) -> None:
    row = make_provider()
    typed = {"prices__1__model": "m<1>", "prices__1__input": "0,15"}
    page = errors_of(submit(operator, page_of(row), "provider_form", **typed))
    assert 'value="m&lt;1&gt;"' in page and 'value="0,15"' in page


def test_who_may_only_read_sees_the_prices_as_lines(reader: Client) -> None:
    row = make_provider(prices={"m1": {"input": 2, "output": 8.5, "currency": "EUR"}})
    assert "m1: input 2, output 8.5 EUR" in reader.get(page_of(row)).content.decode()


def test_a_local_address_needs_to_be_on_the_list(operator: Client, staff: Client) -> None:
    row = make_provider()
    local = {"base_url": "http://127.0.0.1:9001/v1"}
    assert "127.0.0.1:9001" in errors_of(submit(operator, page_of(row), "provider_form", **local))
    refused = errors_of(submit(staff, page_of(row), "provider_form", trust_names="on", **local))
    assert "TOOLLOOP_ALLOWED_HOSTS" in refused
    saved = submit(operator, page_of(row), "provider_form", trust_names="on", **local)
    assert saved.status_code == 302
    assert [(n.kind, n.value, n.source) for n in TrustedName.objects.all()] == [
        ("host", "127.0.0.1:9001", "admin: operator")
    ]
    assert submit(staff, page_of(row), "provider_form", default_model="m3").status_code == 302


def test_the_button_asks_for_models_and_one_streamed_answer(operator: Client) -> None:
    with FakeProvider([text("OK")], key=KEY) as provider:
        row = make_provider(base_url=provider.base_url, api_key=KEY)
        line = press(operator, row)
        assert provider.requests[0].body["stream"] is True
        assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "m1 answered in" in line
    assert "“OK”" in line
    entry = LogEntry.objects.get()
    assert "answered" in entry.change_message
    assert KEY not in entry.change_message


def test_a_wrong_key_is_one_line_without_the_key(operator: Client) -> None:
    with FakeProvider([text("OK")], key="right-key") as provider:
        line = press(operator, make_provider(base_url=provider.base_url, api_key=KEY))
    assert "key" in line
    assert KEY not in line


def test_an_unknown_model_is_told_with_those_that_there_are(operator: Client) -> None:
    with FakeProvider([text("OK")], known_models=["alpha-1", "beta-2"]) as provider:
        row = make_provider(base_url=provider.base_url, default_model="alpha-2")
        line = press(operator, row)
    assert "alpha-1, beta-2" in line
    assert "Did you mean alpha-1?" in line


def test_nobody_listening_is_told_with_what_to_do(operator: Client) -> None:
    line = press(operator, make_provider(base_url="http://127.0.0.1:9/v1"))
    assert "cannot be reached" in line
    assert "Is the server running" in line


def test_the_list_tests_several_at_once(operator: Client) -> None:
    with FakeProvider([text("OK")]) as provider:
        row = make_provider(base_url=provider.base_url)
        chosen = {"action": "test_chosen", "_selected_action": [row.pk]}
        response = operator.post("/admin/agents/provider/", chosen, follow=True)
    assert "m1 answered" in " ".join(str(m) for m in response.context["messages"])


def test_a_reader_sees_the_values_and_cannot_test(reader: Client) -> None:
    row = make_provider(api_key=KEY)
    page = reader.get(page_of(row)).content.decode()
    assert "https://api.example.org/v1" in page
    assert 'name="base_url"' not in page
    assert reader.post(f"/admin/agents/provider/{row.pk}/test/").status_code == 403


@pytest.mark.parametrize("who", ["operator", "staff"])
def test_a_stored_key_does_not_follow_to_another_address(
    who: str, request: pytest.FixtureRequest
) -> None:
    client, row = request.getfixturevalue(who), make_provider(api_key=KEY)
    moved = {"base_url": "https://elsewhere.example/v1"}
    refused = errors_of(submit(client, page_of(row), "provider_form", **moved))
    assert "belongs to https://api.example.org:443" in refused
    same = {"base_url": "https://api.example.org:443/v2"}
    assert submit(client, page_of(row), "provider_form", **same).status_code == 302
    again = {**moved, "new_key": "another-key"}
    assert submit(client, page_of(row), "provider_form", **again).status_code == 302
    row.refresh_from_db()
    assert (row.base_url, row.api_key) == ("https://elsewhere.example/v1", "another-key")


def test_only_a_superuser_says_where_a_variables_value_goes(
    operator: Client, staff: Client
) -> None:
    TrustedName.objects.create(kind="env", value="API_KEY", source="test")
    row = make_provider(api_key_env="API_KEY")
    moved = {"base_url": "https://elsewhere.example/v1"}
    new = {"provider_id": "new", "default_model": "m", "api_key_env": "API_KEY", **moved}
    for path, fields in ((page_of(row), moved), (ADD, new)):
        assert "only a superuser" in errors_of(submit(staff, path, "provider_form", **fields))
        assert submit(operator, path, "provider_form", **fields).status_code == 302
    kept = {"default_model": "m9"}
    assert submit(staff, page_of(row), "provider_form", **kept).status_code == 302
