"""Secrets are taken out of JSON text, and the JSON stays JSON."""

from __future__ import annotations

import json

import pytest

from traces.redaction import REDACTED, Redactor


def redact(value: object, *secrets: str) -> object:
    return json.loads(Redactor(secrets).redact(json.dumps(value, ensure_ascii=False)))


@pytest.mark.parametrize(
    "secret", ["plain-secret", 'quo"ted\\secret', "line\nsecret1", "geheim-schlüssel", "abc.*+?(x"]
)
def test_a_registered_value_is_taken_out_wherever_it_stands(secret: str) -> None:
    nested = json.dumps({"inner": secret})
    value = {"a": f"x {secret} y", "b": [secret], "c": nested}
    found = redact(value, secret)
    assert found == {
        "a": f"x {REDACTED} y",
        "b": [REDACTED],
        "c": json.dumps({"inner": REDACTED}),
    }


def test_short_values_stay() -> None:
    assert redact("on and on", "on") == "on and on"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert redact("secret-12345", "secret-1", "secret-12345") == REDACTED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key sk-abcdefghijklmnop1234 here", f"key {REDACTED} here"),
        ("Authorization: Bearer abcdefgh12345", f"Authorization: Bearer {REDACTED}"),
        ("http://me:pa55@host/x", f"http://{REDACTED}@host/x"),
        ("ghp_abcdefghijklmnopqrstuvwxyz", REDACTED),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", REDACTED),
    ],
)
def test_shapes_of_well_known_keys_are_taken_out(text: str, expected: str) -> None:
    assert redact({"x": text}) == {"x": expected}


def test_values_under_names_of_secrets_are_taken_out_also_in_nested_json() -> None:
    headers = {"Authorization": "Custom abc", "X-Api-Key": "k", "Accept": "text/plain"}
    expected = {"Authorization": REDACTED, "X-Api-Key": REDACTED, "Accept": "text/plain"}
    assert redact(headers) == expected
    nested = {"arguments": json.dumps({"password": "hunter2", "user": "me"})}
    assert redact(nested) == {"arguments": json.dumps({"password": REDACTED, "user": "me"})}


def test_ordinary_text_stays_as_it_is() -> None:
    value = {
        "text": "The token is in the key, sk- is a prefix; see https://example.org/a?b=c@d",
        "schema": {"properties": {"password": {"type": "string"}, "api_key": {"minLength": 3}}},
        "key": "value", "token": "word",
    }  # fmt: skip
    assert redact(value) == value


def test_what_the_operator_names_is_taken_out_of_texts_and_never_breaks_them() -> None:
    redactor = Redactor(patterns=[r"\bCUST-\d{6}\b", r'"name": ".*?"'])
    value = {"a": 'of CUST-123456 and "name": "Ada"', "CUST-123456": [1, True, None, "CUST-1"]}
    assert json.loads(redactor.redact(json.dumps(value))) == {
        "a": f"of {REDACTED} and {REDACTED}",
        REDACTED: [1, True, None, "CUST-1"],
    }
