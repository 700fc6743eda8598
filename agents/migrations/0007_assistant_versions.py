"""Every configuration that an assistant was saved with."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0006_tool_definitions"),
    ]

    operations = [
        migrations.AddField(
            model_name="assistant",
            name="version",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.CreateModel(
            name="AssistantVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("by", models.CharField(blank=True, max_length=150)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("configuration", models.JSONField()),
                (
                    "assistant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="agents.assistant",
                    ),
                ),
            ],
            options={
                "ordering": ["assistant", "-number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("assistant", "number"), name="assistant_version_number_once"
                    )
                ],
            },
        ),
    ]
