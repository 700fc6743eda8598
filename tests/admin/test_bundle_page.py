"""Import and export in the admin: nothing is stored before it was looked at and confirmed."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from agents.admin import sealed_sources
from agents.models import Assistant, Provider, Server, TrustedName
from tests.admin.conftest import browser_of
from tests.admin.posting import read_form
from tests.bundle.test_agent_settings import CONFIG, SETTINGS
from tests.bundle.test_import_export import FULL, load, stored_rows
from tests.bundle.test_preview import KEY, full
from tests.bundle.test_yao_files import APPLICATION

PAGE = "/admin/bundle/"
INLINE = re.compile(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:")


def paste(client: Client, value: Any) -> HttpResponse:
    """The preview of a bundle that is pasted."""
    text = value if isinstance(value, str) else json.dumps(value)
    return client.post(PAGE, {"text": text, "tools_server": "tools"})


def upload(client: Client, *files: tuple[str, bytes], **more: str) -> HttpResponse:
    """The preview of files that are chosen."""
    chosen = [SimpleUploadedFile(name, content) for name, content in files]
    return client.post(PAGE, {"files": chosen, "text": "", **more})


def confirm(client: Client, preview: HttpResponse, **ticks: str) -> HttpResponse:
    """Press Import on a preview."""
    fields = read_form(preview, "import_form")
    return client.post(PAGE, {**fields, **ticks}, follow=True)


def told(response: HttpResponse) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def test_a_pasted_bundle_is_shown_then_confirmed_then_stored(operator: Client) -> None:
    before = stored_rows()
    preview = paste(operator, FULL)
    page = preview.content.decode()
    assert "8 new, 2 with changes" in page
    assert "limits/max_tools" in page and "docs.search" in page
    assert "TOKEN=$ENV.TOKEN MODE=fast python3 -u echo.py" in page
    assert "MAIN_KEY (environment name)" in page
    assert not INLINE.search(page)
    assert stored_rows() == before
    done = confirm(operator, preview, trust="on", commands="on")
    assert "Imported: 8 new, 2 with changes." in told(done)
    assert Assistant.objects.get(assistant_id="helper").max_tools == 5
    assert set(TrustedName.objects.values_list("source", flat=True)) == {"admin: operator"}
    entries = LogEntry.objects.filter(object_repr="Helper").values_list("change_message", flat=True)
    assert "limits/max_tools" in entries.get()
    again = paste(operator, FULL).content.decode()
    assert "Nothing would change" in again and 'name="sealed"' not in again


def test_each_changed_field_is_told_before_and_after(operator: Client) -> None:
    load(FULL)
    page = paste(operator, full("assistants/0/limits/max_tools", 7)).content.decode()
    row = r"limits/max_tools</code></dt><dd><del>5</del>.*<ins>7</ins>"
    assert re.search(row, page)
    assert "1 with changes, 9 unchanged" in page
    whitelist = paste(operator, full("assistants/0/mcp/servers/1", "docs.search"))
    assert "<ins>all tools</ins>" in whitelist.content.decode()
    prompt = paste(operator, full("assistants/0/prompts/0/content", "You help.\nAlways."))
    assert "<span>You help.</span><ins>Always.</ins>" in prompt.content.decode()


@pytest.mark.parametrize("ticks", [{}, {"trust": "on"}, {"commands": "on"}])
def test_commands_and_names_have_to_be_ticked(operator: Client, ticks: dict[str, str]) -> None:
    before = stored_rows()
    response = confirm(operator, paste(operator, FULL), **ticks)
    page = response.content.decode()
    assert ("Commands run on this machine" in page) == ("commands" not in ticks)
    assert ("tick the box to put them there" in page) == ("trust" not in ticks)
    assert stored_rows() == before
    assert confirm(operator, response, trust="on", commands="on").redirect_chain


def test_faults_are_all_shown_with_their_pointers_and_cannot_be_imported(operator: Client) -> None:
    bundle = full("providers/0/base_url", 7)
    bundle["assistants"][0]["limits"]["max_tols"] = 3
    page = paste(operator, bundle).content.decode()
    assert "2 faults: nothing can be imported" in page
    assert "/providers/0/base_url" in page and "/assistants/0/limits/max_tols" in page
    assert 'name="sealed"' not in page


def test_half_a_character_is_a_fault_like_any_other(operator: Client) -> None:
    page = paste(operator, r'{"version": 1, "servers": [{"server_id": "\ud800"}]}')
    assert page.status_code == 200
    assert "expected text that can be stored" in page.content.decode()


def test_what_changed_in_the_meantime_is_shown_again_instead_of_stored(operator: Client) -> None:
    load(FULL)
    preview = paste(operator, full("providers/0/timeout_ms", 7000))
    Provider.objects.filter(provider_id="main").update(timeout_ms=6000)
    page = confirm(operator, preview)
    assert "changed in the meantime" in page.content.decode()
    assert "<del>6000</del>" in page.content.decode()
    assert Provider.objects.get(provider_id="main").timeout_ms == 6000
    confirm(operator, page)
    assert Provider.objects.get(provider_id="main").timeout_ms == 7000


def test_a_preview_belongs_to_one_person_and_one_hour(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview = paste(operator, full())
    other = browser_of(User.objects.create_superuser("other"))
    assert "too old or not yours" in told(confirm(other, preview, trust="on", commands="on"))
    assert "too old" in told(operator.post(PAGE, {"sealed": "made-up"}, follow=True))
    assert "too old" in told(operator.post(PAGE, {"sealed": ""}, follow=True))
    monkeypatch.setattr(sealed_sources, "KEPT_SECONDS", -1)
    late = paste(operator, full())
    assert "too old" in told(confirm(operator, late, trust="on", commands="on"))
    assert not Server.objects.exists()


def test_secrets_of_a_bundle_stand_nowhere_on_the_page(operator: Client) -> None:
    bundle = full("servers/0/env/TOKEN", KEY)
    bundle["servers"][1]["headers"] = {"Authorization": f"Bearer {KEY}", "X-Key": "sesame"}
    page = paste(operator, bundle).content.decode()
    assert KEY not in page and "sesame" not in page
    assert "\u2022\u2022\u2022\u2022" in page


def test_yaos_files_come_as_a_zip(operator: Client) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in APPLICATION.items():
            archive.writestr(path, text)
    preview = upload(operator, ("app.zip", target.getvalue()))
    page = preview.content.decode()
    assert "files of Yao" in page and "assistants/keeper/package.yao#/kb" in page
    confirm(operator, preview, trust="on", commands="on")
    assert Assistant.objects.get(assistant_id="keeper").server_links.count() == 3


def test_the_pair_comes_as_two_files_with_the_server_of_its_tools(operator: Client) -> None:
    pair = [("settings.json", json.dumps(SETTINGS).encode()), ("config.toml", CONFIG.encode())]
    without = upload(operator, *pair).content.decode()
    assert "/assistants/0/mcp/servers/0" in without and "1 fault" in without
    assert "assistant research" in without
    Server.objects.create(server_id="shell", transport="stdio", command="shell")
    preview = upload(operator, *pair, tools_server="shell")
    assert "how the loop works anyway" in preview.content.decode()
    confirm(operator, preview, trust="on")
    row = Assistant.objects.get(assistant_id="research")
    assert row.approval == {"shell.write_file": "deny", "shell.memory_search": "deny"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": ""}, "got nothing"),
        ({"text": "{"}, "broken JSON"),
        ({"text": "a: b: c"}, "broken YAML"),
        ({"files": [SimpleUploadedFile("a.zip", b"no zip")]}, "cannot be read as a zip"),
        ({"files": [SimpleUploadedFile("a.json", b"\xff")]}, "not UTF-8"),
        ({"files": [SimpleUploadedFile("a.json", b"{}")], "text": "{}"}, "got both"),
        ({"files": [SimpleUploadedFile("a.json", b" " * 2_000_001)]}, "at most 2,000,000 bytes"),
        ({"files": [SimpleUploadedFile(n, b"{}") for n in ("a.json", "b.json")]}, "expected one"),
    ],
)
def test_what_cannot_be_read_says_what_was_expected(
    operator: Client, given: dict[str, Any], words: str
) -> None:
    page = operator.post(PAGE, given).content.decode()
    assert "errornote" in page and words in page
    assert not Provider.objects.exists()


def test_the_export_is_a_download_without_secrets_and_says_what_is_left_out(
    operator: Client,
) -> None:
    load(full("servers/0/env/TOKEN", KEY))
    page = operator.get(PAGE).content.decode()
    assert "echo: TOKEN is left out; set ECHO_TOKEN" in page
    for name in ("json", "yaml"):
        response = operator.get(f"{PAGE}export.{name}")
        assert re.search(rf'attachment; filename="toolloop-.*\.{name}"',
                         response["Content-Disposition"])  # fmt: skip
        assert KEY not in response.content.decode() and "$ENV.ECHO_TOKEN" in (
            response.content.decode()
        )
    exported = json.loads(operator.get(f"{PAGE}export.json").content)
    assert exported["assistants"][0]["id"] == "helper"


def test_what_cannot_be_decrypted_is_said_on_the_page(operator: Client, settings: Settings) -> None:
    load(full("servers/0/env/TOKEN", KEY))
    settings.TOOLLOOP_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert "cannot be decrypted" in operator.get(PAGE).content.decode()
    for answer in (paste(operator, FULL), operator.get(f"{PAGE}export.json")):
        assert answer.url == PAGE
    assert "cannot be decrypted" in told(operator.get(PAGE))


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}export.json", f"{PAGE}export.yaml"])
def test_only_superusers_get_there(operator: Client, staff: Client, path: str) -> None:
    assert staff.get(path).status_code == 403
    assert Client().get(path).status_code == 302
    assert operator.get(path).status_code == 200
    assert staff.post(PAGE, {"text": json.dumps(FULL)}).status_code == 403
    for place in ("/admin/", "/admin/agents/assistant/"):
        assert PAGE in operator.get(place).content.decode()
        assert PAGE not in staff.get(place).content.decode()
