"""Servers of a bundle, judged.

Place in the house: ``agents.bundle``. Pure.
"""

from __future__ import annotations

import re

from agents.bundle.entries import SampleEntry, ServerEntry
from agents.bundle.provider_entries import read_http_url
from agents.bundle.reading import (
    DOTTED_PATH,
    ENV_NAME,
    ENV_REFERENCE,
    ObjectReader,
    check_env_references,
    read_objects,
)
from agents.bundle.report import child_pointer, describe
from agents.bundle.secrets import has_literal_userinfo, holds_literal_secret, secret_query_names
from agents.models import SERVER_ID_MESSAGE, SERVER_ID_PATTERN, Review, Transport

FIELDS_OF_TRANSPORT: dict[str, tuple[str, ...]] = {
    Transport.STDIO: ("command", "args", "env", "cwd"),
    Transport.HTTP: ("url", "headers"),
    Transport.SSE: ("url", "headers"),
    Transport.PYTHON: ("module",),
}
TRANSPORT_FIELDS = ("command", "args", "env", "cwd", "url", "headers", "module")

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)


def read_server(reader: ObjectReader) -> ServerEntry:
    """The entry of one item of ``servers``; what is wrong with it goes into the report."""
    server_id = _read_server_id(reader)
    transport = reader.choice("transport", Transport.values)
    fields: dict[str, object] = {
        "transport": transport,
        **_read_transport_fields(reader, transport),
        "tool_timeout_seconds": reader.optional_seconds("tool_timeout_seconds"),
        "tool_max_seconds": reader.optional_seconds("tool_max_seconds"),
        "parallel_calls": reader.optional_whole("parallel_calls"),
        "review": reader.choice("review", Review.values, default=Review.BLOCK),
    }
    if transport == Transport.SSE:
        message = "the transport sse is old: use http where the server offers it"
        reader.report.warn(reader.at("transport"), message)
    samples = _read_samples(reader)
    reader.finish()
    return ServerEntry(server_id=server_id, fields=fields, samples=samples)


def _read_server_id(reader: ObjectReader) -> str:
    text = reader.text("server_id", required=True)
    if text.strip() and not re.fullmatch(SERVER_ID_PATTERN, text):
        message = f"{SERVER_ID_MESSAGE} Got {describe(text)}."
        reader.report.fault(reader.at("server_id"), message)
    return text


def _read_transport_fields(reader: ObjectReader, transport: str) -> dict[str, object]:
    reader.ignore(*TRANSPORT_FIELDS)
    fields: dict[str, object] = {
        "command": "", "args": [], "env": {}, "cwd": "", "url": "", "headers": {}, "module": "",
    }  # fmt: skip
    wanted = FIELDS_OF_TRANSPORT.get(transport, ())
    if transport:
        for key in TRANSPORT_FIELDS:
            if key not in wanted and reader.value.get(key) not in (None, "", [], {}):
                used = ", ".join(wanted)
                message = f"does not belong to the transport {transport}, which has {used}"
                reader.report.fault(reader.at(key), message)
    if transport == Transport.STDIO:
        fields |= _read_stdio(reader)
    elif transport in (Transport.HTTP, Transport.SSE):
        fields |= {"url": _read_url(reader), "headers": _read_headers(reader)}
    elif transport == Transport.PYTHON:
        fields |= {"module": _read_module(reader)}
    return fields


def _read_stdio(reader: ObjectReader) -> dict[str, object]:
    arguments = reader.texts("args")
    for number, argument in enumerate(arguments):
        check_env_references(argument, child_pointer(reader.at("args"), number), reader.report)
    return {
        "command": reader.text("command", required=True, max_length=500),
        "args": arguments,
        "env": _read_env(reader),
        "cwd": reader.text("cwd", max_length=500),
    }


def _read_env(reader: ObjectReader) -> dict[str, str]:
    nested = reader.reader("env") if reader.has("env") else ObjectReader({}, "", reader.report)
    for name in nested.value:
        if not ENV_NAME.fullmatch(name):
            message = "expected a variable's name of letters, digits and underscores"
            nested.report.fault(nested.at(name), message)
    return _read_values(nested)


def _read_headers(reader: ObjectReader) -> dict[str, str]:
    key = "headers"
    nested = reader.reader(key) if reader.has(key) else ObjectReader({}, "", reader.report)
    seen: set[str] = set()
    for name, value in nested.value.items():
        if not _HEADER_NAME.fullmatch(name):
            nested.report.fault(nested.at(name), "expected a header's name such as X-Api-Key")
        if name.lower() in seen:
            nested.report.fault(nested.at(name), "this header stands here twice")
        seen.add(name.lower())
        if isinstance(value, str) and ("\n" in value or "\r" in value):
            nested.report.fault(nested.at(name), "expected a value on one line")
    return _read_values(nested)


def _read_values(reader: ObjectReader) -> dict[str, str]:
    """Texts by name, for variables and headers."""
    values = {}
    for name, value in reader.value.items():
        where = reader.at(name)
        if not isinstance(value, str):
            reader.report.fault(where, f"expected text, got {describe(value)}")
            continue
        values[name] = value
        check_env_references(value, where, reader.report)
        if holds_literal_secret(name, value):
            message = "looks like a secret that is written out: write $ENV.NAME instead"
            reader.report.warn(where, message)
    return values


def _read_url(reader: ObjectReader) -> str:
    text = reader.text("url", required=True, max_length=1000)
    check_env_references(text, reader.at("url"), reader.report)
    if not text.strip() or text.startswith("$ENV."):
        return text
    read_http_url(reader, "url", text=ENV_REFERENCE.sub("x", text), max_length=1000)
    try:
        if has_literal_userinfo(text) or secret_query_names(text):
            message = "holds what looks like a secret: write $ENV.NAME instead, or use headers"
            reader.report.warn(reader.at("url"), message)
    except ValueError:
        return text
    return text


def _read_module(reader: ObjectReader) -> str:
    text = reader.text("module", required=True, max_length=300)
    if text.strip() and not DOTTED_PATH.fullmatch(text):
        reader.fault("module", "the dotted path of a module such as myproject.tools")
    return text


def _read_samples(reader: ObjectReader) -> tuple[SampleEntry, ...]:
    by_tool = reader.reader("samples")
    entries: list[SampleEntry] = []
    for tool in by_tool.value:
        where = by_tool.at(tool)
        if not tool or len(tool) > 500:
            by_tool.report.fault(where, "expected a tool's name of 1 to 500 characters")
        samples = read_objects(by_tool.json_list(tool), where, reader.report)
        entries += [_read_sample(sample, tool, n) for n, sample in enumerate(samples)]
    return tuple(entries)


def _read_sample(reader: ObjectReader, tool: str, position: int) -> SampleEntry:
    reader.ignore("input", "output")
    entry = SampleEntry(
        tool=tool,
        position=position,
        name=reader.text("name", required=True, max_length=200),
        description=reader.text("description"),
        input=reader.value.get("input"),
        output=reader.value.get("output"),
    )
    reader.finish()
    return entry
