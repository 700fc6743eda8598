"""What the chat's templates show, as frozen values.

Place in the house: ``agents.chat``. Made by its neighbours, read by templates; texts are in the
reader's language, times and sizes are words already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeAlias

from django.utils.safestring import SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """A state: its stored name, a word, an icon of the sprite, the family of its colour."""

    name: str
    word: str
    icon: str
    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name with what is to be said about it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A result that is a list of flat objects."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """A picture or sound of a result. ``kind`` is ``image``, ``audio`` or ``file``."""

    kind: str
    url: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """What a call gave back. ``html`` is the text or JSON, ``table`` the same as a table."""

    html: SafeString
    text: str
    lang: str = ""
    table: TableView | None = None
    files: Sequence[FileView] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressView:
    """What a server reported. ``total`` may be missing."""

    value: str
    total: str
    label: str
    message: str
    lang: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """One tool call. ``kind`` is ``card``, or ``ask`` while it waits for a person; ``deciders`` are
    the groups who decide on it, where it is not whoever chats."""

    dom_id: str
    key: str
    kind: str
    state: StateView
    server: str
    tool: str
    argument: str
    argument_lang: str
    duration: str
    size: str
    attempt: str
    is_open: bool
    can_stop: bool
    elapsed_ms: int | None
    arguments: SafeString
    raw_arguments: str
    fields: Sequence[Fact]
    result: ResultView | None
    reason: str
    facts: Sequence[Fact]
    rule: str
    progress: ProgressView | None
    deciders: str = ""

    @property
    def run(self) -> str:
        """The run that the call belongs to."""
        return self.key.partition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Something the assistant said, rendered. ``mark`` says where it came from, if not simply
    from the assistant's first model; ``reasons`` why others did not answer."""

    template: ClassVar[str] = "agents/_text.html"
    html: SafeString
    lang: str
    mark: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteBlock:
    """A line between blocks: ``letter`` and ``kind`` are those of the span kinds."""

    template: ClassVar[str] = "agents/_note.html"
    letter: str
    kind: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryBlock:
    """The line where older messages were folded; it opens to what the model gets instead."""

    template: ClassVar[str] = "agents/_summary.html"
    dom_id: str
    title: str
    html: SafeString
    lang: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchView:
    """The calls of one answer. ``is_group``: several, all answered, folded under one line."""

    template: ClassVar[str] = "agents/_batch.html"
    dom_id: str
    cards: Sequence[CardView]
    is_group: bool
    is_open: bool
    has_bad: bool
    title: str
    names: str
    outcome: StateView | None
    duration: str


Block: TypeAlias = "TextBlock | NoteBlock | SummaryBlock | BatchView"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveText:
    """The text that is being written. ``length`` counts characters (code points)."""

    dom_id: str
    text: str
    length: int
    lang: str
    is_thinking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One turn of a run."""

    dom_id: str
    node: str
    title: str
    is_now: bool
    is_fallback: bool
    blocks: Sequence[Block]
    live: LiveText | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingView:
    """The one line that says how a run ended. ``say`` is what the button ``button`` sends."""

    strong: str
    text: str
    detail: str
    letter: str = ""
    state: StateView | None = None
    is_bad: bool = False
    button: str = ""
    say: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessageView:
    """What a person said."""

    template: ClassVar[str] = "agents/_user_message.html"
    dom_id: str
    text: str
    lang: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run with its turns."""

    template: ClassVar[str] = "agents/_run.html"
    dom_id: str
    id: str
    is_live: bool
    steps: Sequence[StepView]
    ending: EndingView | None


LogItem: TypeAlias = "UserMessageView | RunView"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """The line above the composer while a run is going on."""

    state: StateView
    strong: str
    text: str
    elapsed_ms: int
    is_stopping: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedView:
    """A message that waits; ``place`` says for how many runs where its conversation is idle."""

    run_id: str
    text: str
    lang: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationEntry:
    """A conversation in the list. ``state`` is that of its last run, where it says something."""

    id: str
    dom_id: str
    title: str
    lang: str
    detail: str
    at: datetime
    state: StateView | None
    is_pinned: bool
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryGroup:
    """Conversations under one heading."""

    title: str
    entries: Sequence[ConversationEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLine:
    """A server of an assistant: how many tools are used, and whether it answered last time."""

    name: str
    tools: int
    state: StateView
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A first message that is sent with one click; its text is shown if the title is another."""

    title: str
    text: str
    lang: str
    tells_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantIntro:
    """Who one talks to."""

    id: int
    name: str
    description: str
    lang: str
    model: str
    servers: Sequence[ServerLine]
    starters: Sequence[Starter]

    @property
    def tools(self) -> int:
        """How many tools its servers offer."""
        return sum(server.tools for server in self.servers)

    @property
    def down(self) -> int:
        """How many servers did not answer last time."""
        return sum(server.state.family == "s-bad" for server in self.servers)
