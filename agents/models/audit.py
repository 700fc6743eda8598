"""Who changed what operators configure, and who decided on which call.

Place in the house: ``agents.models``. Written by ``agents.audit`` alone; nothing changes a row.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy


class AuditKind(models.TextChoices):
    """What happened."""

    ASSISTANT = "assistant", gettext_lazy("assistant changed")
    WHITELIST = "whitelist", gettext_lazy("tools or policy changed")
    PEOPLE = "people", gettext_lazy("people of an assistant changed")
    SERVER = "server", gettext_lazy("server changed")
    PROVIDER = "provider", gettext_lazy("provider changed")
    TOOL = "tool", gettext_lazy("definition approved")
    TRUST = "trust", gettext_lazy("trusted names changed")
    DECISION = "decision", gettext_lazy("call decided")


class AuditEntry(models.Model):
    """One change or decision. ``before`` and ``after`` are JSON without secrets, ``null`` for what
    was not or is not there; ``who`` is a user name, or ``command`` for the command line."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    who = models.CharField(max_length=150)
    kind = models.CharField(max_length=20, choices=AuditKind.choices)
    subject = models.CharField(max_length=300)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-at", "-pk"]
        verbose_name = gettext_lazy("audit entry")
        verbose_name_plural = gettext_lazy("audit")

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
