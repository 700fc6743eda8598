"""What the runs of one process share: open MCP servers, provider clients, observers.

Place in the house: ``agents.runs``. One per process and event loop; ``close`` ends all children.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.demo import PRACTICE_BASE_URL
from agents.loop.errors import ModelKeyRefused
from agents.loop.open_calls import OpenCalls
from agents.mcp_client.pool import ServerPool
from agents.models import new_id
from agents.runs import leases
from agents.runs.model_choices import ProviderFacts
from agents.runs.sinks import Observer, close_observers, load_observers

if TYPE_CHECKING:
    import httpx2

    from agents.providers.openai_chat import OpenAIChat


HOST = socket.gethostname()[:40].replace("/", "-")


@dataclass(slots=True, kw_only=True)
class RunResources:
    """Shared by the runs of a process. ``owner`` is the name under which it holds leases.

    ``is_ending`` is set when the process ends and its runs are about to be cancelled. ``troubled``
    are providers that failed here and have not answered since.
    """

    pool: ServerPool = field(default_factory=ServerPool)
    observers: list[Observer] = field(default_factory=load_observers)
    open_calls: OpenCalls = field(default_factory=OpenCalls)
    owner: str = field(default_factory=lambda: f"{HOST}/{os.getpid()}/{new_id()[:12]}")
    is_ending: bool = False
    troubled: set[str] = field(default_factory=set)
    _clients: dict[tuple[str, str, float, bool, bool], OpenAIChat] = field(default_factory=dict)

    def client(self, provider: ProviderFacts) -> OpenAIChat:
        """The client for a provider. Raises ``ModelKeyRefused`` where its named key is not set."""
        from agents.providers.openai_chat import OpenAIChat  # late: openai takes a second to import

        key = provider_key(provider)
        quirks = (provider.no_stream_options, provider.no_parallel_calls)
        place = (provider.base_url, key, provider.timeout_seconds, *quirks)
        if place not in self._clients:
            self._clients[place] = OpenAIChat(
                *place[:3],
                no_stream_options=provider.no_stream_options,
                no_parallel_calls=provider.no_parallel_calls,
                transport=_transport_for(provider),
            )
        return self._clients[place]

    async def close(self) -> None:
        """End connections and child processes; bounded in time."""
        await self.pool.close()
        await close_observers(self.observers)
        for client in self._clients.values():
            await client.close()
        self._clients.clear()


def release_dead_owners() -> None:
    """Let others go on with the runs of processes of this machine that are dead."""
    leases.release_dead_owners(HOST, _is_alive)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def _transport_for(provider: ProviderFacts) -> httpx2.AsyncBaseTransport | None:
    """What answers in place of the network; ``None`` for every real provider."""
    if provider.base_url != PRACTICE_BASE_URL:
        return None
    from agents.demo.practice_model import PracticeTransport  # late: for the demo alone

    return PracticeTransport()


def provider_key(provider: ProviderFacts) -> str:
    """The key to send, empty where the provider needs none. Raises ``ModelKeyRefused``."""
    if not provider.api_key_env:
        return provider.api_key
    key = os.environ.get(provider.api_key_env, "")
    if not key and provider.api_key:
        return provider.api_key
    if not key:
        raise ModelKeyRefused(
            f"The provider {provider.provider_id} has no key: the environment variable "
            f"{provider.api_key_env} is not set.",
            hint=f"Set {provider.api_key_env} and start again.",
        )
    return key
