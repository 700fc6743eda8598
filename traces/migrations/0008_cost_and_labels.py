"""What a trace cost, and what can be looked for in it besides texts."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

KINDS = [
    ("tool", "server and tool"),
    ("outcome", "outcome of a call"),
    ("model", "model that answered"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0007_pruning"),
    ]

    operations = [
        migrations.AddField(
            model_name="trace",
            name="cost",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="Label",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(choices=KINDS, max_length=10)),
                ("value", models.CharField(max_length=300)),
                (
                    "trace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="traces.trace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("trace", "kind", "value"), name="label_once")
                ],
            },
        ),
    ]
