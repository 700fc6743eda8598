"""Prompts that the form of an assistant offers to insert.

Place in the house: ``agents.admin``. The texts are for models and are the same in every language
of the page; a title says which language a text is in.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPreset:
    """A prompt to insert. ``title`` is for people, ``text`` for the model."""

    title: object
    role: str
    text: str


PROMPT_PRESETS = (
    PromptPreset(
        title=_("Use the tool, do not guess (English)"),
        role="system",
        text=(
            "Use the tools for facts; do not guess. Before you answer anything that a tool can "
            "tell (files, folders, commands, data, dates, earlier work and decisions), call the "
            "fitting tool and answer from its result.\n"
            "If a tool fails or finds nothing, say so, or try another call; never make a result "
            "up. If a result says that it was cut, ask for less or more precisely. Do not repeat a "
            "call that gave you the same result."
        ),
    ),
    PromptPreset(
        title=_("Use the tool, do not guess (Chinese)"),
        role="system",
        text=(
            "事实以工具为准，不得猜测。凡是工具能查到的内容（文件、目录、命令、数据、日期、"
            "过往工作与决策），必须先调用对应的工具，再依据真实结果回答。\n"
            "工具失败或没有结果时，如实说明，或换一种调用方式，绝不编造结果。结果注明已截断时，"
            "缩小范围或查得更精确。已经得到相同结果的调用不要重复。"
        ),
    ),
)
