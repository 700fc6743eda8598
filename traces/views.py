"""The pages of the traces: the list, one trace, and the pieces of it that are fetched.

Place in the house: ``traces``. A view parses, calls one thing, renders; who may read what comes
from ``traces.access``. What is not there, and what is not the reader's, is 404 alike.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from traces.access import readable_traces
from traces.exports import FORMATS
from traces.inspection.marks import kind_view
from traces.line_html import lines_html
from traces.list_page import fresh_rows, list_page
from traces.models import Span, SpanKind
from traces.pictures import PICTURES, picture_of
from traces.saved_views import saved_views
from traces.trace_page import (
    PANELS_WITH_PAGE,
    LoadedTrace,
    branch_of,
    find_trace,
    page_of,
    panels_of,
    selected_span,
)


@login_required
@require_GET
def trace_list(request: HttpRequest) -> HttpResponse:
    """The list of traces, narrowed and paged by its address."""
    page = list_page(request.user, request.GET)
    saved = saved_views(request.user, page)
    context = {"section": "traces", "page": page, "saved": saved}
    return render(request, "traces/list.html", context)


@login_required
@require_GET
def trace_rows(request: HttpRequest) -> JsonResponse:
    """Rows as they are now: ``{"rows": [{"id", "html"}], "newer": 2, "text": "..."}``."""
    rows, newer, text = fresh_rows(request.user, request.GET)
    found = [
        {"id": f"trace-{row.id}", "html": render_to_string("traces/_list_row.html", {"row": row})}
        for row in rows
    ]
    return JsonResponse({"rows": found, "newer": newer, "text": text})


@login_required
@require_GET
def trace(request: HttpRequest, trace_id: str) -> HttpResponse:
    """The page of one trace; ``turn``, ``span`` and ``tab`` say what is selected, ``view`` what is
    shown instead of the tree: ``ledger``, ``timeline`` or ``flame``."""
    loaded = _loaded(request, trace_id)
    if loaded is None:
        return _gone(request)
    asked = {name: request.GET.get(name, "") for name in ("span", "turn", "tab", "view")}
    page = page_of(loaded, selected=asked["span"], turn=asked["turn"])
    view = asked["view"] if asked["view"] in ("ledger", *PICTURES) else "tree"
    is_small = len(loaded.spans) <= PANELS_WITH_PAGE
    context = {
        "section": "traces",
        "page": page,
        "record": loaded.record,
        "selected": selected_span(loaded, page.selected, asked["tab"]),
        "panels": panels_of(loaded) if is_small or view == "ledger" else None,
        "view": view,
        "picture": picture_of(loaded, asked["view"], selected=page.selected),
        "is_own": loaded.record.user == str(request.user.pk),
        "exports": FORMATS,
        "kinds": [kind_view(kind) for kind in SpanKind.values],
    }
    return render(request, "traces/trace.html", context)


@login_required
@require_GET
def span(request: HttpRequest, trace_id: str, span_id: str) -> HttpResponse:
    """The details of one span; ``tab`` says which."""
    loaded = _loaded(request, trace_id)
    found = selected_span(loaded, span_id, request.GET.get("tab", "")) if loaded else None
    if found is None:
        return HttpResponseNotFound(_("There is no such span."), content_type="text/plain")
    return render(request, "traces/_detail.html", {"selected": found})


@login_required
@require_GET
def branch(request: HttpRequest, trace_id: str, span_id: str) -> HttpResponse:
    """The rows of the tree below one that was folded; with ``deep=1`` down to the last one."""
    loaded = _loaded(request, trace_id)
    if loaded is None:
        return HttpResponseNotFound(_("There is no such trace."), content_type="text/plain")
    return HttpResponse(lines_html(branch_of(loaded, span_id, deep=request.GET.get("deep") == "1")))


@login_required
@require_GET
def panels(request: HttpRequest, trace_id: str) -> HttpResponse:
    """Context growth and the cards below, as they are now; with ``ledger=1`` the ledger too."""
    loaded = _loaded(request, trace_id)
    if loaded is None:
        return HttpResponseNotFound(_("There is no such trace."), content_type="text/plain")
    has_ledger = request.GET.get("ledger") == "1"
    context = {"panels": panels_of(loaded, has_ledger=has_ledger), "has_ledger": has_ledger}
    return render(request, "traces/_panels.html", context)


@login_required
@require_GET
def trace_of_run(request: HttpRequest, run_id: str) -> HttpResponse:
    """Lead from a run, or from one of its calls (``call`` is the call's key), into its trace."""
    spans = Span.objects.filter(run=run_id, trace__in=readable_traces(request.user))
    agent = spans.filter(kind=SpanKind.AGENT).first()
    if agent is None:
        return _gone(request)
    key = request.GET.get("call", "")
    query = ""
    for candidate in spans.filter(kind=SpanKind.TOOL_CALL) if key else ():
        if candidate.attributes.get("toolloop.call.key") == key:
            query = "?" + urlencode({"turn": candidate.turn, "span": candidate.pk})
    if not query and agent.parent:
        query = "?" + urlencode({"span": agent.pk})
    return redirect(reverse("trace", args=[agent.trace_id]) + query)


def _loaded(request: HttpRequest, trace_id: str) -> LoadedTrace | None:
    """The trace, if there is one and this person may read it."""
    if not readable_traces(request.user).filter(pk=trace_id).exists():
        return None
    return find_trace(trace_id)


def _gone(request: HttpRequest) -> HttpResponse:
    return render(request, "traces/gone.html", {"section": "traces"}, status=404)
