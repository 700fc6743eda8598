"""Limits of single tools."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0009_audit"),
    ]

    operations = [
        migrations.AddField(
            model_name="assistant",
            name="tool_limits",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
