"""Flat names of tools."""

from __future__ import annotations

import random
import re

import pytest

from agents.loop.tool_names import assign_names, decode, encode, is_valid_server_id


@pytest.mark.parametrize(
    ("server", "tool", "flat"),
    [
        ("echo", "ping", "echo__ping"),
        ("github.enterprise", "search", "github_enterprise__search"),
        ("com.example.service", "list", "com_example_service__list"),
        ("my-server", "run", "my-server__run"),
        ("echo", "do__it", "echo__do__it"),
        ("echo", "", ""),
        ("", "ping", ""),
    ],
)
def test_a_name_is_server_and_tool(server: str, tool: str, flat: str) -> None:
    assert encode(server, tool) == flat


@pytest.mark.parametrize("pair", [("echo", "ping"), ("a.b", "do__it"), ("a", "_x"), ("x-1", "t")])
def test_decode_undoes_encode(pair: tuple[str, str]) -> None:
    assert decode(encode(*pair)) == pair


@pytest.mark.parametrize("flat", ["", "echo_ping", "__", "echo__", "__ping", "_a__b", "é__x"])
def test_what_is_no_flat_name_is_refused(flat: str) -> None:
    with pytest.raises(ValueError, match="expected server__tool"):
        decode(flat)


@pytest.mark.parametrize("text", ["echo", "a.b", "my-server", "A1", "x" * 64])
def test_letters_digits_hyphens_and_dots_make_a_server_id(text: str) -> None:
    assert is_valid_server_id(text)


@pytest.mark.parametrize(
    "text", ["", "a_b", ".a", "a.", "a..b", "x" * 65, "é", "a b", "a\n", "٣", "a/b"]
)
def test_anything_else_is_no_server_id(text: str) -> None:
    assert not is_valid_server_id(text)


def test_characters_that_providers_refuse_become_hyphens() -> None:
    assert assign_names([("echo", "größe/x y")]) == ["echo__gr--e-x-y"]


def test_two_that_would_share_a_name_both_end_in_a_hash() -> None:
    names = assign_names([("a", "x y"), ("a", "x.y"), ("a", "z")])
    assert names[2] == "a__z"
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"a__x-y_[0-9a-f]{8}", name) for name in names[:2])


def test_long_names_are_cut_and_stay_apart() -> None:
    tools = ["t" * 70, "t" * 69 + "u", "t" * 64]
    names = assign_names([("echo", tool) for tool in tools])
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{64}", name) for name in names)


def test_dots_and_hyphens_of_servers_do_not_meet() -> None:
    assert assign_names([("a.b", "t"), ("a-b", "t")]) == ["a_b__t", "a-b__t"]


def test_the_order_does_not_change_any_name() -> None:
    pairs = [("a", "x y"), ("a", "x.y"), ("b", "n" * 80), ("b", "n" * 81), ("c", "ok")]
    named = dict(zip(pairs, assign_names(pairs), strict=True))
    shuffled = random.Random(3).sample(pairs, len(pairs))
    assert dict(zip(shuffled, assign_names(shuffled), strict=True)) == named


def test_a_tool_named_like_anothers_hashed_name_still_gets_its_own() -> None:
    taken = assign_names([("a", "x y"), ("a", "x.y")])[0].removeprefix("a__")
    names = assign_names([("a", "x y"), ("a", "x.y"), ("a", taken), ("a", "x y")])
    assert len(set(names)) == 4
