"""Database connections of threads that live as long as their process.

Place in the house: ``agents.runs``. Django looks after connections at the borders of requests; the
thread that serves runs and sockets has none.
"""

from __future__ import annotations

from django.db import connections


def drop_broken_connections() -> None:
    """Close what failed and cannot be used any more: the next statement connects anew."""
    for connection in connections.all(initialized_only=True):
        if connection.errors_occurred and not connection.in_atomic_block:
            if connection.is_usable():
                connection.errors_occurred = False
            else:
                connection.close()
