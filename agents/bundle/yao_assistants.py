"""An assistant of Yao (``package.yao``) as an assistant of a bundle, and its prompts.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

import re

from agents.bundle.leftovers import NO_COUNTERPART, Leftovers
from agents.bundle.report import Report, child_pointer, describe
from agents.bundle.yao_servers import server_name
from agents.loop.messages import JsonObject, JsonValue

_SAME = ("name", "description", "options", "disable_global_prompts", "prompt_presets")
_PLACES = ("$CTX.", "$SYS.", "$ENV.", "$MSG.")
_KNOWN = {
    "CTX.date": "{{ date }}", "CTX.time": "{{ time }}", "SYS.DATE": "{{ date }}",
    "SYS.TIME": "{{ time }}", "SYS.DATETIME": "{{ date }} {{ time }}",
}  # fmt: skip
_KNOWN_PLACE = re.compile(r"\{\{\s*\$([A-Za-z_.]+)\s*\}\}|\$([A-Za-z_.]*[A-Za-z_])")


def make_assistant(assistant_id: str, file: Leftovers, own: dict[str, str]) -> JsonObject:
    """The assistant of one ``package.yao``. ``own`` are its servers' short names, to their ids."""
    assistant: JsonObject = {"id": assistant_id}
    connector = file.take("connector")
    if connector is None:
        file.warn("connector", "is missing: the assistant needs a provider")
    else:
        assistant["provider"] = connector
    assistant |= file.copy(dict(zip(_SAME, _SAME, strict=True)))
    for name in ("name", "description"):
        if isinstance(assistant.get(name), str) and "{{" in str(assistant[name]):
            file.warn(name, "is taken as it stands: texts of locales are not filled in")
    if "prompts" in file.rest():
        assistant["prompts"] = make_prompts(file.take("prompts"), file.at("prompts"), file.report)
    mcp = file.part("mcp")
    servers = mcp.take("servers", [])
    if isinstance(servers, list):
        servers = [_choice(item, mcp.at("servers"), number, own, file.report)
                   for number, item in enumerate(servers)]  # fmt: skip
    options = mcp.part("options")
    assistant["mcp"] = {
        "servers": servers,
        "options": options.copy({"tool_loop": "tool_loop", "max_turn": "max_turn"}),
    }
    options.finish()
    mcp.finish()
    _set_starters(assistant, file)
    _set_sandbox(assistant, file)
    file.finish()
    return assistant


def make_prompts(value: JsonValue, pointer: str, report: Report) -> JsonValue:
    """Prompts with role and content; names, and variables that are not filled in, are told of."""
    if not isinstance(value, list):
        report.fault(pointer, f"expected a list of prompts, got {describe(value)}")
        return []
    prompts: list[JsonValue] = []
    for number, item in enumerate(value):
        where = child_pointer(pointer, number)
        if not isinstance(item, dict):
            report.fault(where, f"expected a prompt with role and content, got {describe(item)}")
            continue
        prompt = Leftovers(item, where, report)
        ours = prompt.copy({"role": "role", "content": "content"})
        if isinstance(ours.get("content"), str):
            ours["content"] = _with_our_variables(str(ours["content"]))
        prompts.append(ours)
        prompt.finish({"name": "a prompt has no name here"})
        found = [place for place in _PLACES if place in str(ours.get("content", ""))]
        if found:
            message = f"holds variables of Yao that are not filled in here ({', '.join(found)})"
            report.warn(prompt.at("content"), message)
    return prompts


def _with_our_variables(text: str) -> str:
    """A prompt with date and time as they are named here; other variables stay."""
    return _KNOWN_PLACE.sub(lambda found: _KNOWN.get(found[1] or found[2], found[0]), text)


def _choice(
    item: JsonValue, pointer: str, number: int, own: dict[str, str], report: Report
) -> JsonValue:
    """One server of the assistant with its whitelist; resources and prompts are told of."""
    where = child_pointer(pointer, number)
    if isinstance(item, str):
        return _server_id(item, own)
    if not isinstance(item, dict):
        return item
    choice = Leftovers(item, where, report)
    if "server_id" not in item and len(item) == 1:
        name, value = next(iter(item.items()))
        if isinstance(value, list):
            value = {"tools": value}
        if not isinstance(value, dict):
            return item
        choice = Leftovers({"server_id": name, **value}, child_pointer(where, name), report)
    server_id = choice.take("server_id")
    tools = choice.take("tools")
    if tools == []:
        choice.warn("tools", "an empty list means all tools in Yao and none here: none was taken")
    choice.finish(dict.fromkeys(("resources", "prompts"), f"of a server {NO_COUNTERPART}"))
    return {"server_id": _server_id(server_id, own), "tools": tools}


def _server_id(name: JsonValue, own: dict[str, str]) -> JsonValue:
    if not isinstance(name, str):
        return name
    return own.get(name, server_name(name))


def _set_starters(assistant: JsonObject, file: Leftovers) -> None:
    placeholder = file.part("placeholder")
    starters = placeholder.take("prompts")
    if isinstance(starters, list):
        assistant["starters"] = starters
        if any("{{" in str(starter) for starter in starters):
            message = "are taken as they stand: texts of locales are not filled in"
            placeholder.warn("prompts", message)
    placeholder.finish()


def _set_sandbox(assistant: JsonObject, file: Leftovers) -> None:
    sandbox = file.take("sandbox")
    if sandbox is None or isinstance(sandbox, bool):
        assistant |= {} if sandbox is None else {"sandbox": sandbox}
        return
    assistant["sandbox"] = True
    message = "is on, but where the provider runs its tools is the provider's own business here"
    file.warn("sandbox", message)
