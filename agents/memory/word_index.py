"""The index of the words of notes: what differs between databases, in one place.

Place in the house: ``agents.memory``; called by ``notes``, ``recall`` and a migration. SQLite: an
FTS5 table whose row ids are those of the pieces, ranked by its BM25. PostgreSQL: its full text over
the same words; what it finds is ranked by BM25 here, for it has none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from django.db import connection
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from agents.models.notes import NotePiece

MOST_CANDIDATES = 500
"""Pieces that PostgreSQL may find for one question before they are ranked."""

_CREATE = {
    "sqlite": (
        "CREATE VIRTUAL TABLE agents_note_words USING fts5(words,"
        " tokenize='porter unicode61 remove_diacritics 2')",
    ),
    "postgresql": (
        "CREATE INDEX agents_note_words ON agents_notepiece"
        " USING gin (to_tsvector('english', words))",
    ),
}
_DROP = {
    "sqlite": ("DROP TABLE agents_note_words",),
    "postgresql": ("DROP INDEX agents_note_words",),
}

_FIND_SQLITE = """
SELECT piece.id, -bm25(agents_note_words) AS score
FROM agents_note_words
JOIN agents_notepiece piece ON piece.id = agents_note_words.rowid
JOIN agents_note note ON note.id = piece.note_id
WHERE agents_note_words MATCH %s AND note.user_id = %s AND note.assistant_id = %s
ORDER BY score DESC LIMIT %s
"""

_FIND_POSTGRESQL = """
SELECT piece.id, tsvector_to_array(to_tsvector('english', piece.words)),
       tsvector_to_array(to_tsvector('english', %s)), length(piece.words)
FROM agents_notepiece piece JOIN agents_note note ON note.id = piece.note_id
WHERE to_tsvector('english', piece.words) @@ to_tsquery('english', %s)
AND note.user_id = %s AND note.assistant_id = %s
LIMIT %s
"""

_COUNT_PIECES = """
SELECT count(*) FROM agents_notepiece piece JOIN agents_note note ON note.id = piece.note_id
WHERE note.user_id = %s AND note.assistant_id = %s
"""

Scored = list[tuple[int, float]]


def create_index(apps: object, editor: BaseDatabaseSchemaEditor) -> None:
    """The migration's step forward."""
    for statement in _CREATE.get(editor.connection.vendor, ()):
        editor.execute(statement)


def drop_index(apps: object, editor: BaseDatabaseSchemaEditor) -> None:
    """The migration's step back."""
    for statement in _DROP.get(editor.connection.vendor, ()):
        editor.execute(statement)


def add_pieces(pieces: Iterable[NotePiece]) -> None:
    """Make stored pieces findable. Belongs into the transaction that stores them."""
    if connection.vendor != "sqlite":
        return
    rows = [(piece.pk, piece.words) for piece in pieces]
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO agents_note_words(rowid, words) VALUES (%s, %s)", rows)


def remove_pieces(keys: Iterable[int]) -> None:
    """Take pieces out of the index. Belongs into the transaction that deletes them."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            "DELETE FROM agents_note_words WHERE rowid = %s", [(key,) for key in keys]
        )


def find_pieces(words: Sequence[str], user_id: int, assistant_id: int, limit: int) -> Scored:
    """The pieces in which any of the words stands, best first, with their BM25 scores."""
    asked = list(dict.fromkeys(word for word in words if word.isalnum()))
    if not asked:
        return []
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            question = " OR ".join(f'"{word}"' for word in asked)
            cursor.execute(_FIND_SQLITE, [question, user_id, assistant_id, limit])
            return [(int(key), float(score)) for key, score in cursor.fetchall()]
        texts = [" ".join(asked), " | ".join(asked)]
        cursor.execute(_FIND_POSTGRESQL, [*texts, user_id, assistant_id, MOST_CANDIDATES])
        found = cursor.fetchall()
        cursor.execute(_COUNT_PIECES, [user_id, assistant_id])
        return _by_bm25(found, cursor.fetchone()[0])[:limit]


def _by_bm25(found: Sequence[tuple[int, list[str], list[str], int]], total: int) -> Scored:
    """BM25 over what was found; each word counts once in a piece, as pieces are short."""
    if not found:
        return []
    seen = Counter(word for _, has, asked, _ in found for word in set(has) & set(asked))
    average = sum(length for _, _, _, length in found) / len(found)
    scored = [
        (key, sum(_weight(seen[word], total, length / average) for word in set(has) & set(asked)))
        for key, has, asked, length in found
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def _weight(seen: int, total: int, length: float) -> float:
    rarity = math.log(1 + (total - seen + 0.5) / (seen + 0.5))
    return rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length))
