"""Which hosts are this machine's or a private network's, however they are written."""

from __future__ import annotations

import pytest

from agents.runs.trust import is_local_host

LOCAL = [
    "127.0.0.1", "127.0.0.1:8000", "localhost", "localhost.", "LOCALHOST:80", "127.1", "127.1:8299",
    "127.0.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "017700000001", "0", "0.0.0.0",
    "①②⑦.0.0.1", "[::1]", "[::1]:80", "[::ffff:127.0.0.1]", "[fe80::1%25eth0]", "10.0.0.1",
    "192.168.1.1", "169.254.169.254", "db", "db.internal", "nas.local.", "100.64.0.1",
]  # fmt: skip


@pytest.mark.parametrize("host", LOCAL)
def test_a_local_host_is_known_in_every_form(host: str) -> None:
    assert is_local_host(host)


@pytest.mark.parametrize(
    "host",
    ["example.org", "example.org:443", "1.1.1.1", "8.8.8.8:53", "[2606:4700::1111]", "1e.org"],
)
def test_a_public_host_is_not(host: str) -> None:
    assert not is_local_host(host)
