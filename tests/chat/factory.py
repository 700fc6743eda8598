"""Stored conversations in every state, and live runs beside them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.utils import timezone

from agents.loop.messages import JsonObject
from agents.loop.results import Outcome
from agents.models import (
    Assistant,
    AssistantServer,
    Conversation,
    Message,
    Provider,
    Run,
    RunStatus,
    Server,
    Tool,
)
from agents.runs.live import LiveBar, LiveCall, LiveRun

LIMITS: JsonObject = {
    "max_turn": 5,
    "run_timeout_seconds": 600,
    "tool_timeout_seconds": 30,
    "tool_max_seconds": 120,
    "parameter_attempts": 3,
    "max_run_tokens": None,
    "max_consecutive_errors": 3,
}


def make_user(name: str = "mira", password: str | None = None, **more: object) -> User:
    """A person; without a password (hashing one takes its time) only tests can log them in."""
    return get_user_model().objects.create_user(name, password=password, **more)


def make_assistant(name: str = "Travel desk") -> Assistant:
    """An assistant with two servers, one of them down, and starters of both kinds."""
    provider, _ = Provider.objects.get_or_create(
        provider_id="local",
        defaults={"base_url": "http://127.0.0.1:9", "default_model": "qwen3-32b"},
    )
    assistant = Assistant.objects.create(
        assistant_id=name.lower().replace(" ", "-"),
        name=name,
        description="Weather, clothes and routes for people who travel.",
        provider=provider,
        starters=[
            "What is the weather in Oslo?",
            {
                "title": "Pack for three cities",
                "text": "What do I pack for Beijing, Oslo and Lima?",
            },
            "北京今天适合穿什么?",
            {"title": "broken"},
        ],
    )
    for position, (server_id, tools) in enumerate(
        {"weather": ["get", "forecast", "history"], "memory": ["memory_write"]}.items()
    ):
        server, _ = Server.objects.get_or_create(
            server_id=server_id,
            defaults={
                "transport": "python",
                "module": f"demo.{server_id}",
                "checked_at": timezone.now(),
                "last_error": "connection refused" if server_id == "memory" else "",
            },
        )
        for place, tool in enumerate(tools):
            Tool.objects.get_or_create(
                server=server,
                name=tool,
                defaults={
                    "position": place,
                    "definition_hash": "0" * 64,
                    "first_seen": timezone.now(),
                    "last_seen": timezone.now(),
                },
            )
        AssistantServer.objects.create(assistant=assistant, server=server, position=position)
    return assistant


class Talk:
    """A conversation that is written row by row, each a second after the last."""

    def __init__(self, user: User, assistant: Assistant, title: str = "", **more: object) -> None:
        self.conversation = Conversation.objects.create(
            user=user, assistant=assistant, title=title, **more
        )
        self.at = timezone.now() - timedelta(minutes=30)
        self.run: Run | None = None
        self.parent: Message | None = None

    def ask(self, text: str, status: str = RunStatus.RUNNING, **more: object) -> Run:
        """A user message with its run."""
        self._pass(20)
        self.run = Run.objects.create(
            conversation=self.conversation,
            assistant=self.conversation.assistant,
            user=self.conversation.user,
            trace_id="t" * 32,
            status=status,
            started_at=self.at,
            configuration={
                "model": "qwen3-32b",
                "limits": LIMITS,
                "approval": {"memory.memory_write": "ask"},
                "servers": [
                    {"server_id": "weather", "allowed_tools": None},
                    {"server_id": "memory", "allowed_tools": ["memory_write"]},
                ],
            },
            **more,
        )
        message = self._add(role="user", content=text)
        Run.objects.filter(pk=self.run.pk).update(message=message)
        self.run.refresh_from_db()
        return self.run

    def say(self, text: str, **more: object) -> Message:
        """The run's answer, or a part of one."""
        self._pass(1.4)
        return self._add(role="assistant", content=text, **more)

    def call(
        self,
        *calls: tuple[str, object],
        text: str = "",
        turn: str = "0",
        attempt: int = 1,
    ) -> list[str]:
        """An assistant message with calls ``(flat name, arguments)``; their keys."""
        self._pass(1.4)
        assert self.run is not None
        keys = [f"{self.run.pk}:{turn}:{attempt}:{place}" for place in range(len(calls))]
        stored = [
            {
                "id": f"call_{place}",
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                "key": keys[place],
                "extra": {},
            }
            for place, (name, arguments) in enumerate(calls)
        ]
        self._add(role="assistant", content=text, turn=turn, tool_calls=stored)
        return keys

    def result(
        self,
        key: str,
        text: str = "",
        *,
        outcome: str = Outcome.OK,
        tool: str = "weather / get",
        milliseconds: float = 840,
        arguments: object = None,
        **details: object,
    ) -> Message:
        """The result of a call."""
        self._pass(milliseconds / 1000)
        server, _, name = tool.partition(" / ")
        return self._add(
            role="tool",
            content=text,
            turn=key.split(":")[1],
            tool_call_id=f"call_{key.split(':')[3]}",
            call_key=key,
            outcome=outcome,
            duration_ms=milliseconds,
            details={
                "server": server,
                "tool": name,
                "arguments": arguments,
                "chars": len(text),
                "error": "",
                "truncated": False,
                "kept": False,
                "correctable": False,
                "attempt": int(key.split(":")[2]),
                **details,
            },
        )

    def finish(
        self, status: str = RunStatus.COMPLETED, reason: str = "answered", **more: object
    ) -> None:
        """The run's end."""
        assert self.run is not None
        self._pass(0.2)
        Run.objects.filter(pk=self.run.pk).update(
            status=status, stop_reason=reason, finished_at=self.at, **more
        )

    def queue(self, text: str) -> Run:
        """A message that waits."""
        message = Message.objects.create(
            conversation=self.conversation, role="user", content=text, is_waiting=True
        )
        return Run.objects.create(
            conversation=self.conversation,
            assistant=self.conversation.assistant,
            user=self.conversation.user,
            message=message,
            trace_id="q" * 32,
        )

    def _pass(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def _add(self, **fields: object) -> Message:
        run = fields.pop("run", self.run)
        message = Message.objects.create(
            conversation=self.conversation, run=run, parent=self.parent, **fields
        )
        Message.objects.filter(pk=message.pk).update(created_at=self.at)
        self.parent = message
        Conversation.objects.filter(pk=self.conversation.pk).update(leaf=message)
        return message


def three_cities(talk: Talk) -> None:
    """A run with a failed call, a parameter retry, a cut result, ended by the fallback."""
    talk.ask(
        "I fly Beijing, Oslo, Lima next week. What is the weather in each, and do I need the heavy "
        "coat?"
    )
    cities = ("Beijing", "Oslo")
    keys = talk.call(
        *[("weather_get", {"city": city}) for city in cities],
        ("weather_get", {"town": "Lima"}),
        text="I will look up all three cities.",
    )
    for key, city in zip(keys, cities, strict=False):
        talk.result(key, json.dumps({"city": city, "temp": 5}), arguments={"city": city})
    talk.result(
        keys[2],
        "Error: /city is required",
        outcome=Outcome.INVALID_ARGUMENTS,
        arguments={"town": "Lima"},
        milliseconds=0,
        error="/city is required; the model wrote town.",
        correctable=True,
    )
    [again] = talk.call(("weather_get", {"city": "Lima"}), attempt=2)
    talk.result(
        again,
        "Error: connection to station feed 84628 refused",
        outcome=Outcome.TOOL_ERROR,
        arguments={"city": "Lima"},
        milliseconds=2480,
    )
    keys = talk.call(
        ("weather_forecast", {"city": "Lima"}),
        ("weather_history", {"month": 12}),
        text="The station in Lima does not answer. I will use the forecast and past Decembers.",
        turn="1",
    )
    talk.result(keys[0], "18 to 25 °C", tool="weather / forecast", arguments={"city": "Lima"})
    rows = [{"year": 2000 + n, "low": n, "high": n + 7} for n in range(12)]
    talk.result(
        keys[1],
        json.dumps(rows),
        tool="weather / history",
        arguments={"month": 12},
        milliseconds=2740,
        truncated=True,
        chars=18_204,
    )
    talk.say(
        "Yes, take the heavy coat. Beijing and Oslo need it; Lima does not.\n\n"
        "| City | Next week | Wear |\n| --- | --- | --- |\n"
        "| Beijing | −3 to 5 °C, strong wind | heavy coat, hat |\n"
        "| Oslo | −8 to −1 °C, snow | heavy coat, boots |\n"
        "| Lima | 18 to 25 °C, past Decembers | shirt, light jacket at night |\n\n"
        "I could not reach the live station in Lima, so its row comes from earlier years.\n\n"
        "```python\ndef coat(low: int) -> bool:\n    return low < 5  # heavy\n```\n",
        level=2,
    )
    talk.finish(reason="max_turns", level=2, turns=5, input_tokens=9120, output_tokens=640)


def every_state(talk: Talk) -> None:
    """A run with one call of every stored outcome."""
    talk.ask("Show every state.")
    outcomes: Sequence[Outcome] = list(Outcome)
    keys = talk.call(*[("weather_get", {"city": "Oslo"}) for _ in outcomes])
    for key, outcome in zip(keys, outcomes, strict=True):
        talk.result(
            key,
            f"the result of {outcome}",
            outcome=outcome,
            arguments={"city": "Oslo"},
            error="" if outcome is Outcome.OK else f"why it was {outcome}",
        )
    talk.say("That was all.", level=1)
    talk.finish(level=1, turns=1)


def running_talk(talk: Talk) -> LiveRun:
    """A run that is going on: one call done, one running with progress, one waits for a person."""
    talk.at = timezone.now() - timedelta(seconds=28)
    run = talk.ask("北京今天适合穿什么?")
    [first] = talk.call(("weather_get", {"city": "北京"}), text="我先看看北京今天的天气。")
    talk.result(first, '{"temp": 5, "wind": "大"}', arguments={"city": "北京"}, milliseconds=810)
    advise, write = talk.call(
        ("clothing_advise", {"temp": 5, "wind": "大"}),
        ("memory_memory_write", {"path": "notes/preferences.md", "text": "用户常住北京，怕冷。"}),
        text="现在 5 ℃，风大。我再查一下穿衣建议，顺便把你的偏好记下来。",
        turn="1",
    )
    return live_run(run, advise, write)


def live_run(run: Run, running: str, waiting: str) -> LiveRun:
    """The live side of ``running_talk``."""
    now = time.time_ns()
    begin = now - 6_400_000_000
    live = LiveRun(
        run=run.pk,
        conversation=run.conversation_id,
        limits=LIMITS,
        started_ns=begin,
        turn="1",
        input_tokens=10_130,
        output_tokens=118,
        offered=12,
        left_out=9,
    )
    live.calls[running] = LiveCall(
        key=running, turn="1", attempt=1, server="clothing", tool="advise", name="clothing_advise",
        arguments={"temp": 5, "wind": "大"}, started_ns=now - 2_800_000_000,
        progress=2, total=3, message="正在比较 3 套搭配",
    )  # fmt: skip
    live.calls[waiting] = LiveCall(
        key=waiting, turn="1", attempt=1, server="memory", tool="memory_write",
        name="memory_memory_write", state="awaiting_approval", started_ns=now - 2_800_000_000,
        arguments={"path": "notes/preferences.md", "text": "用户常住北京，怕冷，出门偏好厚外套。"},
    )  # fmt: skip
    pieces = (
        ("P", "", "0", 0, 40, ""),
        ("M", "qwen3-32b", "0", 50, 1420, ""),
        ("C", "weather / get", "0", 1430, 2240, "first"),
        ("M", "qwen3-32b", "1", 2250, 3600, ""),
        ("C", "clothing / advise", "1", 3610, None, running),
        ("C", "memory / memory_write", "1", 3610, None, waiting),
    )
    live.bars += [
        LiveBar(
            kind=kind, label=label, turn=turn, key=key, is_waiting=key == waiting,
            started_ns=begin + start * 1_000_000,
            ended_ns=None if end is None else begin + end * 1_000_000,
        )
        for kind, label, turn, start, end, key in pieces
    ]  # fmt: skip
    return live
