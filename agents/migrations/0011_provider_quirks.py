"""Two more quirks of providers."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0010_tool_limits"),
    ]

    operations = [
        migrations.AddField(
            model_name="provider",
            name=name,
            field=models.BooleanField(default=False),
        )
        for name in ("no_stream_options", "no_parallel_calls")
    ]
