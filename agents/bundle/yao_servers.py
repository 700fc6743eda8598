"""An MCP client of Yao (``*.mcp.yao``) as a server, and its samples.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

import re

from agents.bundle.leftovers import Leftovers
from agents.bundle.parsing import BundleUnreadable, parse_relaxed
from agents.bundle.report import Report, describe
from agents.loop.messages import JsonObject, JsonValue

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)(h|ms|m|s))", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_ABOUT = ("label", "description", "name", "version")


def server_name(name: str) -> str:
    """A server's id here, where no underscore may be in it."""
    return name.replace("_", "-")


def make_server(server_id: str, file: Leftovers) -> JsonObject:
    """The server of one file."""
    transport = file.take("transport")
    server: JsonObject = {"server_id": server_id, "transport": transport}
    if transport == "process":
        server |= _python(server_id, file)
    else:
        names = {"command": "command", "arguments": "args", "args": "args", "env": "env"}
        server |= file.copy(names | {"url": "url"})
        token = file.take("authorization_token")
        headers = file.take("headers", {})
        if token is not None:
            headers = {**(headers if isinstance(headers, dict) else {}), "Authorization": token}
        if headers:
            server["headers"] = headers
    timeout = file.take("timeout")
    if timeout:
        server |= _timeout(timeout, file)
    file.finish(dict.fromkeys(_ABOUT, "a server has nothing but its id to be called by"))
    return server


def make_samples(text: str, path: str, report: Report) -> JsonValue:
    """The samples of a tool, one JSON object a line."""
    samples: list[JsonValue] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        own = Report()
        try:
            value = parse_relaxed(line, own)
        except BundleUnreadable as error:
            report.fault(f"{path}#", f"line {number}: {error}")
            continue
        if not isinstance(value, dict):
            report.fault(f"{path}#", f"line {number}: expected an object, got {describe(value)}")
            continue
        item = Leftovers(value, f"{path}#/{number}", report)
        names = ("name", "description", "input", "output")
        samples.append(
            {"name": f"sample {number}", **item.copy(dict(zip(names, names, strict=True)))}
        )
        item.finish()
    return samples


def _python(server_id: str, file: Leftovers) -> JsonObject:
    """A Python module in the place of Yao's processes, to be written."""
    module = f"mcps.{server_id.replace('-', '_')}"
    tools = file.take("tools", {})
    names = ", ".join(tools) if isinstance(tools, dict) and tools else "the tools"
    file.warn(
        "tools",
        f"Yao's processes do not run here: write a Python module {module} with the functions "
        f"{names} (they were {_processes(tools)})",
    )
    return {"transport": "python", "module": module}


def _processes(tools: JsonValue) -> str:
    if not isinstance(tools, dict) or not tools:
        return "not named"
    return ", ".join(str(process)[:80] for process in tools.values())


def _timeout(timeout: JsonValue, file: Leftovers) -> JsonObject:
    parts = _DURATION.findall(timeout) if isinstance(timeout, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != timeout:
        file.warn("timeout", f"expected a time such as 30s, got {describe(timeout)}: left out")
        return {}
    return {"tool_max_seconds": sum(float(number) * _SECONDS[unit] for number, unit in parts)}
