"""The workspace server in whole runs, and its files on the pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django.fixtures import Settings

from agents.models import Conversation
from tests.fake_provider import FakeProvider, call, calls, text
from tests.running import Json, Ran, Runner

WORKSPACE = {
    "server_id": "workspace", "transport": "python", "module": "agents.builtin_servers.workspace",
}  # fmt: skip
ALLOWED = {"approval": {"workspace.*": "allow"}}


@pytest.fixture(autouse=True)
def place(settings: Settings, tmp_path: Path) -> Path:
    settings.TOOLLOOP_WORKSPACES = str(tmp_path / "spaces")
    return tmp_path / "spaces"


def run(runner: Runner, *wanted: Json, assistant: Json | None = None, **options: Any) -> Ran:
    """One run in which the model makes these calls, one answer each."""
    script = [*(calls(one) for one in wanted), text("done")]
    with FakeProvider(script) as provider:
        given = ALLOWED if assistant is None else assistant
        runner.configure(
            provider, servers=[WORKSPACE],
            assistant={"mcp": {"options": {"max_turn": 9}}, **given},
        )  # fmt: skip
        return runner.run("go", **options)


def told(ran: Ran) -> list[Any]:
    rows = [str(row.content) for row in ran.stored() if row.role == "tool"]
    return [json.loads(row) if row.startswith(("{", "[")) else row for row in rows]


def shell(command: str, number: int = 1, **more: Any) -> Json:
    return call(f"b{number}", "workspace__bash", {"command": command, **more})


def test_what_is_written_is_read_listed_searched_and_worked_on(runner: Runner) -> None:
    ran = run(
        runner,
        call("w", "workspace__write_file", {"path": "src/a.py", "text": "x = 1\nprint(x)\n"}),
        shell("python3 src/a.py > out.txt; cat out.txt"),
        call("l", "workspace__list_files", {}),
        call("s", "workspace__search_files", {"pattern": "PRINT", "files": "*.py"}),
        call("r", "workspace__read_file", {"path": "src/a.py", "from_line": 2, "lines": 1}),
    )
    written, done, listed, found, read = told(ran)
    assert ran.outcomes == ["ok"] * 5
    assert written == {"path": "src/a.py", "bytes": 15}
    assert done == {"exit_code": 0, "output": "1\n", "changed_files": ["out.txt"]}
    assert {"path": "src/a.py", "kind": "file", "bytes": 15} in listed
    assert found == [{"path": "src/a.py", "line": 2, "text": "print(x)"}]
    assert read["text"] == "print(x)" and read["lines_in_all"] == 3


def test_all_of_it_needs_a_person_unless_the_operator_says_otherwise(runner: Runner) -> None:
    wanted = call("r", "workspace__read_file", {"path": "a"})
    ran = run(runner, shell("echo hi"), wanted, assistant={})
    assert ran.outcomes == ["denied", "denied"]


def test_each_conversation_has_its_own_directory(runner: Runner) -> None:
    first = run(runner, shell("echo secret > mine.txt"))
    second = run(runner, shell("cat mine.txt; ls -A"))
    again = run(runner, shell("cat mine.txt"), conversation=first.conversation)
    assert "secret" not in told(second)[0]["output"]
    assert told(again)[-1]["output"] == "secret\n"


def test_one_directory_for_an_assistant_where_the_operator_wants_it(
    runner: Runner, settings: Settings
) -> None:
    settings.TOOLLOOP_WORKSPACE_SCOPE = "assistant"
    run(runner, shell("echo shared > ours.txt"))
    assert told(run(runner, shell("cat ours.txt")))[0]["output"] == "shared\n"


def test_what_the_operator_denies_is_not_run(runner: Runner, settings: Settings) -> None:
    settings.TOOLLOOP_WORKSPACE_DENY = (r"rm\s+-rf",)
    ran = run(runner, shell("touch kept; rm -rf kept"), shell("ls", 2))
    assert ran.outcomes == ["tool_error", "ok"]
    assert "does not want commands like this" in told(ran)[0]


def test_without_a_wall_commands_are_switched_off(
    runner: Runner, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.builtin_servers.workspace.wall", lambda: "none")
    ran = run(runner, shell("echo hi"), call("l", "workspace__list_files", {}))
    assert ran.outcomes == ["tool_error", "ok"]
    assert "switched off: neither bubblewrap nor Landlock" in told(ran)[0]


def test_long_output_and_a_timeout_are_told(runner: Runner) -> None:
    ran = run(
        runner,
        shell("seq 1 100000"),
        shell("sleep 60", 2, timeout_seconds=1),
        shell("exit 3", 3),
    )
    long, late, failed = told(ran)
    assert "characters left out" in long["output"] and len(long["output"]) <= 6000
    assert late["exit_code"] == 124 and "longer than 1" in late["output"]
    assert failed["exit_code"] == 3


def test_files_are_listed_and_taken_away_by_their_owner_alone(runner: Runner) -> None:
    ran = run(runner, shell("printf '<script>x</script>' > page.html; mkdir d; echo 2 > d/b.txt"))
    talk = Conversation.objects.get(pk=ran.conversation)
    owner, other = Client(), Client()
    owner.force_login(talk.user)
    other.force_login(get_user_model().objects.create_user("eve"))
    listed = owner.get(f"/c/{talk.pk}/files/").content.decode()
    assert "page.html" in listed and "d/b.txt" in listed and ".tmp" not in listed
    page = owner.get(f"/c/{talk.pk}/").content.decode()
    assert f'href="/c/{talk.pk}/files/page.html" download' in page
    file = owner.get(f"/c/{talk.pk}/files/page.html")
    assert file.content == b"<script>x</script>"
    assert file["Content-Type"] == "application/octet-stream"
    assert file["Content-Disposition"].startswith("attachment")
    for path in ("page.html", "..%2F..%2Fx", "none"):
        assert other.get(f"/c/{talk.pk}/files/{path}").status_code == 404
    for path in ("../../toolloop.sqlite3", "%2e%2e/x", "none", "d"):
        assert owner.get(f"/c/{talk.pk}/files/{path}").status_code == 404


def test_a_deleted_conversation_takes_its_files_with_it(runner: Runner, place: Path) -> None:
    ran = run(runner, shell("echo 1 > a; ln -s /etc/hostname b"))
    talk = Conversation.objects.get(pk=ran.conversation)
    client = Client()
    client.force_login(talk.user)
    assert list(place.iterdir())
    client.post(f"/c/{talk.pk}/delete/")
    assert not list(place.iterdir()) and Path("/etc/hostname").exists()
