"""What the house itself says in the errors that it records, as templates.

Place in the house: ``agents.loop``, pure. Errors are made and recorded in English; pages recognise
them here and say them in the reader's language. What a provider, a server, a tool or a person said
fits no template, or only as one of its values. A test holds the templates against the code that
makes the errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, reduce


def gettext_noop(text: str) -> str:
    """The text itself; marks it for those who translate."""
    return text


LINES = (
    gettext_noop("The provider at %(where)s could not be asked."),
    gettext_noop("The provider at %(where)s broke off its answer: %(said)s"),
    gettext_noop("The provider at %(where)s cannot be reached: %(said)s"),
    gettext_noop("The provider at %(where)s said nothing for %(seconds)s seconds."),
    gettext_noop(
        "The provider at %(where)s began its answer and then said nothing more for %(seconds)s "
        "seconds."
    ),
    gettext_noop("The stream from %(where)s ended before the answer was complete."),
    gettext_noop("The provider at %(where)s sent something that is no chat completion."),
    gettext_noop("The conversation is too long for %(model)s: %(said)s"),
    gettext_noop("The provider at %(where)s refused the key (%(status)s): %(said)s"),
    gettext_noop("The account at %(where)s cannot pay for the request (%(status)s): %(said)s"),
    gettext_noop("The provider at %(where)s refused what was said (%(status)s): %(said)s"),
    gettext_noop("The model %(model)s is not known at %(where)s (%(status)s): %(said)s"),
    gettext_noop("The provider at %(where)s cannot answer now (%(status)s): %(said)s"),
    gettext_noop("The provider at %(where)s refused the request (%(status)s): %(said)s"),
    gettext_noop("%(address)s is not the address of a provider."),
    gettext_noop("The key for %(where)s holds characters that no key can hold."),
    gettext_noop(
        "The provider %(provider)s has no key: the environment variable %(variable)s is not set."
    ),
    gettext_noop("The provider %(provider)s has no default model to ask."),
    gettext_noop("No provider is set for the assistant %(assistant)s."),
    gettext_noop("No model is set for the assistant %(assistant)s at the provider %(provider)s."),
    gettext_noop("The assistant %(assistant)s is missing."),
    gettext_noop("The fallback did not answer in time."),
    gettext_noop("The model wrote an empty summary."),
    gettext_noop("The create hook named the provider %(provider)s: unknown"),
    gettext_noop(
        "The create hook named servers that %(assistant)s does not have: %(servers)s; it has "
        "%(known)s"
    ),
    gettext_noop("The create hook chose the prompt preset %(preset)s; %(assistant)s has %(known)s"),
    gettext_noop("The create hook returned mcp_servers that cannot be used: %(said)s"),
    gettext_noop("A hook delegated to the assistant %(assistant)s: unknown"),
    gettext_noop("Assistants delegate in a circle: %(way)s"),
    gettext_noop("Assistants delegate more than %(depth)s deep"),
    gettext_noop(
        "The hook %(path)s is not on the list of allowed modules: add %(module)s to "
        "TOOLLOOP_HOOK_MODULES or import the assistant from a bundle"
    ),
    gettext_noop("The hook %(path)s cannot be imported: %(said)s"),
    gettext_noop("The hook %(path)s is no callable, but %(kind)s"),
    gettext_noop("The %(name)s hook %(path)s raised %(kind)s: %(said)s"),
    gettext_noop(
        "The next hook %(path)s must return None, {'delegate': ...} or {'data': ...}, got %(got)s"
    ),
    gettext_noop("The before_tool_call hook %(path)s must return arguments as a dict, got %(got)s"),
    gettext_noop(
        "The before_tool_call hook %(path)s returned arguments that are no JSON: %(said)s"
    ),
    gettext_noop("The %(name)s hook %(path)s must return None or a dict, got %(got)s"),
    gettext_noop("The %(name)s hook %(path)s must return %(key)s as %(expected)s, got %(got)s"),
    gettext_noop("The %(name)s hook %(path)s returned what is no JSON: %(said)s"),
    gettext_noop(
        "The %(name)s hook %(path)s returned the unknown keys %(keys)s; it may return %(known)s"
    ),
    gettext_noop("The %(name)s hook %(path)s returned a bad message: %(said)s"),
    gettext_noop("tools can be called from the hooks after create: the catalog is not built"),
    gettext_noop("There is no tool named '%(name)s'. Available tools: %(known)s."),
    gettext_noop("The operator does not allow the tool %(tool)s."),
    gettext_noop("The server %(server)s does not answer now."),
    gettext_noop("The tool %(tool)s is not available here (%(reason)s)."),
    gettext_noop("Invalid arguments for %(name)s from the before_tool_call hook: %(problem)s"),
    gettext_noop("Invalid arguments for %(name)s: %(problem)s. Received: %(came)s"),
    gettext_noop(
        "This call was not executed: %(name)s gave the same result %(n)s times with the same "
        "arguments. Use that result, try something else, or answer with what you have."
    ),
    gettext_noop(
        "This call was not executed: %(name)s failed %(n)s times in the same way, whatever the "
        "arguments. Do without it, or answer with what you have."
    ),
    gettext_noop(
        "This call was not executed: %(name)s may be called %(n)s times in one run. Use the "
        "results that you have, or answer."
    ),
    gettext_noop("No answer within %(seconds)s seconds."),
    gettext_noop(
        "No answer within %(seconds)s s: the call was stopped. What it did so far is unknown."
    ),
    gettext_noop("server %(server)s: %(said)s"),
    gettext_noop("the tool reported an error without saying which"),
    gettext_noop("the server's result has neither content nor structuredContent"),
    gettext_noop("the server's result is nested too deeply to be read"),
    gettext_noop(
        "the tool asks for something from a person before it goes on, which is not supported "
        "here; call it with everything it needs, or use another tool"
    ),
    gettext_noop("The call was cancelled."),
    gettext_noop("This call is not allowed."),
    gettext_noop("A person did not allow this call."),
    gettext_noop("The person at the terminal did not allow it."),
    gettext_noop("Nobody answered within an hour."),
    gettext_noop("Nobody is here to approve this call."),
    gettext_noop("The tool failed without saying why."),
    gettext_noop(
        "The answer was cut off by the length limit, so the arguments of this call may be "
        "incomplete. Nothing was executed. Send the call again, with shorter arguments."
    ),
    gettext_noop("The process that worked on this run ended."),
    gettext_noop("This run was taken from its process, which had been silent for too long."),
    gettext_noop(
        "this call was interrupted before its result was stored. It may or may not have had an "
        "effect."
    ),
)
"""Errors, one line each; the more special ones first."""

HINTS = (
    gettext_noop("See the detail in the trace."),
    gettext_noop("Try again, or use another model."),
    gettext_noop("Is the server running, and is %(where)s the right address?"),
    gettext_noop("Try again, or raise the provider's timeout_ms."),
    gettext_noop("Try again; if it happens often, look for a proxy that cuts long answers."),
    gettext_noop("Check the base URL: it usually ends in /v1."),
    gettext_noop("It points to %(target)s: if that is right, make it the base URL."),
    gettext_noop(
        "Start a new conversation, shorten tool results, or use a model with more context."
    ),
    gettext_noop("Check the key of this provider, and that it may use this model."),
    gettext_noop("Look at the plan and the credit of this provider's account."),
    gettext_noop("Say it in other words, or use a model without this moderation."),
    gettext_noop("Check the model's name and the base URL: it usually ends in /v1."),
    gettext_noop("Wait and try again, or use another model."),
    gettext_noop("See the request and the detail in the trace."),
    gettext_noop("A base URL looks like http://127.0.0.1:9001/v1."),
    gettext_noop("Copy the key again, without line breaks or quotes."),
    gettext_noop("Set %(variable)s and start again."),
    gettext_noop("Set its provider in the admin or import a bundle that names one."),
    gettext_noop("Set the assistant's model or the provider's default_model."),
    gettext_noop("Run manage.py migrate: it comes with the application."),
)
"""What to do, one sentence each; stands behind an error."""

PROBLEMS = (
    gettext_noop("the arguments do not fit the tool's schema: %(problems)s"),
    gettext_noop("the required property %(name)s is missing"),
    gettext_noop("expected one of %(expected)s, got %(got)s"),
    gettext_noop("expected text of the %(kind)s %(expected)s, got %(got)s"),
    gettext_noop("expected %(expected)s, got %(got)s"),
    gettext_noop("unknown properties %(extra)s; allowed are %(known)s"),
    gettext_noop("fits none of the allowed forms (%(forms)s)"),
    gettext_noop("the arguments must be an object in JSON, got %(got)s"),
    gettext_noop("the arguments must be an object in JSON and nothing else, got %(got)s"),
    gettext_noop("the arguments must be an object in valid JSON: %(fault)s"),
    gettext_noop(
        "the arguments must be one object in JSON and nothing else, but another object follows "
        "it: %(got)s"
    ),
    gettext_noop(
        "the arguments must be one object in JSON and nothing else, but more text follows it: "
        "%(got)s"
    ),
    gettext_noop(
        "the arguments were cut off: %(fault)s. Send the whole object again, with every string "
        "and bracket closed and quotes inside strings escaped"
    ),
    gettext_noop("the arguments are nested deeper than %(n)s levels"),
    gettext_noop("the arguments give %(name)s twice with different values"),
    gettext_noop("a number in the arguments has more than 4300 digits"),
    gettext_noop("%(name)s is not a JSON value; use a number, a string or null"),
    gettext_noop(
        "the arguments hold half of a character: an escape like \\ud83d needs its second half"
    ),
    gettext_noop(
        "the arguments hold a number that JSON does not have: NaN, Infinity or one too large"
    ),
    gettext_noop("the text is not a JSON object"),
    gettext_noop("the text is not valid JSON and cannot be repaired without guessing"),
    gettext_noop("the text is not valid JSON"),
    gettext_noop("the text ends inside the object"),
    gettext_noop("the text ends inside a string"),
    gettext_noop("the text ends inside a comment"),
    gettext_noop("%(rule)s is %(expected)s, got %(got)s"),
)
"""What is wrong with arguments, as clauses."""

MISFIT = "the arguments do not fit the tool's schema: "
"""What stands before the problems that validation found."""

_TWO_PROBLEMS = gettext_noop("%(first)s; %(second)s")
_MOST_CHARS = 20_000
_VALUE = re.compile(r"%\\?\((\w+)\\?\)s")
_PLACED = re.compile(r"(/[^:\s]*): (.*)", re.DOTALL)
_NEXT_PROBLEM = re.compile(r"; (?!allowed are)")
_SENTENCE = re.compile(r"(?<=[.!?。…]) (?=[A-Z])")

Say = Callable[[str], str]
"""A template in the reader's language."""


