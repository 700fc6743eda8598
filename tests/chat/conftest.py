"""A person with a conversation, and a client that is logged in."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Assistant
from tests.chat.factory import Talk, make_assistant, make_user


@pytest.fixture
def owner(db: None) -> User:
    """The person whose conversations are shown."""
    return make_user()


@pytest.fixture
def assistant(db: None) -> Assistant:
    """An assistant with two servers."""
    return make_assistant()


@pytest.fixture
def talk(owner: User, assistant: Assistant) -> Talk:
    """An empty conversation of the owner."""
    return Talk(owner, assistant, "Coats")


@pytest.fixture
def page(owner: User) -> Client:
    """The owner's browser."""
    client = Client()
    client.force_login(owner)
    return client
