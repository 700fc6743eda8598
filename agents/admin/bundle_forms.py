"""The form that takes a configuration: files or a text.

Place in the house: ``agents.admin``.
"""

from __future__ import annotations

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.bundle.agent_settings import TOOLS_SERVER
from agents.bundle.files import SourceFiles, read_uploads
from agents.bundle.parsing import BundleUnreadable

MAX_UPLOAD_BYTES = 2_000_000


class _ManyFiles(forms.FileInput):
    """A choice of several files."""

    allow_multiple_selected = True


class ImportForm(forms.Form):
    """One or several files, or a pasted text. ``source_files`` is there when it is valid."""

    text = forms.CharField(
        required=False,
        strip=False,
        label=gettext_lazy("Or its text"),
        help_text=gettext_lazy("A bundle as JSON or YAML, settings.json or config.toml."),
        widget=forms.Textarea(attrs={"rows": 8, "class": "mono", "spellcheck": "false"}),
    )
    files = forms.Field(
        required=False,
        label=gettext_lazy("Files"),
        help_text=gettext_lazy(
            "A bundle, a zip of Yao's files (package.yao, prompts.yml, mcps), or settings.json and "
            "config.toml together."
        ),
        widget=_ManyFiles(attrs={"multiple": True}),
    )
    tools_server = forms.CharField(
        required=False,
        initial=TOOLS_SERVER,
        max_length=64,
        label=gettext_lazy("Server of the tools"),
        help_text=gettext_lazy(
            "For config.toml, which names tools and no server: the id of the server that has them."
        ),
    )
    field_order = ("files", "text", "tools_server")
    source_files: SourceFiles

    def clean(self) -> dict[str, object]:
        """Read what was given. Exactly one of files and text is expected."""
        cleaned = super().clean() or {}
        uploads = [f for f in self.files.getlist("files") if isinstance(f, UploadedFile)]
        text = str(cleaned.get("text") or "")
        if bool(uploads) == bool(text.strip()):
            came = _("both") if uploads else _("nothing")
            words = _("Choose files or paste a text: expected one of the two, got %(came)s.")
            raise forms.ValidationError(words % {"came": came})
        if sum(upload.size or 0 for upload in uploads) > MAX_UPLOAD_BYTES:
            words = _("Expected at most %(n)s bytes, got more: use the command import_config.")
            raise forms.ValidationError(words % {"n": f"{MAX_UPLOAD_BYTES:,}"})
        try:
            self.source_files = (
                read_uploads([(upload.name or "file", upload.read()) for upload in uploads])
                if uploads
                else SourceFiles(name="", texts={"": text})
            )
        except BundleUnreadable as error:
            raise forms.ValidationError(str(error)) from error
        return cleaned

    def server_of_tools(self) -> str:
        """The server that was named, ``tools`` where none was."""
        return str(self.cleaned_data.get("tools_server") or TOOLS_SERVER).strip()
