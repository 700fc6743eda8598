"""The page "Import and export": a configuration is looked at before anything is stored.

Place in the house: ``agents.admin``. Superusers only: a bundle holds commands and trusted names.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from agents.admin.bundle_forms import ImportForm
from agents.admin.bundle_view import finding_views, plan_view
from agents.admin.sealed_sources import SealedSource, seal, unseal
from agents.bundle.changes import CREATED, UNCHANGED, ItemChange
from agents.bundle.exporting import bundle_text, export_bundle
from agents.bundle.importing import ImportOutcome, import_value, preview_value
from agents.bundle.parsing import BundleUnreadable
from agents.bundle.report import Report
from agents.bundle.sources import Source, read_source
from agents.encryption import DecryptionFailed
from agents.models import Assistant, GlobalPrompt, Provider, Server

TEMPLATE = "admin/bundle.html"
FORMATS = {"json": "application/json", "yaml": "application/yaml"}
_LOGGED_CHARS = 1000

View = Callable[..., HttpResponse]


def _for_superusers(view: View) -> View:
    """A page of the admin that others are refused."""

    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_superuser:
            raise PermissionDenied
        try:
            return view(request, *args, **kwargs)
        except DecryptionFailed as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(reverse("admin:bundle"))

    return admin.site.admin_view(never_cache(guarded))  # type: ignore[no-any-return]


@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """The page; posted, what the files would change, or the import of what was looked at."""
    if request.method != "POST":
        return _page(request, form=ImportForm())
    if "sealed" in request.POST:
        return _import(request)
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, form=form)
    sealed = SealedSource(
        files=form.source_files, tools_server=form.server_of_tools(), fingerprint=""
    )
    try:
        return _preview(request, sealed)
    except BundleUnreadable as error:
        form.add_error(None, str(error))
        return _page(request, form=form)


@require_GET
def export(request: HttpRequest, file_format: str) -> HttpResponse:
    """The configuration as a file to keep, without secrets."""
    bundle, _notes = export_bundle()
    text = bundle_text(bundle, as_yaml=file_format == "yaml")
    response = HttpResponse(text, content_type=f"{FORMATS[file_format]}; charset=utf-8")
    name = f"toolloop-{timezone.localdate().isoformat()}.{file_format}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _preview(
    request: HttpRequest, sealed: SealedSource, *, told: str = "", refusals: tuple[str, ...] = ()
) -> HttpResponse:
    """What would change. ``told`` says why it is shown again. Raises ``BundleUnreadable``."""
    source, report = _read(sealed)
    outcome = preview_value(source.value, report)
    view = plan_view(outcome.plan)
    text = ""
    if not outcome.faults and not view.is_empty:
        shown = SealedSource(
            files=sealed.files, tools_server=sealed.tools_server,
            fingerprint=outcome.plan.fingerprint,
        )  # fmt: skip
        text = seal(shown, user_id=request.user.pk)
    context = {
        "faults": finding_views(outcome.faults, source.value),
        "warnings": finding_views(outcome.warnings, source.value),
        "view": view,
        "kind": source.kind,
        "file_name": sealed.files.name or _("the pasted text"),
        "sealed": text,
        "is_too_long": not text and not outcome.faults and not view.is_empty,
        "told": told,
        "refusals": refusals,
        "ticked": [name for name in ("trust", "commands") if name in request.POST],
    }
    return _page(request, **context)


def _import(request: HttpRequest) -> HttpResponse:
    """Import what was looked at, if it still is what would change and all boxes are ticked."""
    sealed = unseal(request.POST["sealed"], user_id=request.user.pk)
    if sealed is None:
        messages.error(request, _("This preview is too old or not yours: choose the files again."))
        return HttpResponseRedirect(reverse("admin:bundle"))
    source, report = _read(sealed)
    refusals = _refusals(request, preview_value(source.value, report))
    if refusals:
        return _preview(request, sealed, refusals=refusals)
    source, report = _read(sealed)
    outcome = import_value(
        source.value,
        report,
        source=f"admin: {request.user.get_username()}",
        expected=sealed.fingerprint,
        by=request.user.get_username(),
    )
    if outcome.is_stale or outcome.faults:
        text = _("The configuration was changed in the meantime: look again at what would change.")
        return _preview(request, sealed, told=text)
    _log(request, outcome)
    messages.success(request, _("Imported: %(what)s.") % {"what": plan_view(outcome.plan).summary})
    return HttpResponseRedirect(reverse("admin:bundle"))


def _read(sealed: SealedSource) -> tuple[Source, Report]:
    report = Report()
    return read_source(sealed.files, report, tools_server=sealed.tools_server), report


def _refusals(request: HttpRequest, outcome: ImportOutcome) -> tuple[str, ...]:
    """What has to be ticked first."""
    view = plan_view(outcome.plan)
    texts = []
    if view.commands and "commands" not in request.POST:
        texts.append(_("Commands run on this machine: read them and tick the box."))
    if view.untrusted and "trust" not in request.POST:
        texts.append(
            _("Names are not on the list of trusted names: tick the box to put them there.")
        )
    return tuple(texts)


def _page(request: HttpRequest, **context: object) -> HttpResponse:
    try:
        _bundle, notes = export_bundle()
    except DecryptionFailed as error:
        notes = [str(error)]
    return render(
        request,
        TEMPLATE,
        {
            **admin.site.each_context(request),
            "title": _("Import and export"),
            "notes": notes,
            "formats": tuple(FORMATS),
            **context,
        },
    )


def _log(request: HttpRequest, outcome: ImportOutcome) -> None:
    """An entry in the history of each item that changed."""
    for item in outcome.plan.items:
        if item.change == UNCHANGED:
            continue
        names = ", ".join(field.path for field in item.fields)
        LogEntry.objects.log_actions(
            request.user.pk,
            _rows(item),
            ADDITION if item.change == CREATED else CHANGE,
            f"import: {names}"[:_LOGGED_CHARS],
        )


def _rows(item: ItemChange) -> object:
    match item.kind:
        case "provider":
            return Provider.objects.filter(provider_id=item.item_id)
        case "server":
            return Server.objects.filter(server_id=item.item_id).defer("env", "headers")
        case "assistant":
            return Assistant.objects.filter(assistant_id=item.item_id)
    return GlobalPrompt.objects.all()


admin.site.add_pages(
    [
        path("bundle/", _for_superusers(show), name="bundle"),
        *[
            path(
                f"bundle/export.{name}",
                _for_superusers(export),
                {"file_format": name},
                name=f"bundle_{name}",
            )
            for name in FORMATS
        ],
    ]
)
