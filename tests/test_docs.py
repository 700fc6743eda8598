"""What can be set, run and read stands in the documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolloop_site.env import read_environment
from traces.attributes import ATTRIBUTES

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*.md")}
SETTINGS = DOCUMENTS["settings.md"]


class Recording(dict[str, str]):
    """An environment that remembers which variables were asked for."""

    def __init__(self) -> None:
        super().__init__(SECRET_KEY="k" * 32)
        self.asked: set[str] = set()

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]
        self.asked.add(key)
        return super().get(key, default)


def asked_variables() -> list[str]:
    recording = Recording()
    read_environment(recording, ROOT)
    return sorted(recording.asked)


VARIABLES = asked_variables()
COMMANDS = sorted(
    path.stem
    for app in ("agents", "traces")
    for path in (ROOT / app / "management" / "commands").glob("*.py")
    if not path.stem.startswith("_")
)


def test_there_is_something_to_document() -> None:
    assert len(VARIABLES) >= 19
    assert "import_config" in COMMANDS


@pytest.mark.parametrize("name", VARIABLES)
def test_every_setting_has_a_section_with_an_example_and_what_is_refused(name: str) -> None:
    section = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", SETTINGS, re.MULTILINE | re.DOTALL)
    assert section, f"docs/settings.md has no section on {name}"
    assert f"Example: `{name}=" in section[1]
    assert "\nRefused: " in section[1]
    assert f"| [`{name}`](#{name.lower()}) |" in SETTINGS


def test_no_section_is_about_a_setting_that_is_gone() -> None:
    assert sorted(re.findall(r"^### ([A-Z_]+)$", SETTINGS, re.MULTILINE)) == VARIABLES


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"`{name}" in DOCUMENTS["commands.md"]


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_every_span_attribute_is_documented(name: str) -> None:
    assert f"| `{name}` | {ATTRIBUTES[name]} |" in DOCUMENTS["traces.md"]
