"""What the pages of the traces ask for beside their own pieces: pictures, exports, saved views.

Place in the house: ``traces``. Who may read what comes from ``traces.access``.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseNotFound,
    QueryDict,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from traces.access import readable_traces
from traces.exports import export_format, file_name
from traces.pictures import picture_of
from traces.queries import read_filters
from traces.saved_views import MAX_VIEWS, drop_view, keep_view
from traces.trace_page import find_trace

QUERY_CHARS = 200
"""How much of a query a refusal repeats."""


@login_required
@require_GET
def export(request: HttpRequest, trace_id: str, name: str) -> HttpResponse:
    """A trace as a file in one of the formats; ``content=0`` leaves out all texts."""
    chosen = export_format(name)
    found = readable_traces(request.user).filter(pk=trace_id).first()
    if chosen is None or found is None:
        return HttpResponseNotFound(_("There is no such trace."), content_type="text/plain")
    has_content = request.GET.get("content") != "0"
    if not has_content and not chosen.can_leave_out:
        text = _("This format is made of texts: there is nothing of it without them.")
        return HttpResponseBadRequest(text, content_type="text/plain; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{file_name(found, chosen)}"'}
    return HttpResponse(
        chosen.make(found, has_content), content_type=chosen.content_type, headers=headers
    )


@login_required
@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    """Keep the list that ``query`` asks for under a ``name``, and show it."""
    query = request.POST.get("query", "").removeprefix("?")
    filters = read_filters(QueryDict(query))
    text = ""
    if filters.is_empty:
        text = _(
            "A view holds at least one filter, for example status=failed; “%(query)s” holds none."
        ) % {"query": query[:QUERY_CHARS]}
    elif not keep_view(request.user, filters, request.POST.get("name", "")):
        text = _("There are %(n)d saved views already: remove one of them first.") % {
            "n": MAX_VIEWS
        }
    if text:
        return HttpResponseBadRequest(text, content_type="text/plain; charset=utf-8")
    return redirect(reverse("traces") + filters.query())


@login_required
@require_POST
def remove_view(request: HttpRequest, key: int) -> HttpResponse:
    """Take a view of one's own away, and go back to the list."""
    if not drop_view(request.user, key):
        return HttpResponseNotFound(_("There is no such view."), content_type="text/plain")
    filters = read_filters(QueryDict(request.POST.get("query", "")))
    return redirect(reverse("traces") + filters.query())


@login_required
@require_GET
def picture(request: HttpRequest, trace_id: str, name: str) -> HttpResponse:
    """The timeline or the flame of a trace; ``span`` is the one that is selected."""
    is_readable = readable_traces(request.user).filter(pk=trace_id).exists()
    loaded = find_trace(trace_id) if is_readable else None
    found = picture_of(loaded, name, selected=request.GET.get("span", "")) if loaded else None
    if found is None:
        return HttpResponseNotFound(_("There is no such trace."), content_type="text/plain")
    return render(request, found.template, {"picture": found.view})
