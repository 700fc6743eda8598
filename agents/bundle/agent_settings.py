"""The pair ``settings.json`` (model and key) and ``config.toml`` (tools and loop) as a bundle.

Place in the house: ``agents.bundle``. Pure. The tools themselves are not in these files: they are
looked for on one server (``tools`` unless told otherwise) that is there already.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from agents.bundle.files import SourceFiles
from agents.bundle.leftovers import Leftovers
from agents.bundle.parsing import BundleUnreadable, check_value
from agents.bundle.report import Report, describe
from agents.bundle.yao_connectors import with_version
from agents.bundle.yao_files import read_value
from agents.loop.messages import JsonObject, JsonValue

SETTINGS, CONFIG = "settings.json", "config.toml"
TOOLS_SERVER = "tools"

_AS_THE_LOOP = "is how the loop works anyway: nothing to set"
_TOOL_OWN = "is the tool's own setting: set it where its server is started"
_OF_A_TOOL = {
    "timeoutMs": "limits hold for a server or an assistant, not for one tool",
    "maxOutputChars": "limits.tool_result_max_chars holds for all tools",
    "denyPatterns": (
        "arguments are not matched against patterns: let the tool refuse them, or a hook "
        "before_tool_call"
    ),
}


def pair_paths(files: SourceFiles) -> list[str]:
    """The files of the pair that are there: at most one of each, ``settings.json`` first."""
    named = {PurePosixPath(path.replace("\\", "/")).name: path for path in files.texts}
    return [named[name] for name in (SETTINGS, CONFIG) if name in named]


def pair_bundle(
    files: SourceFiles, report: Report, *, tools_server: str = TOOLS_SERVER
) -> JsonObject:
    """The bundle that the pair means: one provider and one assistant."""
    assistant: JsonObject = {"id": "", "limits": {}, "mcp": {"options": {}}}
    bundle: JsonObject = {"version": 1, "assistants": [assistant]}
    used = pair_paths(files)
    for path in used:
        if path.endswith(CONFIG):
            value = read_toml(path, files.texts[path], report)
            _read_config(Leftovers(value, f"{CONFIG}#", report), assistant, tools_server)
        else:
            value = read_value(path, files.texts[path], report)
            value = value if isinstance(value, dict) else {}
            _read_settings(Leftovers(value, f"{SETTINGS}#", report), bundle, assistant)
    assistant["id"] = assistant["id"] or "assistant"
    for path in [*files.texts, *files.unread]:
        if path not in used:
            report.warn(path, "this file is not read")
    return bundle


def read_toml(path: str, text: str, report: Report) -> JsonObject:
    """The tables of a TOML file. Raises ``BundleUnreadable``."""
    try:
        value = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BundleUnreadable(f"{path}: broken TOML: {error}") from error
    return check_value(value, report)  # type: ignore[return-value]


def _read_settings(file: Leftovers, bundle: JsonObject, assistant: JsonObject) -> None:
    provider = file.part("provider")
    if provider.rest():
        item = _provider(provider)
        bundle["providers"] = [item]
        assistant["provider"] = item["id"]
    agent = file.part("agent")
    options: JsonObject = assistant["mcp"]["options"]  # type: ignore[index,call-overload,assignment]
    options |= agent.copy({"maxLoopTurns": "max_turn"})
    limits: JsonObject = assistant["limits"]  # type: ignore[assignment]
    limits |= agent.copy({"toolResultMaxChars": "tool_result_max_chars"})
    _tell_of_the_loop(agent, "stopOnNoToolCall", True)
    _tell_of_the_loop(agent, "appendToolResultAsRole", "tool")
    agent.finish()
    session = file.part("session")
    compaction = session.part("compaction")
    names = {
        "enabled": "enabled", "reserveTokensFloor": "reserve_tokens",
        "triggerRatio": "trigger_ratio",
    }  # fmt: skip
    assistant["compaction"] = compaction.copy(names)
    compaction.finish()
    session.finish({"transcriptDir": "conversations are kept in the database"})
    file.finish()


def _provider(file: Leftovers) -> JsonObject:
    url = file.take("baseUrl")
    provider: JsonObject = {"id": "main", "base_url": url}
    if isinstance(url, str):
        provider["base_url"] = with_version(url, file.at("baseUrl"), file)
        provider["id"] = _host(url) or "main"
    names = {
        "apiKeyEnv": "api_key_env", "defaultModel": "default_model",
        "fallbackModel": "fallback_model", "timeoutMs": "timeout_ms", "maxRetries": "max_retries",
    }  # fmt: skip
    provider |= file.copy(names)
    key = "a bundle holds no keys: name the variable that holds it in apiKeyEnv"
    file.finish({"apiKey": key})
    return provider


def _read_config(file: Leftovers, assistant: JsonObject, tools_server: str) -> None:
    agent = file.part("agent")
    name = agent.take("name")
    assistant |= {"id": name, "name": name} if name is not None else {}
    agent.finish({"workspace": "a working directory belongs to the server that runs the tools"})
    tools = file.part("tools")
    allowed, denied = _names(tools, "allow"), _names(tools, "deny")
    off = [tool for tool in tools.rest() if not _read_tool(tools, tool)]
    rules: JsonObject = {f"{tools_server}.{tool}": "deny" for tool in [*(denied or []), *off]}
    if allowed is not None or rules:
        choice: JsonObject = {
            "server_id": tools_server,
            "tools": list(allowed) if allowed else None,
        }
        if allowed == []:
            choice["tools"] = []
        assistant["mcp"]["servers"] = [choice]  # type: ignore[index,call-overload]
        tools.report.warn(
            tools.pointer,
            f"the tools are looked for on the server {tools_server}, which has to be there and "
            f"offer {', '.join(allowed or ['them'])}",
        )
    if rules:
        assistant["approval"] = rules
    loop = file.part("loop")
    assistant |= loop.copy({"onToolError": "on_tool_error"})
    limits: JsonObject = assistant["limits"]  # type: ignore[assignment]
    limits |= loop.copy({"maxConsecutiveErrors": "max_consecutive_errors"})
    loop.finish()
    tools.finish()
    file.finish()


def _names(tools: Leftovers, key: str) -> list[str] | None:
    """The names of ``[tools.allow]`` or ``[tools.deny]``, also as a plain list; ``None`` if
    absent.
    """
    if key not in tools.rest():
        return None
    value = tools.take(key)
    where = tools.at(key)
    if isinstance(value, dict):
        table = Leftovers(value, where, tools.report)
        value = table.take("names", [])
        table.finish()
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        tools.report.fault(where, f"expected a list of tool names, got {describe(value)}")
        return []
    return list(dict.fromkeys(str(name) for name in value))


def _read_tool(tools: Leftovers, tool: str) -> bool:
    """Whether a tool's table leaves it on; the rest of the table is told of."""
    value = tools.take(tool)
    if not isinstance(value, dict):
        tools.warn(tool, f"expected a table of one tool, got {describe(value)}: left out")
        return True
    table = Leftovers(value, tools.at(tool), tools.report)
    is_on = table.take("enabled", True)
    if not isinstance(is_on, bool):
        table.report.fault(table.at("enabled"), f"expected true or false, got {describe(is_on)}")
    known = _OF_A_TOOL | dict.fromkeys(_without(table.rest(), _OF_A_TOOL), _TOOL_OWN)
    table.finish(known)
    return is_on is not False


def _without(keys: Iterable[str], others: Iterable[str]) -> list[str]:
    taken = set(others)
    return [key for key in keys if key not in taken]


def _tell_of_the_loop(agent: Leftovers, key: str, usual: JsonValue) -> None:
    if key not in agent.rest():
        return
    value = agent.take(key)
    if value == usual:
        agent.warn(key, f"{describe(value)} {_AS_THE_LOOP}")
    else:
        message = f"{describe(value)} has no counterpart here: the loop works as with"
        agent.warn(key, f"{message} {describe(usual)}")


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "")[:100]
    except ValueError:
        return ""
