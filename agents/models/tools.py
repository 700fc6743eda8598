"""What servers listed: their tools now, every definition that a tool ever had, samples; and how the
servers were.

Place in the house: ``agents.models``. ``agents.runs.tool_store`` writes tools and definitions.
"""

from __future__ import annotations

from django.db import models

from agents.models.configuration import Server


class Tool(models.Model):
    """One tool of a server as it was last discovered. ``vanished_at`` is set when a listing lacks
    it; of a name that ``is_listed_twice`` the first counts.
    """

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=500)
    position = models.PositiveIntegerField(default=0)
    title = models.CharField(max_length=500, blank=True)
    description = models.TextField(blank=True)
    input_schema = models.JSONField(null=True, blank=True)
    output_schema = models.JSONField(null=True, blank=True)
    annotations = models.JSONField(default=dict, blank=True)
    is_listed_twice = models.BooleanField(default=False)
    definition_hash = models.CharField(max_length=64)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    vanished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["server", "position", "name"]
        constraints = [
            models.UniqueConstraint(fields=["server", "name"], name="tool_once_per_server"),
        ]

    def __str__(self) -> str:
        return self.name


class ToolDefinition(models.Model):
    """One definition that a tool has or had: what a person approves, by server, name and hash.

    The first one of a name is approved as it comes (``approved_by`` is empty); every later one
    when a person says so. ``definition`` is JSON as ``tool_store.definition_of`` makes it.
    """

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="definitions")
    name = models.CharField(max_length=500)
    definition_hash = models.CharField(max_length=64)
    definition = models.JSONField()
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ["server", "name", "-last_seen"]
        constraints = [
            models.UniqueConstraint(
                fields=["server", "name", "definition_hash"], name="tool_definition_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.definition_hash[:8]}"


class ToolSample(models.Model):
    """An example of a tool's use; kept by name, so that it outlives a server that is down."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="samples")
    tool = models.CharField(max_length=500)
    position = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    input = models.JSONField(null=True, blank=True)
    output = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["server", "tool", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["server", "tool", "position"], name="tool_sample_position_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool}: {self.name}"


class ServerHealth(models.Model):
    """How a server was from a moment on, when somebody asked it: ``error`` is empty if it answered.

    A row is written when something is different from the last one (``agents.runs.tool_store``).
    """

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="health")
    at = models.DateTimeField()
    error = models.TextField(blank=True)
    protocol = models.CharField(max_length=40, blank=True)
    tools = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["server", "-at", "-pk"]
        indexes = [models.Index(fields=["server", "-at"], name="server_health_newest")]

    def __str__(self) -> str:
        return f"{self.server_id}: {self.error or 'ok'}"
