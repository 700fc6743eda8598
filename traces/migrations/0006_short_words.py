from django.db import migrations

from traces.full_text import rebuild_pairs


class Migration(migrations.Migration):
    dependencies = [
        ("traces", "0005_status_index"),
    ]

    operations = [
        migrations.RunPython(rebuild_pairs, migrations.RunPython.noop),
    ]
