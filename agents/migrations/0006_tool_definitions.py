"""Every definition that a tool has or had, and how servers were; what is known is approved."""

from __future__ import annotations

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_known_definitions(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Approve what each tool was when it was last listed."""
    tools = apps.get_model("agents", "Tool").objects.all()
    definitions = apps.get_model("agents", "ToolDefinition")
    definitions.objects.bulk_create(
        definitions(
            server_id=tool.server_id,
            name=tool.name,
            definition_hash=tool.definition_hash,
            definition={
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "input_schema": tool.input_schema,
                "output_schema": tool.output_schema,
                "annotations": tool.annotations,
            },
            first_seen=tool.first_seen,
            last_seen=tool.last_seen,
            approved_at=tool.first_seen,
        )
        for tool in tools.iterator()
    )


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0005_workers"),
    ]

    operations = [
        migrations.CreateModel(
            name="ToolDefinition",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=500)),
                ("definition_hash", models.CharField(max_length=64)),
                ("definition", models.JSONField()),
                ("first_seen", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
                ("approved_at", models.DateTimeField(blank=True, null=True)),
                ("approved_by", models.CharField(blank=True, max_length=150)),
                (
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="definitions",
                        to="agents.server",
                    ),
                ),
            ],
            options={
                "ordering": ["server", "name", "-last_seen"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("server", "name", "definition_hash"), name="tool_definition_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ServerHealth",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("error", models.TextField(blank=True)),
                ("protocol", models.CharField(blank=True, max_length=40)),
                ("tools", models.PositiveIntegerField(default=0)),
                (
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="health",
                        to="agents.server",
                    ),
                ),
            ],
            options={
                "ordering": ["server", "-at", "-pk"],
                "indexes": [
                    models.Index(fields=["server", "-at"], name="server_health_newest"),
                ],
            },
        ),
        migrations.RunPython(keep_known_definitions, migrations.RunPython.noop),
    ]
