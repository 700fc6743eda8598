"""What the practice model says: a script, from a request body to one answer. Pure.

Place in the house: ``agents.demo``. It looks at the last user message and at what followed it, so
it needs no memory; the same request gives the same answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.loop.compaction import INSTRUCTIONS
from agents.loop.messages import JsonObject, JsonValue
from agents.loop.prompts import language_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """Text, and calls as (flat name, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a conversation stands: the last user message and what came after it.

    ``steps`` are the assistant messages since; ``results`` the tool messages of the last of them,
    ``all_results`` those of all.
    """

    question: str
    steps: int
    results: tuple[str, ...]
    all_results: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def is_chinese(self) -> bool:
        """Whether to answer in Chinese."""
        return language_of(self.question) == "zh"

    def say(self, english: str, chinese: str) -> str:
        """The text in the user's language."""
        return chinese if self.is_chinese else english


STARTERS: tuple[tuple[str, str], ...] = (
    ("Two steps", "What should I wear in Beijing today?"),
    ("两步循环", "北京今天适合穿什么?"),
    ("Three calls at once", "Compare the weather in Beijing, Oslo and Lima."),
    ("三个调用", "比较北京、Oslo 和 Lima 的天气。"),
    ("Wrong arguments, corrected", "How many days are there from 3 March to 24 December 2026?"),
    ("参数错误与纠正", "从2026年3月3日到12月24日有多少天?"),
    ("The turn limit", "Keep adding 1 until I say stop."),
    ("轮次上限", "一直加 1,直到我说停。"),
    ("A failing tool", "What is the weather in Atlantis?"),
    ("失败的工具", "亚特兰蒂斯的天气怎么样?"),
    ("A slow tool to stop", "Run the survey of all weather stations."),
    ("可停止的慢工具", "运行所有气象站的普查。"),
    ("Something to remember", "Remember that my cat is called Turing."),
    ("要记住的事", "请记住我的猫叫图灵。"),
    ("What is remembered", "What do you remember about my cat?"),
    ("记得什么", "关于我的猫你记得什么？"),
    ("Work with files", "Write the numbers from 1 to 20 into a file and sum them up."),
    ("处理文件", "把 1 到 20 写入文件并求和。"),
    ("An approval", "Delete all my notes."),
    ("需要批准", "删除我的所有笔记。"),
)
"""Title and text of every starter prompt, English and Chinese in turn."""


def answer(body: JsonObject) -> ScriptedAnswer:
    """The practice model's answer to a request body of chat completions."""
    messages = [item for item in _list(body.get("messages")) if isinstance(item, dict)]
    tools = tuple(_tool_names(_list(body.get("tools"))))
    scene = _scene(messages, tools)
    if scene.question.startswith("## Assistant Context"):
        return _as_fallback(scene)
    if _system_text(messages).startswith(INSTRUCTIONS[:40]):
        return _as_summary(scene)
    if "title" in _system_text(messages).lower() and not tools and len(messages) <= 2:
        return ScriptedAnswer(text=" ".join(scene.question.split()[:6])[:40])
    return _continue(scene)


def _continue(scene: Scene) -> ScriptedAnswer:
    ordered = _ordered_call(scene)
    if ordered is not None:
        return ordered
    for words, act in _ACTS:
        if re.search(words, scene.question, re.IGNORECASE):
            return act(scene)
    return ScriptedAnswer(
        text=scene.say(
            "I am the practice model: scripted, no AI. Choose one of the starter prompts of a new "
            "conversation, or ask me to call a tool, for example: "
            'call weather__get with {"city": "Oslo"}',
            "我是练习模型：按脚本回答，没有人工智能。请在新对话中选择一个开场提示，或让我调用工具，例如："
            '调用 weather__get {"city": "Oslo"}',
        )
    )


def _dress(scene: Scene) -> ScriptedAnswer:
    if scene.steps == 0:
        city = scene.say("Beijing", "北京")
        text = scene.say("Let me look at the weather first.", "我先看看北京今天的天气。")
        return _call(scene, "weather__get", {"city": city}, text)
    if scene.steps == 1:
        weather = _result_object(scene)
        temp, wind = weather.get("temp", 5), weather.get("wind", "")
        text = scene.say(
            f"It is {temp} °C with wind. Now what to wear.", f"现在 {temp} ℃，我再查一下穿衣建议。"
        )
        return _call(scene, "weather__clothing_advise", {"temp": temp, "wind": wind}, text)
    advice = _result_object(scene).get("advice", "")
    return ScriptedAnswer(
        text=scene.say(
            f"Today in Beijing it is **5 °C** with strong wind. Wear a **{advice}**.",
            f"今天北京 **5 ℃**，风大，建议穿**{advice}**。",
        )
    )


def _compare(scene: Scene) -> ScriptedAnswer:
    cities = [scene.say("Beijing", "北京"), "Oslo", "Lima"]
    if scene.steps == 0:
        return ScriptedAnswer(
            text=scene.say("I will look up all three cities.", "我同时查三个城市。"),
            calls=tuple(("weather__get", {"city": city}) for city in cities),
        )
    head = scene.say("| City | °C | Sky |", "| 城市 | ℃ | 天空 |")
    rows = [_weather_row(text) for text in scene.results]
    return ScriptedAnswer(text="\n".join([head, "| --- | ---: | --- |", *rows]))


def _days(scene: Scene) -> ScriptedAnswer:
    good: JsonObject = {"start_date": "2026-03-03", "end_date": "2026-12-24"}
    if scene.steps == 0:
        wrong: JsonObject = {"from": "3 March", "to": "24 December 2026"}
        text = scene.say("I will count the days.", "我来算一下天数。")
        return _call(scene, "calculator__days_between", wrong, text)
    if "Error" in scene.results[-1][:5]:
        return _call(scene, "calculator__days_between", good, "")
    return ScriptedAnswer(
        text=scene.say(
            f"From 3 March to 24 December 2026 there are **{scene.results[-1]}**.",
            f"从 2026 年 3 月 3 日到 12 月 24 日共 **{scene.results[-1].split()[0]} 天**。",
        )
    )


def _count(scene: Scene) -> ScriptedAnswer:
    last = re.search(r"-?\d+", scene.results[-1]) if scene.results else None
    number = int(last[0]) if last else 0
    return _call(scene, "calculator__add", {"a": number, "b": 1}, "")


def _fail(scene: Scene) -> ScriptedAnswer:
    if scene.steps == 0:
        return _call(scene, "weather__get", {"city": scene.say("Atlantis", "亚特兰蒂斯")}, "")
    return ScriptedAnswer(
        text=scene.say(
            "I could not find out: the station of Atlantis does not answer.",
            "查不到：亚特兰蒂斯的气象站没有应答。",
        )
    )


def _survey(scene: Scene) -> ScriptedAnswer:
    if scene.steps == 0:
        text = scene.say("This takes a minute. You can stop it.", "这需要一分钟，您可以随时停止。")
        return _call(scene, "weather__survey", {"seconds": 60}, text)
    return ScriptedAnswer(
        text=scene.say("The survey is done.", "普查完成了。") + f" {scene.results[-1]}"
    )


def _delete(scene: Scene) -> ScriptedAnswer:
    if scene.steps == 0:
        text = scene.say("This needs your permission.", "这需要您的批准。")
        return _call(scene, "notes__delete_all", {}, text)
    if scene.results[-1].startswith("Error"):
        return ScriptedAnswer(
            text=scene.say("Nothing was deleted.", "没有删除任何笔记。")
            + f" {scene.results[-1][7:]}"
        )
    return ScriptedAnswer(text=scene.say("Done: ", "完成：") + scene.results[-1])


def _remember(scene: Scene) -> ScriptedAnswer:
    if scene.steps == 0:
        said = re.sub(r"^(remember that|请记住)\s*", "", scene.question, flags=re.IGNORECASE)
        text = scene.say("I will write that down.", "我把它记下来。")
        return _call(scene, "memory__memory_write", {"text": said}, text)
    if scene.results[-1].startswith("Error"):
        return ScriptedAnswer(text=scene.say("I have not noted it.", "没有记下来。"))
    return ScriptedAnswer(text=scene.say("Noted.", "记下了。"))


def _recall(scene: Scene) -> ScriptedAnswer:
    if scene.steps == 0:
        text = scene.say("Let me look into the notes.", "我查一下笔记。")
        return _call(scene, "memory__memory_search", {"query": scene.question}, text)
    try:
        found = json.loads(scene.results[-1])
    except ValueError:
        found = []
    pieces = [str(item.get("text", "")).strip() for item in _list(found) if isinstance(item, dict)]
    if not pieces:
        return ScriptedAnswer(text=scene.say("I found nothing on that.", "没有找到相关内容。"))
    return ScriptedAnswer(text=scene.say("My notes say: ", "笔记里写着：") + pieces[0])


def _sum_up(scene: Scene) -> ScriptedAnswer:
    if scene.steps == 0:
        command = "seq 1 20 > numbers.txt; paste -sd+ numbers.txt | tee sum.txt; wc -l numbers.txt"
        text = scene.say("I will do that in the workspace.", "我在工作区里做。")
        return _call(scene, "workspace__bash", {"command": command}, text)
    if scene.results[-1].startswith("Error"):
        return ScriptedAnswer(text=scene.say("Nothing was written.", "没有写入任何内容。"))
    return ScriptedAnswer(
        text=scene.say(
            "The sum is **210**; `numbers.txt` has 20 lines.",
            "总和是 **210**，`numbers.txt` 有 20 行。",
        )
    )


_ACTS: Sequence[tuple[str, Callable[[Scene], ScriptedAnswer]]] = (
    (r"what should i wear|适合穿什么", _dress),
    (r"compare the weather|比较.*天气", _compare),
    (r"how many days|多少天", _days),
    (r"keep (adding|counting)|一直(加|数)", _count),
    (r"atlantis|亚特兰蒂斯", _fail),
    (r"survey|普查", _survey),
    (r"delete all|删除.*笔记", _delete),
    (r"what do you remember|你记得什么", _recall),
    (r"write the numbers|写入文件", _sum_up),
    (r"^(remember that|请记住)", _remember),
)

_ORDER = re.compile(
    r"(?:call|use|run|invoke|调用|使用|运行)\s*(?:the tool|工具)?\s*`?"
    r"(?P<name>[A-Za-z0-9-]+(?:__|\.| ?/ ?)[A-Za-z0-9_-]+)`?",
    re.IGNORECASE,
)


def _ordered_call(scene: Scene) -> ScriptedAnswer | None:
    """A plain request to call given tools with given arguments, one after the other."""
    orders = _orders(scene.question)
    if not orders:
        return None
    if scene.steps < len(orders):
        return ScriptedAnswer(calls=(orders[scene.steps],))
    name = orders[-1][0]
    result = scene.results[-1] if scene.results else ""
    return ScriptedAnswer(
        text=scene.say(
            f"`{name}` gave:\n\n```\n{result}\n```", f"`{name}` 的结果：\n\n```\n{result}\n```"
        )
    )


def _orders(question: str) -> list[tuple[str, JsonObject]]:
    """The calls that a question asks for, in order; another one only behind whole arguments."""
    orders: list[tuple[str, JsonObject]] = []
    match = _ORDER.search(question)
    while match is not None:
        name = re.sub(r"\.| ?/ ?", "__", match["name"])
        arguments, end = _ordered_arguments(question, match.end())
        orders.append((name, arguments))
        match = _ORDER.search(question, end) if end else None
    return orders


def _ordered_arguments(question: str, place: int) -> tuple[JsonObject, int]:
    """The first object behind a place and where it ends; ``{}`` and 0 where there is none."""
    start = question.find("{", place)
    if start < 0:
        return {}, 0
    try:
        value, end = json.JSONDecoder().raw_decode(question, start)
        json.dumps(value)
    except (ValueError, RecursionError):
        return {}, 0
    return value, end


def _as_fallback(scene: Scene) -> ScriptedAnswer:
    """The fallback's brief: sum up what the tools gave."""
    found = re.findall(r"`{3,}\w*\n(.*?)\n`{3,}", scene.question, re.DOTALL)
    last = found[-1] if found else "-"
    asked = re.findall(r"\*\*User\*\*: (.*)", scene.question)
    is_chinese = language_of(asked[-1] if asked else "") == "zh"
    if is_chinese:
        return ScriptedAnswer(text=f"我还没有完成，目前得到的最后结果是 **{last}**。")
    return ScriptedAnswer(text=f"I am not finished. The last result so far is **{last}**.")


def _as_summary(scene: Scene) -> ScriptedAnswer:
    """The request to fold older messages: what was asked for, and the last answer."""
    asked = re.findall(r"^(?:User:|-) (.*)", scene.question, re.MULTILINE)
    said = re.findall(r"^Assistant: (.*)", scene.question, re.MULTILINE)
    is_chinese = language_of(" ".join(asked)) == "zh"
    goal, progress, last = (
        ("## 目标", "## 进展", "最后的回答：") if is_chinese
        else ("## Goal", "## Progress", "The last answer: ")
    )  # fmt: skip
    lines = [goal, *(f"- {line}" for line in dict.fromkeys(asked) if not line.startswith(last))]
    if said:
        lines += ["", progress, f"- {last}{said[-1]}"]
    return ScriptedAnswer(text="\n".join(lines))


def _call(scene: Scene, name: str, arguments: JsonObject, text: str) -> ScriptedAnswer:
    return ScriptedAnswer(text=text, calls=((name, arguments),))


def _scene(messages: Sequence[JsonObject], tools: tuple[str, ...]) -> Scene:
    places = [place for place, message in enumerate(messages) if _is_question(message)]
    start = places[-1] if places else len(messages)
    after = messages[start + 1 :]
    steps = [place for place, message in enumerate(after) if message.get("role") == "assistant"]
    last = after[steps[-1] + 1 :] if steps else []
    return Scene(
        question=_text(messages[start]) if places else "",
        steps=len(steps),
        results=tuple(_text(m) for m in last if m.get("role") == "tool"),
        all_results=tuple(_text(m) for m in after if m.get("role") == "tool"),
        tools=tools,
    )


def _is_question(message: JsonObject) -> bool:
    return message.get("role") == "user" and not _text(message).startswith("Pictures returned by")


def _result_object(scene: Scene) -> JsonObject:
    try:
        value = json.loads(scene.results[-1])
    except (ValueError, IndexError):
        return {}
    return value if isinstance(value, dict) else {}


def _weather_row(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return f"| {text[:60]} | | |"
    return f"| {value.get('city')} | {value.get('temp')} | {value.get('sky')} |"


def _tool_names(tools: Sequence[JsonValue]) -> list[str]:
    names = []
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict):
            names.append(str(function.get("name")))
    return names


def _system_text(messages: Sequence[JsonObject]) -> str:
    return "\n".join(_text(m) for m in messages if m.get("role") == "system")


def _text(message: JsonObject) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
