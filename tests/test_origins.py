"""Only pages of this site, on this port, open web sockets."""

from __future__ import annotations

import pytest

from toolloop_site.origins import is_same


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://localhost", "localhost"),
        ("http://localhost", "localhost:80"),
        ("https://chat.example.org", "chat.example.org"),
        ("https://Chat.example.org:443", "chat.example.org"),
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_a_page_of_the_same_place_is_let_in(origin: str, host: str) -> None:
    assert is_same(origin, host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:9999", "127.0.0.1:8000"),
        ("http://localhost:8000", "127.0.0.1:8000"),
        ("https://chat.example.org.evil.org", "chat.example.org"),
        ("http://chat.example.org:443", "chat.example.org:8443"),
        ("null", "localhost"),
        ("", "localhost"),
        ("file://localhost", "localhost"),
        ("http://localhost:port", "localhost"),
        ("http://", ""),
    ],
)
def test_a_page_of_another_place_is_not(origin: str, host: str) -> None:
    assert not is_same(origin, host)
