"""The pictures of a whole trace, fetched when they are looked at: timeline and flame.

Place in the house: ``traces``; called by views. They show the same spans as the tree and lead to
the same details.
"""

from __future__ import annotations

from dataclasses import dataclass

from traces.inspection.build import build_flame, build_timeline, page_hashes
from traces.inspection.picture_models import FlameView, TimelineView
from traces.storage import load_payloads
from traces.trace_page import LoadedTrace

PICTURES = ("timeline", "flame")


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureView:
    """One picture: its name, its template and what the template shows."""

    name: str
    template: str
    view: TimelineView | FlameView


def picture_of(loaded: LoadedTrace, name: str, *, selected: str = "") -> PictureView | None:
    """The picture of this name; ``None`` where there is none."""
    if name not in PICTURES:
        return None
    build = build_timeline if name == "timeline" else build_flame
    view = build(
        loaded.record,
        loaded.spans,
        load_payloads(page_hashes(loaded.spans)),
        now_ns=loaded.now_ns,
        selected=selected,
    )
    return PictureView(name=name, template=f"traces/_{name}.html", view=view)
