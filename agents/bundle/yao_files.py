"""Yao's own files as a bundle: ``package.yao``, ``prompts.yml``, ``mcps/*.mcp.yao``, connectors.

Place in the house: ``agents.bundle``. Pure. The result is judged like any other bundle; what has no
counterpart is listed as a warning, with the file and the pointer in it.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from agents.bundle.files import SourceFiles
from agents.bundle.leftovers import Leftovers
from agents.bundle.parsing import BundleUnreadable, parse_bundle, parse_relaxed
from agents.bundle.report import Finding, Report
from agents.bundle.yao_assistants import make_assistant, make_prompts
from agents.bundle.yao_connectors import make_provider
from agents.bundle.yao_servers import make_samples, make_server, server_name
from agents.loop.messages import JsonObject, JsonValue

PACKAGE = "package.yao"
MCP_ENDING = ".mcp.yao"
CONNECTOR_ENDING = ".conn.yao"
MAX_UNREAD_TOLD = 50


def is_yao(files: SourceFiles) -> bool:
    """Whether these are files of a Yao application or assistant."""
    return any(
        PurePosixPath(path).name == PACKAGE or path.endswith((MCP_ENDING, CONNECTOR_ENDING))
        for path in files.texts
    )


def yao_bundle(files: SourceFiles, report: Report) -> JsonObject:
    """The bundle that these files mean."""
    return _Application(files, report).bundle()


class _Application:
    """The files of one application, each read once."""

    def __init__(self, files: SourceFiles, report: Report) -> None:
        self.files = files
        self.report = report
        self._waiting = dict(files.texts)
        packages = [path for path in files.texts if PurePosixPath(path).name == PACKAGE]
        self.folders = {str(PurePosixPath(path).parent): path for path in sorted(packages)}

    def bundle(self) -> JsonObject:
        """All items; what no item needed is listed."""
        servers = [self._server(path) for path in self._paths(MCP_ENDING)]
        bundle: JsonObject = {
            "version": 1,
            "providers": [self._provider(path) for path in self._paths(CONNECTOR_ENDING)],
            "servers": [server for server in servers if server is not None],
            "assistants": [self._assistant(folder) for folder in self.folders],
        }
        for path in [p for p in self._waiting if p.endswith("agent/prompts.yml")]:
            bundle["global_prompts"] = self._prompts(path)
        self._tell_unread()
        return bundle

    def _paths(self, ending: str) -> list[str]:
        return sorted(path for path in self.files.texts if path.endswith(ending))

    def _provider(self, path: str) -> JsonObject:
        provider_id = dotted(below(path, "connectors").removesuffix(CONNECTOR_ENDING))
        return make_provider(provider_id, self._object(path))

    def _server(self, path: str) -> JsonObject | None:
        name = self._server_id(path)
        server_id = server_name(name)
        if server_id != name:
            message = f"server ids hold no underscores: {name} is called {server_id} here"
            self.report.warn(f"{path}#", message)
        server = make_server(server_id, self._object(path))
        short = below(path, "mcps").removesuffix(MCP_ENDING)
        samples = self._samples(path, short)
        return server | ({"samples": samples} if samples else {})

    def _samples(self, path: str, short: str) -> JsonObject:
        folder = PurePosixPath(path.removesuffix(below(path, "mcps")), "mapping", short, "schemes")
        found: JsonObject = {}
        for other in [p for p in self._waiting if p.endswith(".jsonl")]:
            if PurePosixPath(other).parent == folder:
                tool = PurePosixPath(other).name.removesuffix(".jsonl")
                found[tool] = make_samples(self._waiting.pop(other), other, self.report)
        return found

    def _assistant(self, folder: str) -> JsonObject:
        prefix = "" if folder == "." else f"{folder}/"
        own = self._own_servers(prefix)
        assistant = make_assistant(
            self.assistant_id(folder), self._object(self.folders[folder]), own
        )
        if f"{prefix}prompts.yml" in self._waiting:
            assistant["prompts"] = self._prompts(f"{prefix}prompts.yml")
        start = f"{prefix}prompts/"
        presets: JsonObject = {}
        for path in sorted(self._waiting):
            if path.startswith(start) and path.endswith((".yml", ".yaml")):
                name = dotted(str(PurePosixPath(path.removeprefix(start)).with_suffix("")))
                presets[name] = self._prompts(path)
        if presets:
            assistant["prompt_presets"] = presets
        return assistant

    def assistant_id(self, folder: str) -> str:
        """What Yao calls it: the path below ``assistants`` with dots."""
        if folder == ".":
            return self.files.stem or "assistant"
        return dotted(below(f"{folder}/", "assistants").rstrip("/"))

    def _own_servers(self, prefix: str) -> dict[str, str]:
        """Short names of the servers that belong to an assistant, to their ids."""
        start = f"{prefix}mcps/"
        return {
            dotted(path.removeprefix(start).removesuffix(MCP_ENDING)):
            server_name(self._server_id(path))
            for path in self._paths(MCP_ENDING) if path.startswith(start)
        }  # fmt: skip

    def _server_id(self, path: str) -> str:
        name = dotted(below(path, "mcps").removesuffix(MCP_ENDING))
        owner = path.removesuffix(below(path, "mcps")).removesuffix("mcps/").rstrip("/") or "."
        if owner not in self.folders:
            return name
        return f"agents.{self.assistant_id(owner)}.{name}"

    def _prompts(self, path: str) -> JsonValue:
        value = self._value(path)
        return make_prompts(value, f"{path}#", self.report)

    def _object(self, path: str) -> Leftovers:
        value = self._value(path)
        if not isinstance(value, dict):
            self.report.fault(f"{path}#", "expected an object")
            value = {}
        return Leftovers(value, f"{path}#", self.report)

    def _value(self, path: str) -> JsonValue:
        return read_value(path, self._waiting.pop(path), self.report)

    def _tell_unread(self) -> None:
        unread = sorted([*self._waiting, *self.files.unread])
        for path in unread[:MAX_UNREAD_TOLD]:
            message = "this file is not read"
            if path.endswith((".ts", ".js")):
                message += ": write hooks in Python and name them under hooks"
            self.report.warn(path, message)
        if len(unread) > MAX_UNREAD_TOLD:
            self.report.warn("", f"{len(unread) - MAX_UNREAD_TOLD} more files are not read")


def read_value(path: str, text: str, report: Report) -> JsonValue:
    """A file's value; findings get the file in front. Raises ``BundleUnreadable`` naming it."""
    own = Report()
    try:
        if path.endswith((".yml", ".yaml")):
            value = parse_bundle(text, own, name=path)
        else:
            value = parse_relaxed(text, own)
    except BundleUnreadable as error:
        raise BundleUnreadable(f"{path}: {error}") from error
    report.faults += [
        Finding(pointer=f"{path}#{fault.pointer}", message=fault.message) for fault in own.faults
    ]
    return value


def below(path: str, folder: str) -> str:
    """The part of a path behind its last folder of this name; all of it where there is none."""
    parts = path.split("/")
    if folder not in parts[:-1]:
        return path
    place = len(parts) - 1 - parts[::-1].index(folder)
    return "/".join(parts[place + 1 :])


def dotted(path: str) -> str:
    """A path as Yao makes an id of it."""
    return path.replace("/", ".")
