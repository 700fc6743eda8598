"""A secret that came in pieces is no more kept than one that came whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from traces.chunk_redaction import CUT, without_split_secrets
from traces.redaction import REDACTED, Redactor

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz1234567890ABCD"


def redact(text: str) -> str:
    return str(json.loads(Redactor(["a-registered-value"]).redact(json.dumps(text))))


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields}]}


def call(index: int, arguments: str) -> dict[str, Any]:
    return delta(tool_calls=[{"index": index, "function": {"arguments": arguments}}])


def parts(text: str, size: int = 5) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def kept(*chunks: object) -> list[Any]:
    """The chunks as they are stored."""
    texts = [text if isinstance(text, str) else json.dumps(text) for text in chunks]
    report = {"status": 200, "chunks": [[float(at), text] for at, text in enumerate(texts)]}
    found = without_split_secrets(report, redact)
    assert isinstance(found, dict)
    assert [at for at, _ in found["chunks"]] == list(range(len(texts)))
    return [text for _, text in found["chunks"]]


def joined(chunks: list[Any], read: Any) -> str:
    return "".join(read(json.loads(text)["choices"][0]["delta"]) for text in chunks)


@pytest.mark.parametrize("field", ["content", "reasoning_content", "refusal"])
@pytest.mark.parametrize("secret", [KEY, "a-registered-value", "Bearer abcdefghijklmnop"])
def test_a_text_that_holds_a_secret(field: str, secret: str) -> None:
    chunks = kept(*(delta(**{field: part}) for part in parts(f"the key is {secret}.")))
    assert secret[7:] not in "".join(chunks)
    assert REDACTED in joined(chunks, lambda found: found[field])


def test_the_arguments_of_each_call_by_themselves() -> None:
    first, second = f'{{"key": "{KEY}"}}', '{"city": "Oslo", "note": "plain"}'
    pieces = zip(parts(first, 8), parts(second, 6), strict=False)
    chunks = kept(*(call(number, part) for pair in pieces for number, part in enumerate(pair)))
    own: dict[int, str] = {0: "", 1: ""}
    for text in chunks:
        [found] = json.loads(text)["choices"][0]["delta"]["tool_calls"]
        own[found["index"]] += found["function"]["arguments"]
    assert REDACTED in own[0]
    assert KEY[3:20] not in own[0]
    assert second.startswith(own[1])


def test_what_holds_no_secret_stays_to_the_letter() -> None:
    chunks = ['{"choices": [ {"delta":{"content":"a"}} ]}', "[DONE]", ": hello", "not json"]
    assert kept(*chunks) == chunks


def test_a_chunk_that_was_cut_off_in_the_middle_is_not_shown() -> None:
    assert kept(delta(content="x"), '{"choices": [{"delta": {"content": "sk-pro') == [
        json.dumps(delta(content="x")),
        CUT,
    ]
