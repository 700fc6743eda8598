"""From files to a bundle's value, whichever system they come from.

Place in the house: ``agents.bundle``. Pure but for the files, which ``files`` collects.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace

from agents.bundle.agent_settings import CONFIG, SETTINGS, TOOLS_SERVER, pair_bundle, pair_paths
from agents.bundle.files import SourceFiles
from agents.bundle.parsing import BundleUnreadable, parse_bundle
from agents.bundle.report import Report
from agents.bundle.yao_files import is_yao, yao_bundle
from agents.loop.messages import JsonValue

BUNDLE, YAO, PAIR = "bundle", "yao", "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A bundle's value, not judged yet. ``kind`` tells what it was made of."""

    value: JsonValue
    kind: str


def read_source(files: SourceFiles, report: Report, *, tools_server: str = TOOLS_SERVER) -> Source:
    """The bundle that these files are or mean. Raises ``BundleUnreadable``."""
    if is_yao(files):
        return Source(value=yao_bundle(files, report), kind=YAO)
    if len(files.texts) == 1:
        files = _named_by_content(files)
    if pair_paths(files):
        return Source(value=pair_bundle(files, report, tools_server=tools_server), kind=PAIR)
    if len(files.texts) != 1:
        names = ", ".join(sorted(files.texts)[:5]) or "no file of a kind that is read"
        raise BundleUnreadable(
            f"expected one bundle, the files of Yao (package.yao), or {SETTINGS} and {CONFIG}; got "
            f"{names}"
        )
    [(path, text)] = files.texts.items()
    value = parse_bundle(text, report, name=path)
    if _is_settings(value):
        own = SourceFiles(name=files.name, texts={SETTINGS: text})
        return Source(value=pair_bundle(own, report, tools_server=tools_server), kind=PAIR)
    return Source(value=value, kind=BUNDLE)


def _named_by_content(files: SourceFiles) -> SourceFiles:
    """A single text that is TOML gets the name of the pair's half, however it was called."""
    [(path, text)] = files.texts.items()
    if path.lower().endswith((".json", ".yaml", ".yml", ".yao")) or text.lstrip()[:1] in ("{", ""):
        return files
    try:
        value = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return files
    is_config = bool(value) and value.keys() <= {"agent", "tools", "loop"}
    return replace(files, texts={CONFIG: text}) if is_config else files


def _is_settings(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and "version" not in value
        and bool(value)
        and value.keys() <= {"provider", "agent", "session"}
    )
