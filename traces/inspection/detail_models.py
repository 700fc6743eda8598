"""What the right side of the inspector shows of one selected span, as ready-to-print values.

Place in the house: ``traces.inspection``, at the bottom beside ``view_models``. A tab is there
where its field is not ``None``; ``tabs`` lists them in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from traces.inspection.view_models import KindView, LinkView, StateView


@dataclass(frozen=True, slots=True, kw_only=True)
class TabView:
    """A tab. ``key`` is ``summary``, ``messages``, ``call``, ``schema`` or ``policy``; ``badge`` a
    short number beside the label ("+2"), or empty."""

    key: str
    label: str
    badge: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView:
    """A name and its value; ``is_code`` where the value is monospaced."""

    name: str
    text: str
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """A text that may be long: ``text`` holds its first 20,000 characters, ``length`` counts the
    whole. ``more`` says what is missing, empty where nothing is. ``lang`` is ``zh``, ``ja``,
    ``ko`` or empty. ``is_json`` where the text is JSON, indented."""

    text: str
    length: int
    is_cut: bool
    more: str
    size: str
    lang: str = ""
    is_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorView:
    """What failed: one line for people, what to do, the technical side (long, monospaced)."""

    text: str
    hint: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteView:
    """What a hook wrote into the trace; ``fields`` is one line, ``time`` counts from the trace's
    start."""

    level: str
    text: str
    fields: str
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """What a span was and how it went.

    ``sentence`` is one sentence. ``facts`` are its key numbers. ``approval`` tells who decided and
    why; ``limits`` are the limits that acted, ``history`` what was repaired before a request.
    ``returned`` are the keys that a hook returned, ``traceback`` its traceback. ``partial`` is text
    that was shown before a failure, ``answer`` the answer of a run, ``question`` the user's
    message, ``notice`` a correction notice, ``compacted`` the summary of folded messages.
    """

    sentence: str
    facts: tuple[FactView, ...]
    error: ErrorView | None
    approval: str
    limits: tuple[str, ...]
    history: tuple[str, ...]
    notes: tuple[NoteView, ...]
    returned: tuple[str, ...]
    traceback: TextView | None
    partial: TextView | None
    question: TextView | None
    answer: TextView | None
    compacted: TextView | None
    notice: TextView | None
    links: tuple[LinkView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLineView:
    """A tool call inside a message; ``span`` and ``href`` are of the call's own span, empty where
    it was never executed."""

    id: str
    name: str
    arguments: str
    span: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """One message of a request. ``number`` counts from 1 in the request.

    ``change`` is ``same``, ``added``, ``changed``, ``removed``, or empty where there is nothing to
    compare with; ``note`` says how it changed. ``tokens`` is an estimate. ``label`` names where a
    tool result comes from ("weather / get"). ``parts`` names content other than text. ``before`` is
    the text of a changed message as it was.
    """

    number: int
    role: str
    label: str
    change: str
    note: str
    text: TextView | None
    calls: tuple[CallLineView, ...]
    tool_call_id: str
    tokens: str
    parts: tuple[str, ...]
    before: TextView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesView:
    """What a request sent, beside the request before it in the same run.

    ``previous`` leads to that request, ``None`` for the first. ``counts`` is one line ("+2
    messages, 1 cut from 18,204 to 8,000 characters, tools unchanged"). ``unchanged`` counts the
    messages at the start that are the same; ``unchanged_text`` says so. ``messages`` are all of
    them (for "All"), ``changes`` those of the diff. ``tools_line`` and ``options_line`` compare
    tools and options; ``tools`` are the flat names offered. ``missing`` says that payloads are no
    longer stored.
    """

    previous: LinkView | None
    compared: str
    counts: str
    added: int
    changed: int
    removed: int
    unchanged: int
    unchanged_text: str
    messages: tuple[MessageView, ...]
    changes: tuple[MessageView, ...]
    tools: tuple[str, ...]
    tools_line: str
    options: tuple[FactView, ...]
    options_line: str
    answer: MessageView | None
    answer_facts: tuple[FactView, ...]
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """Input and output of a tool call.

    ``raw`` is what the model sent where it differs; ``result`` the whole result, ``seen`` what the
    model saw where it was cut. ``structured`` is the structured content, ``parts`` content other
    than text.
    """

    arguments: TextView | None
    raw: TextView | None
    result: TextView | None
    seen: TextView | None
    seen_line: str
    structured: TextView | None
    parts: tuple[FactView, ...]
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceView:
    """A piece of JSON text. ``css`` is ``j-k`` (key), ``j-s`` (text), ``j-n`` (number) or empty;
    ``mark`` is ``bad`` (wavy underline), ``rule`` (the marker) or empty."""

    text: str
    css: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultView:
    """One way in which arguments broke the schema: ``pointer`` (or what it is, in words, where
    ``is_pointer`` is false) and what is wrong with it; ``after`` is the mark behind it."""

    pointer: str
    text: str
    is_pointer: bool
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaView:
    """The arguments that a model sent beside the schema that it was given, with marks in both.

    Either ``faults`` are there, or ``sentence`` says that the arguments fit, or why that cannot be
    told. ``after`` says what became of a fault, ``retry`` is the mark of a retry that mended it.
    ``told`` is the error as the model got it. ``schema`` is empty where it is not known, then
    ``missing`` says why. ``more`` says what of the texts is not shown.
    """

    arguments: tuple[PieceView, ...]
    schema: tuple[PieceView, ...]
    faults: tuple[FaultView, ...]
    sentence: str
    after: str
    retry: KindView | None
    told: str
    fits: bool
    missing: str
    more: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicyView:
    """One tool of the catalog. ``found``, ``listed``, ``offered`` are ``yes``, ``stopped`` (here
    is where it ended) or ``no`` (not reached); ``called`` counts calls, which were refused where
    ``is_refused``. ``rule`` is the stored reason (``not_whitelisted``) and ``rule_text`` what it
    means; for an offered tool ``decision`` is ``allow`` or ``ask``. ``tokens`` is an estimate,
    empty where the definition is not known."""

    tool: str
    name: str
    found: str
    listed: str
    offered: str
    called: int
    is_refused: bool
    called_text: str
    decision: str
    decision_text: str
    rule: str
    rule_text: str
    detail: str
    tokens: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPolicyView:
    """One server of the catalog, and its tools. ``error`` says why it did not answer."""

    server: str
    protocol: str
    error: str
    state: StateView
    tools: tuple[ToolPolicyView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedView:
    """A call that was refused: an unknown name, a tool not allowed, a denied one."""

    name: str
    state: StateView
    text: str
    span: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStepView:
    """A step from discovered to called. ``name`` is ``discovered``, ``whitelisted``, ``offered``,
    ``called`` or ``hidden``."""

    name: str
    count: int
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """What was discovered, whitelisted, offered and called in a run, and the rule that hid each.

    ``refused_line`` is a sentence about refused calls, also where there was none.
    """

    funnel: tuple[FunnelStepView, ...]
    servers: tuple[ServerPolicyView, ...]
    refused: tuple[RefusedView, ...]
    refused_line: str
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailView:
    """One selected span. ``tab`` is the tab to open unless another is asked for."""

    span: str
    kind: KindView
    title: str
    subtitle: str
    state: StateView | None
    tabs: tuple[TabView, ...]
    tab: str
    summary: SummaryView
    messages: MessagesView | None
    call: CallView | None
    schema: SchemaView | None
    policy: PolicyView | None
