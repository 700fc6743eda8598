"""What an assistant remembers of a person: notes in Markdown, and the pieces that are searched.

Place in the house: ``agents.models``; written by ``agents.memory.notes`` alone, which keeps the
pieces and their index in step.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from agents.models.configuration import Assistant


class Note(models.Model):
    """One note, a Markdown text under a path such as ``MEMORY.md`` or ``memory/2026-12-01.md``."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notes"
    )
    assistant = models.ForeignKey(Assistant, on_delete=models.CASCADE, related_name="notes")
    path = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["path"]
        verbose_name = gettext_lazy("note")
        verbose_name_plural = gettext_lazy("notes")
        constraints = [
            models.UniqueConstraint(fields=["user", "assistant", "path"], name="note_path_once"),
            models.CheckConstraint(condition=~Q(path=""), name="note_path_not_empty"),
        ]

    def __str__(self) -> str:
        return self.path


class NotePiece(models.Model):
    """Some lines of a note, as they are found. ``words`` is what the index holds of them;
    ``vector`` are 32-bit floats, ``null`` where no provider of embeddings is set."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="pieces")
    from_line = models.PositiveIntegerField()
    to_line = models.PositiveIntegerField()
    text = models.TextField()
    words = models.TextField()
    vector = models.BinaryField(null=True, blank=True)

    class Meta:
        ordering = ["note", "from_line"]

    def __str__(self) -> str:
        return f"{self.note_id}: {self.from_line}-{self.to_line}"
