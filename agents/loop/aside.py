"""A run beside itself: requests of its own that are no part of the conversation.

Place in the house: ``agents.loop``. Nothing that is said there is shown to people or stored among
the messages; the trace has it, and its tokens count.
"""

from __future__ import annotations

from dataclasses import replace

from agents.loop.catalog import ToolCatalog
from agents.loop.state import RunState

LEFT_OUT = ("response_format", "tool_choice", "parallel_tool_calls", "stop", "n", "tools")
"""Options of an assistant that such requests do without: they shape its answers."""


def aside(run: RunState, catalog: ToolCatalog | None = None) -> RunState:
    """The run with no prompts, no messages, and this catalog (no tools by default).

    It asks the model that sums up, where one is named, and those of the run after it.
    """
    rules = run.assistant.compaction
    targets = run.targets[run.targets.index(run.target) :] if run.target else run.targets
    if rules.model:
        targets = (replace(targets[0], model=rules.model), *targets)
    return replace(
        run,
        prompts=[],
        messages=[],
        options={key: value for key, value in run.options.items() if key not in LEFT_OUT},
        targets=targets,
        catalog=catalog or ToolCatalog(),
        target=None,
        wire=None,
        is_silent=True,
    )


def take_counts(run: RunState, apart: RunState) -> None:
    """Let the tokens that were used aside count for the run."""
    run.input_tokens, run.output_tokens = apart.input_tokens, apart.output_tokens
    run.estimated_tokens = apart.estimated_tokens
