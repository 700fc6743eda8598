"""The fixed answers of level 3 and their parts, in the user's language.

Place in the house: ``agents.loop``, pure. Three things, always: what was found so far, what failed,
what to do. Nothing technical: the details stand in the trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.loop.results import ToolResult
from agents.loop.shorten import shorten

FOUND_CHARS = 1200
"""How much of each result the fixed answer repeats."""

_REASONS = {
    "en": {
        "max_turns": "The assistant used all its turns and still wanted to call tools.",
        "errors": "Too many tool calls failed in a row.",
        "repeats": "The assistant kept asking for the same call.",
        "time": "The time limit of this run was reached.",
        "tokens": "The token limit of this run was reached.",
        "truncated": "The model's tool calls were cut off twice.",
        "empty": "The model gave an empty answer, also when asked once more.",
        "provider_error": "The model gave no answer.",
        "context": "The conversation is too long for the model.",
        "hook_error": "A hook of this assistant failed.",
        "worker_lost": "The process that worked on this answer ended.",
    },
    "zh": {
        "max_turns": "助手用完了所有轮次，仍想继续调用工具。",
        "errors": "连续多次工具调用失败。",
        "repeats": "助手反复请求同一个调用。",
        "time": "本次运行已达到时间上限。",
        "tokens": "本次运行已达到令牌上限。",
        "truncated": "模型的工具调用两次被截断。",
        "empty": "模型给出了空回答，再次询问后仍然为空。",
        "provider_error": "模型没有给出回答。",
        "context": "对话对模型来说太长了。",
        "hook_error": "此助手的钩子出错了。",
        "worker_lost": "处理此回答的进程已结束。",
    },
}

_ADVICE = {
    "en": {
        "max_turns": "Ask for one step at a time, or continue to give it more turns.",
        "errors": "Check the tools' messages in the trace, then try again.",
        "context": "Start a new conversation or ask a shorter question.",
        "hook_error": "Please tell the operator; the details are in the trace.",
        "": "Please try again in a moment; the details are in the trace.",
    },
    "zh": {
        "max_turns": "请一次只提一个步骤，或选择继续以增加轮次。",
        "errors": "请在追踪中查看工具的消息，然后重试。",
        "context": "请新建对话，或提一个更短的问题。",
        "hook_error": "请联系管理员；详细内容见追踪。",
        "": "请稍后再试；详细内容见追踪。",
    },
}

_HEADINGS = {
    "en": (
        "I could not finish this answer.",
        "What was found so far:",
        "What failed:",
        "What to do:",
    ),
    "zh": ("我没能完成这个回答。", "目前已得到的结果：", "失败原因：", "建议："),
}


def fixed_answer(
    reason: str,
    results: Sequence[ToolResult],
    *,
    language: str,
    error: str = "",
    hint: str = "",
) -> str:
    """The fixed text of level 3. ``error`` and ``hint`` are one line each, for people, in English:
    in other languages the error stands in quotes, and the usual advice in place of the hint."""
    opening, found, failed, advice = _HEADINGS[language]
    reasons, advices = _REASONS[language], _ADVICE[language]
    lines = [opening]
    good = [result for result in results if result.is_ok]
    if good:
        lines.append(found)
        lines += [f"- {shorten(result.text, FOUND_CHARS)}" for result in good]
    what = reasons.get(reason, reasons["provider_error"])
    usual = advices.get(reason, advices[""])
    if language == "zh":
        lines += [f"{failed}{what}" + (f"“{error}”" if error else ""), f"{advice}{usual}"]
    else:
        lines += [f"{failed} {joined(what, error)}", f"{advice} {hint or usual}"]
    return "\n\n".join(lines)


def joined(*sentences: str) -> str:
    """Sentences behind one another, each with its full stop; empty ones are left out."""
    return " ".join(
        text if text.endswith((".", "!", "?", "。", "…")) else f"{text}."
        for text in map(str.strip, sentences)
        if text
    )
