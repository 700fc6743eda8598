"""Numbers, sizes and languages as people read them."""

from __future__ import annotations

import json
import re

import pytest
from django.utils.html import strip_tags

from agents.chat.formats import bytes_size, duration, language, telling_argument
from agents.chat.json_views import arguments_html, json_html, result_view, text_html


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, ""),
        (0, "0 ms"),
        (8.4, "8 ms"),
        (12, "0.01 s"),
        (840, "0.84 s"),
        (12_340, "12.3 s"),
        (117_000, "1 min 57 s"),
    ],
)
def test_a_length_of_time_has_its_unit(milliseconds: float | None, words: str) -> None:
    assert duration(milliseconds) == words


@pytest.mark.parametrize(
    ("length", "words"),
    [(0, "0 B"), (999, "999 B"), (1200, "1.2 kB"), (18_204, "18 kB"), (2_100_000, "2.1 MB")],
)
def test_a_size_has_its_unit(length: int, words: str) -> None:
    assert bytes_size(length) == words


@pytest.mark.parametrize(
    ("text", "tag"),
    [("coat", ""), ("北京", "zh"), ("コート", "ja"), ("서울", "ko"), ("Oslo 和 Lima", "zh")],
)
def test_the_script_tells_the_language(text: str, tag: str) -> None:
    assert language(text) == tag


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"city": "Oslo"}, "city=Oslo"),
        ({"limit": 3, "query": "a\nb"}, "query=a b, limit=3"),
        ({"filter": {"a": 1}}, 'filter={"a": 1}'),
        ({}, ""),
        ('{"broken', '{"broken'),
        (None, "null"),
    ],
)
def test_the_most_telling_arguments_stand_on_one_line(arguments: object, line: str) -> None:
    assert telling_argument(arguments) == line  # type: ignore[arg-type]


def test_a_long_argument_is_cut_with_a_sign_of_it() -> None:
    line = telling_argument({"text": "x" * 500})
    assert len(line) == 80
    assert line.endswith("…")


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5e3, True, None], 'quote"d': 'b: "c" <i>&</i>'},
        ["</pre><script>alert(1)</script>"],
        {"key": {"deep": {"er": "北京"}}},
        "just text",
    ],
)
def test_coloured_json_says_the_same_and_is_escaped(value: object) -> None:
    html = json_html(value)  # type: ignore[arg-type]
    assert set(re.findall(r"<[^>]*>", html)) <= {
        '<span class="j-k">', '<span class="j-s">', '<span class="j-n">', '<span class="j-x">',
        "</span>",
    }  # fmt: skip
    text = re.sub(r"<[^>]*>", "", html)
    for mark, sign in {
        "&lt;": "<",
        "&gt;": ">",
        "&quot;": '"',
        "&#x27;": "'",
        "&amp;": "&",
    }.items():
        text = text.replace(mark, sign)
    assert json.loads(text) == value


def test_addresses_in_a_result_are_links_and_nothing_else_is() -> None:
    html = text_html("see https://a.example/b?c=1&d=2 <b> javascript:alert(1)")
    assert '<a href="https://a.example/b?c=1&amp;d=2"' in html
    assert html.count("<a ") == 1
    assert "&lt;b&gt;" in html


def test_a_list_of_flat_objects_is_a_table() -> None:
    view = result_view('[{"a": 1, "b": "x"}, {"a": 2, "c": null}]')
    assert view.table is not None
    assert list(view.table.columns) == ["a", "b", "c"]
    assert view.table.rows == [["1", "x", ""], ["2", "", ""]]


def test_a_list_inside_one_key_is_a_table_too() -> None:
    table = result_view('{"result": [{"a": 1}]}').table
    assert table is not None
    assert table.rows == [["1"]]


@pytest.mark.parametrize(
    "text", ['[{"a": [1]}]', "[1, 2]", "[]", '{"a": 1}', "plain", '[{"a": 1}, 2]']
)
def test_everything_else_is_no_table(text: str) -> None:
    assert result_view(text).table is None


@pytest.mark.parametrize(
    "text", ["[" * 5000 + "]" * 5000, "[" * 200 + "]" * 200, '{"a": NaN', "{" * 9]
)
def test_what_cannot_be_shown_as_json_is_shown_as_it_came(text: str) -> None:
    assert strip_tags(result_view(text).html).replace("&quot;", '"') == text


def test_arguments_that_could_not_be_read_are_shown_as_they_came() -> None:
    assert arguments_html('{"city": "Os') == "{&quot;city&quot;: &quot;Os"