def is_own(text: str) -> bool:
    """Whether an error or a hint is one of the house's."""
    return _find(text, LINES + HINTS) is not None


def own_words(text: str, say: Say, cut: Say = str) -> str | None:
    """An error or a hint of the house in the reader's language, ``None`` for what somebody else
    said. ``cut`` shortens what others said in it.
    """
    found = _find(text, LINES + HINTS)
    if found is None:
        return None
    template, values = found
    shown = {name: cut(value) for name, value in values.items()}
    if "problem" in values:
        shown["problem"] = own_problem(values["problem"], say, cut)
    return say(template) % shown


def own_problem(text: str, say: Say, cut: Say = str) -> str:
    """What is wrong with arguments, in the reader's language, where it is known; behind its JSON
    pointer where it has one."""
    placed = _PLACED.fullmatch(text)
    if placed:
        return f"{placed[1]}: {own_problem(placed[2], say, cut)}"
    found = _find(text, PROBLEMS)
    if found is None:
        return cut(text)
    template, values = found
    shown = {name: cut(value) for name, value in values.items()}
    if "fault" in values:
        shown["fault"] = own_problem(values["fault"], say, cut)
    if "problems" in values:
        each = [own_problem(problem, say, cut) for problem in problems_of(text)]
        shown["problems"] = reduce(
            lambda first, second: say(_TWO_PROBLEMS) % {"first": first, "second": second}, each
        )
    return say(template) % shown


def problems_of(text: str) -> list[str]:
    """What validation found, one by one; empty where it found nothing."""
    if MISFIT not in text:
        return []
    return _NEXT_PROBLEM.split(text.split(MISFIT, 1)[1])


def split_hint(text: str) -> tuple[str, str]:
    """An error and the hint behind it; the hint is empty where there is none of the house's."""
    for gap in _SENTENCE.finditer(text):
        if _find(text[gap.end() :], HINTS):
            return text[: gap.start()], text[gap.end() :]
    return text, ""


def _find(text: str, templates: tuple[str, ...]) -> tuple[str, dict[str, str]] | None:
    """The template that a text was made with, and its values."""
    if len(text) > _MOST_CHARS:
        return None
    for template in templates:
        if found := _pattern(template).fullmatch(text):
            return template, found.groupdict()
    return None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_VALUE.sub(r"(?P<\1>.+?)", re.escape(template)), re.DOTALL)
