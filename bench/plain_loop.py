"""The plainest tool loop on the two SDKs: what the product's loop is measured against.

Place in the house: ``bench``. Typed, streamed calls of ``openai`` and an ``mcp`` client that stays
open; nothing is stored, checked, limited or shown.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import mcp
import openai


class PlainLoop:
    """An open client of a model and of an MCP server over HTTP; an async context manager."""

    def __init__(self, model_url: str, server_url: str) -> None:
        self._model = openai.AsyncOpenAI(base_url=model_url, api_key="none", max_retries=0)
        self._server = mcp.Client(server_url)

    async def __aenter__(self) -> PlainLoop:
        await self._server.__aenter__()
        listed = await self._server.list_tools()
        self._tools: list[Any] = [
            {
                "type": "function",
                "function": {
                    "name": f"bench__{tool.name}",
                    "description": tool.description or "",
                    "parameters": tool.input_schema,
                },
            }
            for tool in listed.tools
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._server.__aexit__(kind, value, trace)
        await self._model.close()

    async def run(self, turns: int) -> str:
        """One conversation with so many tool turns; the final text."""
        messages: list[Any] = [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "Call echo until you are done."},
        ]
        while True:
            text, calls = await self._ask(messages, f"turns-{turns}")
            if not calls:
                return text
            messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
            for call in calls:
                messages.append(await self._call(call))

    async def _ask(self, messages: list[Any], model: str) -> tuple[str, list[Any]]:
        text, calls = "", dict[int, Any]()
        stream = await self._model.chat.completions.create(
            model=model,
            messages=messages,
            tools=self._tools,
            stream=True,
            stream_options={"include_usage": True},
        )
        async with stream:
            async for chunk in stream:
                if not chunk.choices:
                    continue
                delta = chunk.choices[0].delta
                text += delta.content or ""
                for piece in delta.tool_calls or ():
                    if piece.id:
                        function = {"name": piece.function.name, "arguments": ""}
                        calls[piece.index] = {
                            "id": piece.id,
                            "type": "function",
                            "function": function,
                        }
                    calls[piece.index]["function"]["arguments"] += piece.function.arguments or ""
        return text, list(calls.values())

    async def _call(self, call: Any) -> dict[str, Any]:
        function = call["function"]
        result = await self._server.call_tool(
            function["name"].removeprefix("bench__"), json.loads(function["arguments"])
        )
        content = "\n".join(part.text for part in result.content if part.type == "text")
        return {"role": "tool", "tool_call_id": call["id"], "content": content}
