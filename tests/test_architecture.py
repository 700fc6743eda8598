"""Who knows whom, and how large things may grow, as ``docs/architecture.md`` and the style say."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("agents", "traces", "toolloop_site")

LINES_OF_FILE = 400
LINES_OF_FUNCTION = 50
LINES_OF_THE_LOOP = 60

LOOP_LIBRARIES = {"jsonschema", "json_repair", "referencing"}

ALLOWED: dict[str, tuple[str, ...]] = {
    "agents.loop": ("agents.loop",),
    "agents.python_tools": (),
    "agents.providers": ("agents.providers", "agents.loop"),
    "agents.mcp_client": ("agents.mcp_client", "agents.loop", "agents.python_tools"),
    "agents.bundle": (
        "agents.bundle", "agents.encryption", "agents.loop", "agents.models",
        "agents.system_assistants",
    ),
    "traces": ("traces", "agents.loop.events", "agents.loop.own_words"),
}  # fmt: skip
"""The modules of the project that a room may import; a room that is not named is free but for
``FORBIDDEN``."""

FORBIDDEN: dict[str, tuple[str, ...]] = {
    "agents": ("traces", "toolloop_site"),
    "agents.runs": (
        "agents.admin", "agents.consumers", "agents.forms", "agents.management", "agents.views",
        "agents.urls", "agents.routing",
    ),
    "agents.models": ("agents.runs", "agents.providers", "agents.mcp_client", "agents.bundle"),
    "traces": ("toolloop_site",),
}  # fmt: skip


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {
    module_name(path): path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if "migrations" not in path.parts
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}


def is_below(name: str, room: str) -> bool:
    return name == room or name.startswith(f"{room}.")


def imported_by(node: ast.AST) -> Iterator[str]:
    """The dotted names that an import statement names, with what stands after ``import``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        assert node.level == 0, "imports are absolute"
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            yield full if full in SOURCES else node.module


def imports_of(module: str) -> set[str]:
    return {name for node in ast.walk(TREES[module]) for name in imported_by(node)}


def broken_rules(rules: dict[str, tuple[str, ...]], *, are_allowed: bool) -> list[str]:
    return [
        f"{module} imports {name}"
        for module in SOURCES
        for room, named in rules.items()
        if is_below(module, room)
        for name in sorted(imports_of(module))
        if any(is_below(name, package) for package in PACKAGES)
        and any(is_below(name, other) for other in named) != are_allowed
    ]


def test_each_room_imports_only_what_it_may_know() -> None:
    assert broken_rules(ALLOWED, are_allowed=True) == []
    assert broken_rules(FORBIDDEN, are_allowed=False) == []


def test_the_loop_stands_on_the_standard_library_and_two_more() -> None:
    allowed = sys.stdlib_module_names | LOOP_LIBRARIES | {"agents"}
    found = [
        f"{module} imports {name}"
        for module in SOURCES
        if is_below(module, "agents.loop")
        for name in imports_of(module)
        if name.split(".")[0] not in allowed
    ]
    assert found == []


@pytest.mark.parametrize(
    ("library", "rooms"),
    [
        ("openai", ("agents.providers",)),
        # The demo's servers are programs of their own, on the other side of the protocol.
        ("mcp", ("agents.mcp_client", "agents.demo.servers")),
    ],
)
def test_a_library_is_known_in_its_room_only(library: str, rooms: tuple[str, ...]) -> None:
    found = [
        module
        for module in SOURCES
        if not any(is_below(module, room) for room in rooms)
        and any(is_below(name, library) for name in imports_of(module))
    ]
    assert found == []


@pytest.mark.parametrize("room", ["agents.loop", "agents.providers", "agents.mcp_client"])
def test_django_is_not_known_below_the_runs(room: str) -> None:
    found = [
        module
        for module in SOURCES
        if is_below(module, room) and any(is_below(name, "django") for name in imports_of(module))
    ]
    assert found == []


def imports_at_load(module: str) -> set[str]:
    """What a module imports while it is loaded: not inside functions, not for types alone."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(TREES[module].body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
            continue
        found |= set(imported_by(node))
        waiting += ast.iter_child_nodes(node)
    return found & SOURCES.keys()


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {module: imports_at_load(module) - {module} for module in SOURCES}
    while leaves := [module for module, names in graph.items() if not names]:
        for leaf in leaves:
            del graph[leaf]
        for names in graph.values():
            names.difference_update(leaves)
    circles = {
        module: sorted(names)
        for module, names in graph.items()
        if any(module in graph.get(name, ()) for name in names)
    }
    assert graph == {}, circles or graph


def test_an_import_inside_a_function_has_its_reason_beside_it() -> None:
    bare: list[str] = []
    for module, path in SOURCES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for function in ast.walk(TREES[module]):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for node in ast.walk(function):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    before = lines[node.lineno - 2].strip()
                    own = lines[node.lineno - 1].split("#", 1)[1:]
                    after_import = before.startswith(("import ", "from "))
                    has_reason = before.startswith("#") or after_import or bool(own)
                    if not has_reason:
                        bare.append(f"{module}:{node.lineno}")
    assert bare == []


def test_no_file_is_too_long() -> None:
    lengths = {name: len(path.read_text().splitlines()) for name, path in SOURCES.items()}
    assert {name: n for name, n in lengths.items() if n > LINES_OF_FILE} == {}


def test_no_function_is_too_long() -> None:
    found: dict[str, int] = {}
    for module, tree in TREES.items():
        limit = LINES_OF_THE_LOOP if module == "agents.loop.run" else LINES_OF_FUNCTION
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > limit:
                    found[f"{module}.{node.name}"] = length
    assert found == {}


def test_everything_public_has_a_docstring() -> None:
    bare: list[str] = []
    for module, tree in TREES.items():
        if tree.body and not ast.get_docstring(tree):
            bare.append(module)
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        bare += [f"{module}.{name}" for name in _without_docstring(tree.body)]
        for owner in classes:
            if not owner.bases and not owner.name.startswith("_"):
                names = _without_docstring(owner.body)
                bare += [f"{module}.{owner.name}.{name}" for name in names]
    assert bare == []


def _without_docstring(body: list[ast.stmt]) -> Iterator[str]:
    """Public definitions without one; a class with bases may only fill in what they define."""
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        is_overload = any("overload" in ast.dump(item) for item in node.decorator_list)
        if not node.name.startswith("_") and not is_overload and not ast.get_docstring(node):
            yield node.name
