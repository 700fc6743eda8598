"""The index of texts: what differs between databases, in one place.

Place in the house: ``traces``; called by ``search`` and by a migration. SQLite: two FTS5 tables
whose row ids are those of ``Document``. One holds three-letter pieces (substrings of three letters
and more), one what is too short for the first: the overlapping pairs of Chinese, Japanese and
Korean characters, the beginnings of words, symbols such as emoji. PostgreSQL: ``pg_trgm`` on the
text itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from django.db import connections, router
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from traces.models import Document

SHORT = 2
"""So few letters are found at the beginning of words only."""

FREQUENT = 20_000
"""A word in more documents than this is frequent."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_PIECES = re.compile(rf"[{_CJK}]+|[^{_CJK}]+")
_TOKENS = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_SYMBOLS = re.compile(r"[^\x00-\x7f\w\s]")
_PRIVATE = 0xF0000
_IS_CJK = re.compile(rf"[{_CJK}]")

_CREATE = (
    "CREATE VIRTUAL TABLE traces_trigrams USING fts5(text, tokenize='trigram', content='')",
    "CREATE VIRTUAL TABLE traces_pairs USING fts5(text, content='',"
    " tokenize='unicode61 remove_diacritics 2')",
)
_DROP = ("DROP TABLE traces_trigrams", "DROP TABLE traces_pairs")
_INSERT_PAIRS = "INSERT INTO traces_pairs(rowid, text) VALUES (%s, %s)"
_NEXT_TEXTS = "SELECT id, text FROM traces_document WHERE id > %s ORDER BY id LIMIT 500"
_CREATE_POSTGRESQL = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX traces_document_trigrams ON traces_document USING gin (UPPER(text) gin_trgm_ops)",
)
_DROP_POSTGRESQL = ("DROP INDEX traces_document_trigrams",)


def create_index(apps: object, editor: BaseDatabaseSchemaEditor) -> None:
    """The migration's step forward."""
    _execute(editor, {"sqlite": _CREATE, "postgresql": _CREATE_POSTGRESQL})


def drop_index(apps: object, editor: BaseDatabaseSchemaEditor) -> None:
    """The migration's step back."""
    _execute(editor, {"sqlite": _DROP, "postgresql": _DROP_POSTGRESQL})


def rebuild_pairs(apps: object, editor: BaseDatabaseSchemaEditor) -> None:
    """A migration's step: make the second table anew from the stored texts."""
    if editor.connection.vendor != "sqlite":
        return
    with editor.connection.cursor() as cursor:
        cursor.execute("INSERT INTO traces_pairs(traces_pairs) VALUES ('delete-all')")
        last = 0
        while rows := cursor.execute(_NEXT_TEXTS, (last,)).fetchall():
            split = ((key, " ".join(short_tokens(text))) for key, text in rows)
            cursor.executemany(_INSERT_PAIRS, [row for row in split if row[1]])
            last = rows[-1][0]


def _execute(editor: BaseDatabaseSchemaEditor, statements: dict[str, tuple[str, ...]]) -> None:
    for statement in statements.get(editor.connection.vendor, ()):
        editor.execute(statement)


def add_to_index(documents: Iterable[Document]) -> None:
    """Make stored documents findable."""
    _write(
        documents,
        "INSERT INTO traces_trigrams(rowid, text) VALUES (%s, %s)",
        _INSERT_PAIRS,
    )


def remove_from_index(documents: Iterable[Document]) -> None:
    """Take documents out of the index; call it before they are deleted."""
    _write(
        documents,
        "INSERT INTO traces_trigrams(traces_trigrams, rowid, text) VALUES ('delete', %s, %s)",
        "INSERT INTO traces_pairs(traces_pairs, rowid, text) VALUES ('delete', %s, %s)",
    )


def _write(documents: Iterable[Document], trigrams: str, pairs: str) -> None:
    connection = connections[router.db_for_write(Document)]
    if connection.vendor != "sqlite":
        return
    rows = [(document.pk, document.text) for document in documents]
    split = [(key, " ".join(short_tokens(text))) for key, text in rows]
    with connection.cursor() as cursor:
        cursor.executemany(trigrams, rows)
        cursor.executemany(pairs, [row for row in split if row[1]])


