"""Labels and helps of an assistant's fields: every limit says what it does.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

LIMITS = (
    "max_tools", "tool_timeout_seconds", "tool_max_seconds", "parallel_calls",
    "parameter_attempts", "tool_result_max_chars", "turn_result_max_chars",
    "max_consecutive_errors", "repeat_limit", "run_timeout_seconds", "max_run_tokens",
)  # fmt: skip

LABELS = {
    "assistant_id": _("Id"),
    "name": _("Name"),
    "description": _("Description"),
    "starters": _("Starter prompts"),
    "prompts": _("Prompts"),
    "prompt_presets": _("Presets"),
    "disable_global_prompts": _("Without the global prompts"),
    "provider": _("Provider"),
    "model": _("Model"),
    "fallback_provider": _("Fallback provider"),
    "fallback_model": _("Fallback model"),
    "further_models": _("Further models"),
    "options": _("Request options"),
    "tool_loop": _("Tool loop"),
    "max_turn": _("Turns (max_turn)"),
    "max_tools": _("Tools offered (max_tools)"),
    "tool_timeout_seconds": _("Silence of a tool (s)"),
    "tool_max_seconds": _("Longest call (s)"),
    "parallel_calls": _("Calls at the same time"),
    "parameter_attempts": _("Attempts on arguments"),
    "tool_result_max_chars": _("Characters of a result"),
    "turn_result_max_chars": _("Characters of a turn's results"),
    "max_consecutive_errors": _("Failed turns in a row"),
    "repeat_limit": _("Same call, same result"),
    "run_timeout_seconds": _("Time of a run (s)"),
    "max_run_tokens": _("Tokens of a run"),
    "on_tool_error": _("When a tool of the first turn fails"),
    "fallback_assistant": _("Fallback assistant"),
    "sandbox": _("Sandbox"),
    "compaction_enabled": _("Compaction"),
    "compaction_trigger_ratio": _("Compact from this share of the window"),
    "compaction_reserve_tokens": _("Tokens kept free"),
    "compaction_model": _("Model that sums up"),
    "context_window": _("Context window (tokens)"),
    "trace_days": _("Days that traces are kept"),
    "tool_limits": _("Limits of single tools"),
    "groups": _("Who may chat"),
    "trace_groups": _("Who may read every trace"),
    "approver_groups": _("Who decides on calls"),
    "create_hook": _("create"),
    "next_hook": _("next"),
    "before_tool_call_hook": _("before_tool_call"),
    "after_tool_call_hook": _("after_tool_call"),
}

HELP = {
    "assistant_id": _("The name in bundles and commands, for example travel. It stays as it is."),
    "description": _("What people read before they begin."),
    "starters": _("One a line; Title | text shows the title and sends the text."),
    "prompts": _(
        "Sent in this order before the conversation; an empty text removes one. {{ date }}, "
        "{{ time }}, {{ user }} and {{ assistant }} are filled in for each run."
    ),
    "prompt_presets": _(
        "Prompts that a create hook may choose instead, by name, as JSON: "
        '{"short": [{"role": "system", "content": "Answer in one sentence."}]}.'
    ),
    "disable_global_prompts": _("Leave out the prompts that every assistant gets first."),
    "model": _("Empty: the provider's default model."),
    "fallback_provider": _("Asked when the provider above does not answer. Empty: the same one."),
    "fallback_model": _("Empty: the fallback model of that provider, if it has one."),
    "further_models": _(
        "Asked after these, in order. One a line: the provider's id, then a model if "
        "it is not the default one."
    ),
    "options": _(
        'Further fields of every request, as JSON: {"temperature": 0.2, "max_tokens": 2000}.'
    ),
    "tool_loop": _(
        "On: results go back to the model until it answers in text. Off: one round of tools."
    ),
    "max_turn": _("Rounds with tools after the first answer; then the fallback answers."),
    "max_tools": _("How many tools the model is offered; the order of the servers decides."),
    "tool_timeout_seconds": _("A tool that gives no sign of life for this long is given up."),
    "tool_max_seconds": _("However much progress it reports, no call takes longer."),
    "parallel_calls": _("How many calls of one turn run at the same time."),
    "parameter_attempts": _("Tries that the first turn has to get the arguments right."),
    "tool_result_max_chars": _("A longer result is cut, and says so."),
    "turn_result_max_chars": _("All results of one turn together."),
    "max_consecutive_errors": _("After so many turns in which every call failed, the run ends."),
    "repeat_limit": _("A call that gave the same result so often is not made again."),
    "run_timeout_seconds": _("All of a run; waiting for a person does not count."),
    "max_run_tokens": _("Input and output of all requests together. Empty: no limit."),
    "on_tool_error": _("After its attempts: tell the model, or end the run."),
    "fallback_assistant": _("Answers when a limit is reached. Empty: the application's own."),
    "sandbox": _("Tool calls of the model are not executed; its text is the answer."),
    "compaction_enabled": _("Sum up what is old when the context gets full."),
    "compaction_trigger_ratio": _("Between 0 and 1."),
    "compaction_reserve_tokens": _("For the summary; at most a quarter of the window."),
    "compaction_model": _("At the assistant's provider; empty: its own model."),
    "context_window": _("What the model can read at once. Empty: unknown."),
    "trace_days": _("Older ones go when prune_traces runs. Empty: its own --days, or for ever."),
    "tool_limits": _(
        "They win over the server's and the assistant's. An empty field leaves those; an empty row "
        "goes. A tool is named with its server: weather.get. A tool that is polled may give the "
        "same result as often as it likes."
    ),
    "groups": _("None: everybody who can log in."),
    "trace_groups": _(
        "People read the traces of their own runs, and members of these groups all of this "
        "assistant's."
    ),
    "approver_groups": _(
        "None: each person decides on the calls in their own conversation. Otherwise members of "
        "these groups alone, on the page Approvals."
    ),
    "create_hook": _(
        "Before the first request: may choose prompts, model, options, and among the servers."
    ),
    "next_hook": _("After each answer: may answer, delegate or end the run."),
    "before_tool_call_hook": _("Before each call: may change the arguments or refuse it."),
    "after_tool_call_hook": _("After each call: may change the result."),
}
