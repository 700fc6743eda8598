"""Reading and writing notes: the note, its pieces and their index in one transaction.

Place in the house: ``agents.memory``; the memory server and the page of notes call it. Plain
synchronous functions on the database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from agents.memory.pieces import pieces_of
from agents.memory.word_index import add_pieces, remove_pieces
from agents.models.notes import Note, NotePiece
from agents.texts import storable

LASTING = "MEMORY.md"
"""The note of what lasts."""

NOTE_CHARS = 200_000
"""How long a note may be."""

MOST_NOTES = 2000
"""How many notes a person may have with one assistant."""

_PATH = re.compile(r"[\w][\w .-]*(/[\w][\w .-]*)*\.md")


class NoteProblem(Exception):
    """Raised for a note that cannot be read or written; the text is for whoever asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Whose notes: of one person with one assistant."""

    user_id: int
    assistant_id: int

    @property
    def notes(self) -> QuerySet[Note]:
        """All notes, by path."""
        return Note.objects.filter(user_id=self.user_id, assistant_id=self.assistant_id)

    def read(self, path: str) -> Note:
        """The note under a path. Raises ``NoteProblem`` that names those there are."""
        note = self.notes.filter(path=checked_path(path)).first()
        if note is None:
            known = ", ".join(self.notes.values_list("path", flat=True)[:20]) or _("none yet")
            words = _("there is no note %(path)s; there are: %(known)s")
            raise NoteProblem(words % {"path": repr(path)[:120], "known": known})
        return note

    @transaction.atomic
    def write(self, path: str, text: str) -> Note:
        """Put this text under the path, over what stood there. Raises ``NoteProblem``."""
        path, text = checked_path(path), _checked_text(text)
        note = self.notes.select_for_update().filter(path=path).first()
        if note is None:
            if self.notes.count() >= MOST_NOTES:
                words = _("there are %(n)d notes already: delete some first")
                raise NoteProblem(words % {"n": MOST_NOTES})
            note = Note(user_id=self.user_id, assistant_id=self.assistant_id, path=path)
        note.text = text
        note.save()
        _index(note)
        return note

    @transaction.atomic
    def append(self, path: str, text: str) -> Note:
        """Put this text behind what stands under the path. Raises ``NoteProblem``."""
        text = _checked_text(text)
        if not text.strip():
            raise NoteProblem(_("the note is empty: say what is to be remembered"))
        note = self.notes.filter(path=checked_path(path)).first()
        before = note.text.rstrip("\n") if note is not None else ""
        return self.write(path, f"{before}\n{text}\n" if before else f"{text}\n")

    @transaction.atomic
    def delete(self, path: str) -> None:
        """Take a note away. Raises ``NoteProblem``."""
        note = self.read(path)
        remove_pieces(note.pieces.values_list("pk", flat=True))
        note.delete()


def path_of_day(day: date) -> str:
    """The path of a day's note."""
    return f"memory/{day.isoformat()}.md"


def checked_path(path: str) -> str:
    """The path if it can be one. Raises ``NoteProblem``."""
    if not isinstance(path, str) or len(path) > 200 or not _PATH.fullmatch(path):
        words = _("expected a path such as %(example)s, got %(path)s")
        example = f"{LASTING}, memory/2026-12-01.md"
        raise NoteProblem(words % {"example": example, "path": repr(path)[:120]})
    return path


def _checked_text(text: str) -> str:
    if len(text) > NOTE_CHARS:
        words = _("a note may have %(most)s characters, this one has %(n)s")
        raise NoteProblem(words % {"most": f"{NOTE_CHARS:,}", "n": f"{len(text):,}"})
    return str(storable(text.replace("\r\n", "\n")))


def _index(note: Note) -> None:
    """The note's pieces and their words anew; a piece whose text stayed keeps its vector."""
    known = {piece.text: piece.vector for piece in note.pieces.all() if piece.vector is not None}
    remove_pieces(note.pieces.values_list("pk", flat=True))
    note.pieces.all().delete()
    pieces = [
        NotePiece(
            note=note, from_line=piece.from_line, to_line=piece.to_line, text=piece.text,
            words=" ".join(piece.words), vector=known.get(piece.text),
        )
        for piece in pieces_of(note.text)
    ]  # fmt: skip
    add_pieces([_stored(piece) for piece in pieces])


def _stored(piece: NotePiece) -> NotePiece:
    piece.save(force_insert=True)
    return piece
