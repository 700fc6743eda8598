"""Commands beside a served application, on its database."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.browser.conftest import ROOT, Site

PASSWORD = "correct horse battery"


def run_python(site: Site, code: str) -> str:
    """What the code prints in ``manage.py shell`` on the site's database."""
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": site.database},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def make_user(site: Site, name: str) -> None:
    """Somebody without special rights, with ``PASSWORD``."""
    run_python(
        site,
        "from django.contrib.auth.models import User;"
        f"User.objects.create_user({name!r}, password={PASSWORD!r})",
    )
