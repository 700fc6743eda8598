"""Whether this installation lives and is ready, for load balancers and monitors.

Place in the house: ``agents``. Open to everybody, so nothing here holds more than a word: no
addresses, no names, no texts of errors.
"""

from __future__ import annotations

from typing import TypeAlias

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from agents.runs.relay import answers
from agents.runs.workers import living_workers

Part: TypeAlias = dict[str, object]


@require_safe
async def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers; asks nothing of anybody."""
    return _reply({"status": "alive"})


@require_safe
async def readyz(request: HttpRequest) -> JsonResponse:
    """200 when a message would be answered, else 503; one part for each thing that takes."""
    parts = {**await sync_to_async(_database_parts)(), "redis": await _redis_part()}
    is_ready = all(part["ok"] for part in parts.values())
    status = "ready" if is_ready else "not ready"
    return _reply({"status": status, **parts}, code=200 if is_ready else 503)


def _reply(content: dict[str, object], *, code: int = 200) -> JsonResponse:
    return JsonResponse(content, status=code, headers={"Cache-Control": "no-store"})


def _database_parts() -> dict[str, Part]:
    """The database, and whether a process takes runs, which only the database knows."""
    try:
        count = living_workers().count()
    except (DatabaseError, InterfaceError) as error:
        away: Part = {"ok": False, "error": type(error).__name__}
        return {"database": away, "runs": {"ok": False, "error": "unknown"}}
    runs: Part = {"ok": count > 0, "processes": count}
    if not count:
        runs["error"] = "no process takes runs"
    return {"database": {"ok": True}, "runs": runs}


async def _redis_part() -> Part:
    if not settings.REDIS_URL:
        return {"ok": True, "used": False}
    if await answers():
        return {"ok": True, "used": True}
    return {"ok": False, "used": True, "error": "no answer"}
