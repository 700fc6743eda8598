"""Lists of traces that a person keeps under a name.

Place in the house: ``traces``; called by views. A view is the query of an address: what it shows
is asked anew each time, and only of what its owner may read.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet

from traces.inspection.formats import clauses
from traces.list_page import ListPageView
from traces.models import SavedView
from traces.queries import ListFilters

MAX_VIEWS = 40
"""Views that one person keeps."""

NAME_CHARS = 60

Reader = AbstractBaseUser | AnonymousUser


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedChip:
    """One kept view: its key for removing, its name, its address."""

    key: int
    name: str
    href: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViews:
    """The views of one person. ``query`` is that of the list that is shown; ``can_save`` tells
    whether that is a view that can be kept and is not yet, ``proposal`` is a name for it in words.
    """

    chips: tuple[SavedChip, ...]
    query: str
    can_save: bool
    proposal: str


def saved_views(user: Reader, page: ListPageView) -> SavedViews:
    """What a person has kept, beside the list that is shown."""
    filters = page.filters
    query = filters.query().removeprefix("?")
    chips = tuple(
        SavedChip(key=row.pk, name=row.name, href=f"?{row.query}", is_current=row.query == query)
        for row in _own(user)
    )
    is_kept = any(chip.is_current for chip in chips)
    return SavedViews(
        chips=chips,
        query=query,
        can_save=not filters.is_empty and not is_kept,
        proposal=_proposal(page),
    )


def keep_view(user: Reader, filters: ListFilters, name: str) -> bool:
    """Keep a list; one of the same name is replaced. ``False`` where there are too many."""
    given = " ".join(name.replace("\0", " ").split())[:NAME_CHARS] or _plain_name(filters)
    own = _own(user)
    if own.count() >= MAX_VIEWS and not own.filter(name=given).exists():
        return False
    query = filters.query().removeprefix("?")
    SavedView.objects.update_or_create(user=str(user.pk), name=given, defaults={"query": query})
    return True


def drop_view(user: Reader, key: int) -> bool:
    """Take a view away; ``False`` where it is not there or somebody else's."""
    dropped, _rows = _own(user).filter(pk=key).delete()
    return bool(dropped)


def _own(user: Reader) -> QuerySet[SavedView]:
    return SavedView.objects.filter(user=str(user.pk))


def _proposal(page: ListPageView) -> str:
    """A name made of what is set, as the page says it: "Errors, last 24 hours"."""
    views = [view.text for view in page.views if view.is_current and page.filters.view]
    chips = [chip.value for chip in page.chips if chip.value]
    return clauses([*views, *chips, page.filters.words])[:NAME_CHARS]


def _plain_name(filters: ListFilters) -> str:
    """The same where no name was given at all: "errors, day"."""
    return ", ".join(filters.named().values())[:NAME_CHARS]
