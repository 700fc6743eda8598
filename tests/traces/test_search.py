"""Finding traces by the words that were said in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from agents.loop import events
from agents.loop.messages import JsonObject
from tests.traces.events import Teller, tool_call
from traces import full_text
from traces.full_text import rebuild_pairs, remove_from_index
from traces.models import Document, Trace
from traces.recorder import TraceSink
from traces.search import MAX_CHARS, index_ended_traces, is_idle, read_terms, search_traces

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True, params=[full_text.FREQUENT, 0], ids=["rare words", "frequent words"])
def _frequency(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frequent words are looked for in another way, with the same result."""
    monkeypatch.setattr(full_text, "FREQUENT", request.param)


SYSTEM: JsonObject = {"role": "system", "content": "You are a secretary."}


async def record(run: str, message: str = "hi", result: str = "fine", **end: Any) -> None:
    """A run with this user message and this result of a call, stored and indexed."""
    told: list[events.Event] = []
    teller = Teller(told.append, run=run)
    call = tool_call(f"{run}:0:1:0")
    teller.start(trace=f"trace-of-{run}", message=message)
    teller.tell(events.TurnStarted, turn=0)
    teller.ask(SYSTEM, {"role": "user", "content": message})
    teller.answer("", call)
    teller.start_call(call)
    teller.finish_call(call, text=result[:10], full_text=result)
    teller.finish(**end)
    await tell_all(told)


async def tell_all(told: Iterable[events.Event]) -> None:
    """Tell a sink, which is closed afterwards."""
    sink = TraceSink()
    for event in told:
        await sink.handle(event)
    await sink.close()


@sync_to_async
def found(words: str) -> list[str]:
    """The runs whose traces are found."""
    return sorted(search_traces(Trace.objects.all(), words).values_list("run", flat=True))


@pytest.mark.parametrize(
    "words",
    [
        "umbrella", "UMBRELLA", "mbrel", "take an umbrella", '"an umbrella"',
        "um", "UM", "u", "na", "Ra um", "🎉", "☂️", "°", "5 °C", "umbrella *",
        "7 mm", "天气", "天",
        "适合穿什么", "气适", "么", "echo__echo", "naïve", "rain, take",
    ],
)  # fmt: skip
async def test_what_was_said_is_found(words: str) -> None:
    await record(
        "r1", "Naïve: 北京天气适合穿什么?", '{"advice": "7 mm rain, take an umbrella 🎉☂️ 5 °C"}'
    )
    assert await found(words) == ["r1"]


@pytest.mark.parametrize(
    "words",
    ["umbrellas", "京天天", "适穿", '"umbrella an"', "xyz", "umb rel", "mb", "ex", "🎈", "€"],
)
async def test_what_was_not_said_is_not_found(words: str) -> None:
    await record("r1", "北京天气适合穿什么?", "an umbrella")
    expected = ["r1"] if words == "umb rel" else []
    assert await found(words) == expected


async def test_every_word_must_occur_somewhere_in_the_trace() -> None:
    await record("r1", "the question of Oslo", "an answer with snow")
    await record("r2", "the question of Lima", "an answer with snow")
    assert await found("oslo snow") == ["r1"]
    assert await found("snow") == ["r1", "r2"]
    assert await found("oslo lima") == []


async def test_system_prompts_are_not_searched() -> None:
    await record("r1")
    assert await found("secretary") == []


async def test_errors_are_found() -> None:
    await record("r1", status="failed", stop_reason="provider_error", error="the key was refused")
    assert await found("refused") == ["r1"]


async def test_a_text_of_two_traces_is_indexed_once() -> None:
    await record("r1", result="the same long result")
    await record("r2", result="the same long result")
    assert await found("same long") == ["r1", "r2"]
    assert await sync_to_async(Document.objects.filter(text__contains="same long").count)() == 1


async def test_of_a_huge_result_the_beginning_is_found() -> None:
    await record("r1", result="beginning " + "x" * MAX_CHARS + " ending")
    assert await found("beginning") == ["r1"]
    assert await found("ending") == []


async def test_a_running_trace_is_found_by_its_message() -> None:
    told: list[events.Event] = []
    Teller(told.append, run="r1").start(trace="t1", message="What about Oslo?")
    await tell_all(told)
    assert await found("oslo") == ["r1"]


async def test_a_text_that_is_taken_out_is_not_found_any_more() -> None:
    await record("r1", result="umbrella 雨伞")

    @sync_to_async
    def remove() -> None:
        documents = Document.objects.filter(text__contains="umbrella")
        remove_from_index(documents)
        documents.delete()

    await remove()
    assert await found("umbrella") == []
    assert await found("雨伞") == []
    assert await found("hi") == ["r1"]


async def test_what_a_dead_process_left_is_indexed_by_the_next_one() -> None:
    await record("r1", result="umbrella")
    await sync_to_async(Trace.objects.update)(is_indexed=False)
    assert await sync_to_async(index_ended_traces)() == 1
    assert await sync_to_async(index_ended_traces)() == 0
    assert await found("umbrella") == ["r1"]


def test_terms_are_words_and_quoted_words() -> None:
    assert read_terms(' a  "b c" "d a ') == ["a", "b c", "d"]
    assert read_terms('" "" ') == []


@pytest.mark.parametrize(
    "words", ["NEAR(a b)", "a* OR b", "^x", "x:y", "'; -- x", "%_%", "\\\\\\", "a\0b"]
)
async def test_no_word_is_a_command(words: str) -> None:
    await record("r1", result=f"before {words} after".replace("\0", " "))
    assert await found(words) == ["r1"]


@pytest.mark.parametrize("words", ["*", "(", "%_", '"', "* (", "。", "\\"])
async def test_in_mere_punctuation_there_is_nothing_to_look_for(words: str) -> None:
    await record("r1", result=f"before {words} after")
    assert await found(words) == []
    assert is_idle(words)
    assert not is_idle(f"{words} after") and not is_idle("")


async def test_texts_of_before_are_found_by_the_beginnings_of_words_too() -> None:
    await record("r1", result="huge 雨伞 🎉")

    @sync_to_async
    def rebuild() -> None:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO traces_pairs(traces_pairs) VALUES ('delete-all')")
        with connection.schema_editor() as editor:
            rebuild_pairs(None, editor)

    await rebuild()
    assert [await found(words) for words in ("hu", "雨伞", "🎉", "hx")] == [["r1"]] * 3 + [[]]
