"""Judges a whole bundle: every fault at once, or the entries to import.

Place in the house: ``agents.bundle``. Pure: what the database has comes in as ``KnownNames``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from agents.bundle.approval_rules import check_approval_servers
from agents.bundle.assistant_entries import read_assistant, read_prompts
from agents.bundle.entries import AssistantEntry, Bundle, KnownNames, ServerChoice
from agents.bundle.provider_entries import read_provider
from agents.bundle.reading import ENV_REFERENCE, ObjectReader
from agents.bundle.report import Report, child_pointer, describe, is_whole_number
from agents.bundle.server_entries import read_server
from agents.loop.messages import JsonValue

VERSION = 1


def validate_bundle(value: JsonValue, known: KnownNames, report: Report) -> Bundle:
    """The entries of a bundle. They may be imported only if ``report.faults`` is empty."""
    if not isinstance(value, dict):
        report.fault("", f'expected an object with "version": {VERSION}, got {describe(value)}')
        return Bundle()
    reader = ObjectReader(value, "", report)
    _check_version(reader)
    provider_readers = reader.readers("providers")
    server_readers = reader.readers("servers")
    assistant_readers = reader.readers("assistants")
    has_prompts = "global_prompts" in value
    prompts = tuple(read_prompts(reader, "global_prompts")) if has_prompts else None
    reader.finish()
    bundle = Bundle(
        providers=tuple(read_provider(item) for item in provider_readers),
        servers=tuple(read_server(item) for item in server_readers),
        assistants=tuple(read_assistant(item) for item in assistant_readers),
        global_prompts=prompts,
    )
    _check_repeats(provider_readers, "id")
    _check_repeats(server_readers, "server_id")
    _check_repeats(assistant_readers, "id")
    _check_server_case(server_readers, known, report)
    references = _References(value, known, report)
    for item, entry in zip(assistant_readers, bundle.assistants, strict=True):
        references.check(item, entry)
    return Bundle(
        providers=bundle.providers,
        servers=bundle.servers,
        assistants=bundle.assistants,
        global_prompts=bundle.global_prompts,
        trusted=tuple(dict.fromkeys(trusted_names(bundle))) if not report.faults else (),
    )


def _check_version(reader: ObjectReader) -> None:
    reader.ignore("version")
    version = reader.value.get("version")
    if "version" not in reader.value:
        reader.report.fault("/version", f"is required: expected {VERSION}")
    elif not is_whole_number(version) or version != VERSION:
        reader.fault("version", f"{VERSION}")


def _check_repeats(readers: Iterable[ObjectReader], key: str) -> None:
    """Report ids that come again; without regard to case for servers."""
    first: dict[str, str] = {}
    for reader in readers:
        value = reader.value.get(key)
        if not isinstance(value, str) or not value:
            continue
        folded = value.lower() if key == "server_id" else value
        if folded in first:
            message = f"the id {value!r} stands at {first[folded]} already"
            if key == "server_id":
                message += " (server ids are unique without regard to case)"
            reader.report.fault(reader.at(key), message)
        first.setdefault(folded, reader.at(key))


def _check_server_case(readers: Iterable[ObjectReader], known: KnownNames, report: Report) -> None:
    """Report a server that differs from one in the database by case alone."""
    stored = {server_id.lower(): server_id for server_id in known.tools}
    for reader in readers:
        value = reader.value.get("server_id")
        twin = stored.get(value.lower(), value) if isinstance(value, str) else value
        if twin != value:
            message = f"there is a server {twin} already: ids are unique without regard to case"
            report.fault(reader.at("server_id"), message)


class _References:
    """Judges what assistants point to: the bundle's items, whole or faulty, and the database's."""

    def __init__(self, value: dict[str, JsonValue], known: KnownNames, report: Report) -> None:
        self.report = report
        self.tools = known.tools
        self.groups = known.groups
        self.providers = known.providers | _ids(value.get("providers"), "id")
        self.servers = frozenset(known.tools) | _ids(value.get("servers"), "server_id")
        self.assistants = known.assistants | _ids(value.get("assistants"), "id")

    def check(self, reader: ObjectReader, entry: AssistantEntry) -> None:
        """Report every reference of an assistant that leads nowhere."""
        self._check_name(entry.provider, self.providers, "provider", reader.at("provider"))
        where = reader.at("fallback_provider")
        self._check_name(entry.fallback_provider, self.providers, "provider", where)
        further = entry.fields.get("further_models")
        for number, item in enumerate(further if isinstance(further, list) else ()):
            where = f"{child_pointer(reader.at('further_models'), number)}/provider"
            self._check_name(item["provider"], self.providers, "provider", where)
        where = reader.at("fallback_assistant")
        self._check_name(entry.fallback_assistant, self.assistants, "assistant", where)
        if entry.fallback_assistant and entry.fallback_assistant == entry.assistant_id:
            self.report.fault(where, "expected another assistant, got the assistant itself")
        for choice in entry.servers:
            self._check_name(choice.server_id, self.servers, "server", choice.pointer)
            self._check_tools(choice)
        for name, groups in entry.groups.items():
            for number, group in enumerate(groups):
                pointer = child_pointer(reader.at(name), number)
                self._check_name(group, self.groups, "group", pointer)
        policy = entry.fields.get("approval")
        if isinstance(policy, dict):
            server_ids = [choice.server_id for choice in entry.servers]
            check_approval_servers(policy, server_ids, reader.at("approval"), self.report)

    def _check_name(self, name: str, names: frozenset[str], what: str, pointer: str) -> None:
        if not name or name in names:
            return
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        where = "in the database" if what == "group" else "in the bundle or in the database"
        message = f"there is no {what} {name!r} {where}{hint}"
        self.report.fault(pointer, message)

    def _check_tools(self, choice: ServerChoice) -> None:
        tools = self.tools.get(choice.server_id)
        if not choice.tools:
            return
        if tools is None:
            message = f"the server {choice.server_id} was not asked for its tools so far"
            self.report.warn(choice.pointer, f"{message}: the whitelist is not checked")
            return
        for name in choice.tools:
            if name not in tools:
                message = f"the server {choice.server_id} has listed no tool {name!r} so far"
                self.report.warn(choice.pointer, message)


def _ids(items: JsonValue, key: str) -> frozenset[str]:
    if not isinstance(items, list):
        return frozenset()
    ids = (item.get(key) for item in items if isinstance(item, dict))
    return frozenset(value for value in ids if isinstance(value, str))


def trusted_names(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """``(kind, value)`` of every host, environment name and module that a valid bundle names."""
    for provider in bundle.providers:
        yield "host", host_of(str(provider.fields["base_url"]))
        if provider.fields["api_key_env"]:
            yield "env", str(provider.fields["api_key_env"])
    for server in bundle.servers:
        fields = server.fields
        url = str(fields["url"])
        if url and not url.startswith("$ENV.") and "$env." not in host_of(url):
            yield "host", host_of(url)
        values = [url, *_texts(fields["args"]), *_texts(fields["env"]), *_texts(fields["headers"])]
        for text in values:
            for name in ENV_REFERENCE.findall(text):
                yield "env", name
        if fields["module"]:
            yield "module", str(fields["module"])
    for assistant in bundle.assistants:
        for field_name, value in assistant.fields.items():
            if field_name.endswith("_hook") and value:
                yield "module", str(value).rpartition(".")[0]


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [str(item) for item in value.values()]
    return [str(item) for item in value] if isinstance(value, list) else []


def host_of(url: str) -> str:
    """``host`` or ``host:port`` of a URL, in lower case, without user and password."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()
