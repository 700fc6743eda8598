"""Groups of an assistant: who may chat with it, read its traces, decide on its calls."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0007_assistant_versions"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.AddField(
            model_name="assistant",
            name=name,
            field=models.ManyToManyField(blank=True, related_name="+", to="auth.group"),
        )
        for name in ("groups", "trace_groups", "approver_groups")
    ]
