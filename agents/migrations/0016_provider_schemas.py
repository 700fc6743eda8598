"""Fields of calls and plain schemas: two more quirks of providers."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0015_question_arguments"),
    ]

    operations = [
        migrations.AddField(
            model_name="provider",
            name="call_fields",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="provider",
            name="plain_schemas",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
