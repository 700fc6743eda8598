"""Who changed what, and who decided on which call."""

from __future__ import annotations

from django.db import migrations, models

KINDS = [
    ("assistant", "assistant changed"),
    ("whitelist", "tools or policy changed"),
    ("people", "people of an assistant changed"),
    ("server", "server changed"),
    ("provider", "provider changed"),
    ("tool", "definition approved"),
    ("trust", "trusted names changed"),
    ("decision", "call decided"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0008_assistant_groups"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("who", models.CharField(max_length=150)),
                ("kind", models.CharField(choices=KINDS, max_length=20)),
                ("subject", models.CharField(max_length=300)),
                ("before", models.JSONField(blank=True, null=True)),
                ("after", models.JSONField(blank=True, null=True)),
                ("reason", models.TextField(blank=True)),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit",
                "ordering": ["-at", "-pk"],
            },
        ),
    ]
