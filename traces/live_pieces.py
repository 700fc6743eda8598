"""The pieces of a trace's page as HTML, and which of them are new to one browser.

Place in the house: ``traces``; called by the socket in the thread of the database. Made by the
page's own templates, so that a page that was open and one that was loaded look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.template.loader import render_to_string
from django.utils import translation

from traces.inspection.view_models import LineView, PageView, RowView
from traces.line_html import line_html
from traces.records import SpanRecord
from traces.trace_page import LoadedTrace, find_trace, page_of

PIECES = ("_verdict", "_rail", "_axis", "_grid")
MAX_OPENED = 2000
"""Rows of one browser that are kept open."""

STAYS_OPEN = 1500
"""Lines of a growing trace up to which turns stay open when they have ended."""

IDS = {"_verdict": "verdict", "_rail": "rail", "_axis": "axis", "_grid": "grid"}


@dataclass(slots=True, kw_only=True)
class Watched:
    """What one browser has of a trace: the texts that were sent, the spans as they were then, and
    the rows that are open in it."""

    trace_id: str
    language: str
    selected: str = ""
    sent: dict[str, str] = field(default_factory=dict)
    spans: dict[str, SpanRecord] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)

    def open(self, rows: Iterable[object]) -> None:
        """Keep these rows open; of very many no more are kept."""
        for row in rows:
            if len(self.opened) < MAX_OPENED:
                self.opened.add(str(row)[:17])


def fresh_pieces(watched: Watched) -> dict[str, object] | None:
    """The message for a browser with what is new to it; ``None`` where the trace is gone.

    ``{"type": "trace", "pieces": [{"id", "html"}], "lines": [[id, html or None]], "changed":
    [span ids], "running": bool}``; ``lines`` are all lines of the tree in order.
    """
    loaded = find_trace(watched.trace_id)
    if loaded is None:
        return None
    with translation.override(watched.language):
        page = page_of(loaded, selected=watched.selected, opened=watched.opened)
        pieces = [_piece(watched, name, page) for name in PIECES]
        lines = [_line(watched, line) for line in page.tree.lines]
    _forget_folded(watched, lines)
    if len(lines) <= STAYS_OPEN:
        # What the reader has before the eyes does not close when the next turn begins.
        watched.open(line.row.id for line in page.tree.lines if line.row and _is_open(line.row))
    return {
        "type": "trace",
        "pieces": [piece for piece in pieces if piece is not None],
        "lines": lines,
        "changed": _changed(watched, loaded),
        "running": loaded.is_running,
    }


def _piece(watched: Watched, name: str, page: PageView) -> dict[str, str] | None:
    html = render_to_string(f"traces/{name}.html", {"page": page})
    key = IDS[name]
    if watched.sent.get(key) == html:
        return None
    watched.sent[key] = html
    return {"id": key, "html": html}


def _line(watched: Watched, line: LineView) -> tuple[str, str | None]:
    key = f"row-{line.row.id}" if line.row is not None else line.sentence.id  # type: ignore[union-attr]
    html = line_html(line)
    if watched.sent.get(key) == html:
        return key, None
    watched.sent[key] = html
    return key, html


def _forget_folded(watched: Watched, lines: Sequence[tuple[str, str | None]]) -> None:
    """Forget lines that the browser has no more, so that they are sent when they come back."""
    kept = {key for key, _html in lines} | set(IDS.values())
    watched.sent = {key: html for key, html in watched.sent.items() if key in kept}


def _is_open(row: RowView) -> bool:
    return row.has_children and not row.hidden and row.kind.name in ("turn", "fallback")


def _changed(watched: Watched, loaded: LoadedTrace) -> list[str]:
    """The spans that are not as they were."""
    known = watched.spans
    changed = [span.id for span in loaded.spans if known.get(span.id) != span]
    watched.spans = {span.id: span for span in loaded.spans}
    return changed
