"""The texts that the loop itself writes to a model: text in, text out.

Place in the house: ``agents.loop``, pure. System prompts, the samples section, the correction
notice of a parameter retry and the brief for the fallback assistant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from agents.loop.catalog import OfferedTool
from agents.loop.messages import JsonValue, Message, Role, text_of
from agents.loop.results import ToolResult
from agents.loop.shorten import shorten, shorten_together

MAX_SAMPLES = 3
"""Samples per tool in the prompt (section 5 of the contract)."""

MEMORY_SERVER = "memory"
"""The id of the built-in server of notes."""

RECALL_HEADING = "## Memory Recall"

SAMPLES_HEADING = "## MCP Tool Usage Examples"

BRIEF_END = (
    "Please answer the user's question based on the above context and tool results.\n"
    "Respond in the same language as the user."
)


def order_prompts(prompts: Sequence[Message], *sections: str) -> list[Message]:
    """System prompts first, then sections such as the samples, then prompts of other roles."""
    system = [prompt for prompt in prompts if prompt.role is Role.SYSTEM]
    others = [prompt for prompt in prompts if prompt.role is not Role.SYSTEM]
    added = [Message(role=Role.SYSTEM, content=text) for text in sections if text]
    return [*system, *added, *others]


def recall_section(offered: Mapping[str, OfferedTool]) -> str:
    """What an assistant with the memory server is told; empty for others."""
    names = {
        tool.spec.name: name
        for name, tool in offered.items()
        if tool.spec.server == MEMORY_SERVER and tool.spec.name.startswith("memory_")
    }
    if "memory_search" not in names:
        return ""
    lines = [
        RECALL_HEADING,
        f"Before you answer about earlier work, decisions, dates, people, preferences or plans, "
        f"search the notes with {names['memory_search']}, and say so where nothing was found.",
    ]
    if "memory_get" in names:
        lines.append(f"Read more around what was found with {names['memory_get']}.")
    if "memory_write" in names:
        lines.append(
            f"When the user asks you to remember something, or says what will matter later, write "
            f"it down with {names['memory_write']}, shortly and with its date where it has one."
        )
    return "\n".join(lines)


def samples_section(offered: Mapping[str, OfferedTool]) -> str:
    """The section with examples of the offered tools; empty when none has any."""
    sections = [_samples_of(tool) for tool in offered.values() if tool.spec.samples]
    return "\n\n".join([SAMPLES_HEADING, *sections]) if sections else ""


def correction_notice(failed: Sequence[tuple[str, ToolResult]]) -> str:
    """What the model is told before it may send failed calls again; ``failed`` = wire id and
    result.
    """
    lines = [
        f"- {result.call.name} (call {call_id}): {_first_line(result.error or result.text)}"
        for call_id, result in failed
    ]
    return "\n".join(
        [
            "Some tool calls failed because of their arguments:",
            *(lines or ["- a call without the name of a tool"]),
            "The other calls of that message are done and their results are kept.",
            "Send again only the failed calls, with corrected arguments that fit the schema "
            "of the tool. If you cannot correct them, answer in text.",
        ]
    )


def results_line(results: Sequence[ToolResult], language: str) -> str:
    """A fixed answer that lists results, where the loop is off and the model wrote no text."""
    heading = "工具结果：" if language == "zh" else "Tool results:"
    return "\n\n".join([heading, *(f"**{_tool_name(r)}**\n\n{r.text}" for r in results)])


def fallback_brief(
    *,
    system_prompts: Sequence[str],
    conversation: Sequence[Message],
    results: Sequence[ToolResult],
    max_chars: int,
) -> str:
    """The one user message of the fallback assistant, at most about ``max_chars`` characters.

    System prompts and the latest user message are kept whole; results are cut first (the longest),
    then older messages are left out, and the brief says so.
    """
    context = "\n\n".join(system_prompts)
    turns = [_spoken(message) for message in conversation if _is_spoken(message)]
    fixed = len(context) + len(BRIEF_END) + 200
    texts = [result.text for result in results]
    kept_turns = _fitting(turns, max(max_chars - fixed, 0) // 2)
    room = max(max_chars - fixed - sum(len(turn) + 2 for turn in kept_turns), 400)
    names = sum(len(_tool_name(result)) + 30 for result in results)
    short = shorten_together(texts, max(room - names, 100 * len(texts)))
    blocks = [_result_block(r, text) for r, text in zip(results, short, strict=True)]
    parts = ["## Assistant Context", context, "## Conversation", *kept_turns]
    parts += ["\n".join(["## Tool Results", "\n\n".join(blocks)]) if blocks else "## Tool Results"]
    return "\n\n".join(part for part in [*parts, f"---\n{BRIEF_END}"] if part)


def language_of(text: str) -> str:
    """``zh`` where the text holds Chinese characters, else ``en``: for the fixed texts."""
    return "zh" if re.search(r"[\u4e00-\u9fff]", text) else "en"


def _samples_of(tool: OfferedTool) -> str:
    lines = [f"### {tool.name}"]
    if tool.spec.description:
        lines.append(tool.spec.description)
    for number, sample in enumerate(tool.spec.samples[:MAX_SAMPLES], start=1):
        lines.append(f"**Example {number} - {sample.name}**")
        if sample.description:
            lines.append(sample.description)
        lines.append(f"Input:\n```json\n{_json(sample.input)}\n```")
        lines.append(f"Output:\n```json\n{_json(sample.output)}\n```")
    return "\n\n".join(lines)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _first_line(text: str) -> str:
    return shorten(" ".join(text.removeprefix("Error: ").split()), 500)


def _is_spoken(message: Message) -> bool:
    return message.role in (Role.USER, Role.ASSISTANT) and bool(text_of(message.content).strip())


def _spoken(message: Message) -> str:
    who = "User" if message.role is Role.USER else "Assistant"
    return f"**{who}**: {text_of(message.content)}"


def _fitting(turns: Sequence[str], room: int) -> list[str]:
    """The latest turns that fit; the last one always."""
    kept: list[str] = []
    for turn in reversed(turns):
        if kept and len(turn) > room:
            kept.append("(earlier messages left out)")
            break
        kept.append(turn)
        room -= len(turn)
    return kept[::-1]


def _tool_name(result: ToolResult) -> str:
    return f"{result.server}.{result.tool}" if result.tool else result.call.name


def _result_block(result: ToolResult, text: str) -> str:
    heading = f"### {_tool_name(result)}"
    if not result.is_ok:
        return f"{heading}\n{text}"
    fence = _fence([text])
    return f"{heading}\n{fence}{'json' if _is_json(text) else ''}\n{text}\n{fence}"


def _fence(texts: Iterable[str]) -> str:
    runs = [len(run) for text in texts for run in re.findall(r"`+", text)]
    return "`" * max(3, max(runs, default=0) + 1)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
