"""The part of a form that asks whether names typed into it may be used.

Place in the house: ``agents.admin``. A superuser can put them on the list by a box; anybody else is
told what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.admin.numbers import NumbersForm
from agents.models import TrustedNameKind
from agents.runs.trust import SETTING_OF_KIND, NamedThing, trust, untrusted


def origin_of(url: str) -> str:
    """``scheme://host:port`` of a URL, to which its secrets belong; ``""`` where there is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname else ""


class TrustForm(NumbersForm):
    """A form whose names are checked. ``user`` is set by the admin class."""

    user: AbstractBaseUser | None = None

    trust_names = forms.BooleanField(
        required=False,
        label=gettext_lazy("Trust these names"),
        help_text=gettext_lazy(
            "Puts the local hosts, environment variables and modules that this form names on the "
            "list of trusted names."
        ),
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._to_trust: list[NamedThing] = []
        if not self._may_trust():
            self.fields.pop("trust_names", None)

    def check_names(
        self, named: Iterable[tuple[str, str]], known: Iterable[tuple[str, str]]
    ) -> None:
        """Report names that may not be used; those that the stored row had stay as they are."""
        new = [name for name in named if name not in set(known)]
        things = [NamedThing(kind=TrustedNameKind(kind), value=value) for kind, value in new]
        missing = untrusted(thing for thing in things if thing.value)
        if missing and self.cleaned_data.get("trust_names"):
            self._to_trust = missing
        elif missing:
            where = "trust_names" if "trust_names" in self.fields else None
            self.add_error(where, self._refusal(missing))

    def check_variables_go(self, names: Iterable[str], field: str) -> None:
        """Let only a superuser say to which address the values of variables are sent."""
        if self.user is not None and not self._may_trust():
            text = _("%(names)s: only a superuser may send a variable's value to another address.")
            self.add_error(field, text % {"names": ", ".join(names)})

    def keep_trust(self) -> None:
        """Put on the list what the box was ticked for."""
        name = self.user.get_username() if self.user else ""
        trust(self._to_trust, source=f"admin: {name}")

    def names_to_trust(self) -> set[str]:
        """What will be on the list once this form is saved."""
        return {thing.value for thing in self._to_trust}

    def _may_trust(self) -> bool:
        return bool(getattr(self.user, "is_superuser", False))

    def _refusal(self, missing: list[NamedThing]) -> str:
        names = ", ".join(f"{thing.value} ({thing.kind.label})" for thing in missing)
        text = _("%(names)s: not on the list of trusted names.") % {"names": names}
        if self._may_trust():
            return text + " " + _("Tick this box to put it there, then save again.")
        settings = ", ".join(dict.fromkeys(SETTING_OF_KIND[thing.kind] for thing in missing))
        advice = _("Ask a superuser to add it under Trusted names, or set %(settings)s.")
        return text + " " + advice % {"settings": settings}