def matching_documents(term: str) -> QuerySet[Document]:
    """The documents in which a term occurs, whatever its case; all its pieces must."""
    documents = Document.objects.all()
    if not _is_sqlite():
        if term.isalnum() and term.isascii() and len(term) <= SHORT:
            return documents.filter(text__iregex=rf"\m{term}")  # \m: where a word begins
        return documents.filter(text__icontains=term)
    for table, asked in _questions(term):
        sql = f"SELECT rowid FROM {table} WHERE {table} MATCH %s"
        documents = documents.filter(pk__in=RawSQL(sql, (asked,)))
    return documents


def can_be_found(term: str) -> bool:
    """Whether there is anything to look for in a term: one or two marks of punctuation are not."""
    return any(asked for _table, asked in _questions(term))


def frequent_pieces(term: str) -> list[str]:
    """The pieces of a term that occurs in so many documents that it is quicker to look into each
    trace's own texts; nothing for other terms, and for those that only the index finds: short
    words, letters with another case than those of ASCII.
    """
    pieces = [piece.strip() for piece in _PIECES.findall(term) if piece.strip()]
    if not _is_sqlite() or not all(_is_plain(piece) for piece in pieces):
        return []
    connection = connections[router.db_for_read(Document)]
    with connection.cursor() as cursor:
        for table, asked in map(_question, pieces):
            sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH %s LIMIT %s)"
            cursor.execute(sql, (asked, FREQUENT + 1))
            if cursor.fetchone()[0] <= FREQUENT:
                return []
    return pieces


def _is_plain(piece: str) -> bool:
    """Whether LIKE finds a piece where the index does."""
    is_long = len(piece) > (1 if _IS_CJK.match(piece) else SHORT)
    return is_long and (piece.isascii() or piece.lower() == piece.upper())


def _is_sqlite() -> bool:
    return connections[router.db_for_read(Document)].vendor == "sqlite"


def _questions(term: str) -> Iterator[tuple[str, str]]:
    """What to ask for a term: tables and FTS5 queries, all of which must find a document."""
    for piece in _PIECES.findall(term):
        table, asked = _question(piece.strip())
        if asked:
            yield table, asked


def _question(piece: str) -> tuple[str, str]:
    """The table that knows a piece, and the FTS5 query for it; no query for mere punctuation."""
    if not _IS_CJK.match(piece) and len(piece) > SHORT:
        return "traces_trigrams", '"' + piece.replace('"', '""') + '"'
    if _IS_CJK.match(piece) and len(piece) > 1:
        pairs = [piece[i : i + 2] for i in range(len(piece) - 1)]
        return "traces_pairs", '"' + " ".join(pairs) + '"'
    tokens = [*_TOKENS.findall(piece), *_symbol_tokens(piece)]
    return "traces_pairs", " ".join(f'"{token}"*' for token in tokens)


def short_tokens(text: str) -> Iterator[str]:
    """The tokens of the second table: pairs of characters and each run's last one, and once each
    the beginnings of words and the symbols.

    The last one stands between two runs, so that no pair of different runs looks like a phrase.
    """
    beginnings: dict[str, None] = {}
    for token in _TOKENS.findall(text):
        if _IS_CJK.match(token):
            yield from (token[i : i + 2] for i in range(len(token)))
        else:
            beginnings[token[:SHORT].lower()] = None
    yield from beginnings
    yield from _symbol_tokens(text)


def _symbol_tokens(text: str) -> list[str]:
    """Emoji, signs of currencies and other symbols, each as a character of private use: for the
    tokenizer those are letters.
    """
    symbols = dict.fromkeys(_SYMBOLS.findall(text))
    return [
        chr(_PRIVATE + (ord(symbol) & 0xFFFF))
        for symbol in symbols
        if unicodedata.category(symbol) in ("Sc", "Sm", "So")
    ]
