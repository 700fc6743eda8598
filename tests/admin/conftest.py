"""An operator, a member of staff who is none, and their browsers."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client


@pytest.fixture
def operator(db: None) -> Client:
    """The browser of a superuser."""
    return browser_of(User.objects.create_superuser("operator"))


@pytest.fixture
def staff(db: None) -> Client:
    """The browser of a person who may do everything with agents, and is no superuser."""
    person = User.objects.create_user("staff", is_staff=True)
    rights = Permission.objects.filter(content_type__app_label="agents")
    person.user_permissions.set(rights)
    return browser_of(person)


@pytest.fixture
def reader(db: None) -> Client:
    """The browser of a person who may only look."""
    person = User.objects.create_user("reader", is_staff=True)
    rights = Permission.objects.filter(
        content_type__app_label="agents", codename__startswith="view_"
    )
    person.user_permissions.set(rights)
    return browser_of(person)


def browser_of(person: User) -> Client:
    """A client that is logged in."""
    client = Client()
    client.force_login(person)
    return client
