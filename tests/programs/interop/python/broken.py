"""Broken connections: streams are resumed by Last-Event-ID, and nothing is lost or doubled."""

import os
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.shared.message import ClientMessageMetadata

from connect import Session
from steps import contains, drain, equal, fail, kill, restore, step, text


async def cut(s: Session) -> None:
    async with httpx2.AsyncClient() as http:
        r = await http.post(s.options.cut)
    if not int(r.text) > 0:
        fail("broken connections", "at least one", r.text)


async def ended(s: Session, end: Any) -> None:
    """Runs a call whose replica ends meanwhile: the call is answered, and its progress comes once."""
    seen = []

    async def note(n: float, *_: Any) -> None:
        seen.append(n)
        if n == 3:
            await end(s.options)

    r = await s.client.call_tool("countdown", {"steps": 30, "interval_ms": 100}, progress_callback=note)
    contains(text(r), "Counted down 30 steps", "text")
    equal(seen, list(range(1, 31)), "progress")


async def drained(s: Session) -> None:
    """A replica may end while it runs a call."""
    c = s.client

    @step("a replica drained in a call")
    async def _() -> None:
        await ended(s, drain)

    await _

    @step("a call on the other replica")
    async def _() -> None:
        equal(text(await c.call_tool("calculator_arithmetic", {"expression": "1+1"})), "2", "text")

    await _

    @step("a replica killed in a call")
    async def _() -> None:
        await restore(s.options)
        await ended(s, kill)
        equal(text(await c.call_tool("calculator_arithmetic", {"expression": "1+1"})), "2", "text of the next call")

    await _


async def run(s: Session) -> None:
    c = s.client

    @step("resume a call")
    async def _() -> None:
        seen = []

        async def note(n: float, *_: Any) -> None:
            seen.append(n)
            if n == 3:
                await cut(s)

        arguments = {"steps": 12, "interval_ms": 60}
        r = await c.call_tool("countdown", arguments, progress_callback=note)
        contains(text(r), "Counted down 12 steps", "text")
        equal(seen, list(range(1, 13)), "progress")

    await _

    @step("changes after a broken connection")
    async def _() -> None:
        file = Path(s.options.dir, f"python-broken-{os.getpid()}.txt")
        s.told.clear()
        file.write_text("one\n")
        await s.told.until(lambda n: isinstance(n, types.ResourceListChangedNotification), "list_changed")
        file.unlink()

    await _


async def resume_explicitly(options: Any) -> None:
    """The SDK's own way to leave a call and come back for its result."""
    s = Session(options, "legacy")
    async with s.make() as s.client:

        @step("resume by a token")
        async def _() -> None:
            tokens: list[str] = []
            request = types.CallToolRequest(
                params=types.CallToolRequestParams(name="countdown", arguments={"steps": 10, "interval_ms": 60})
            )
            with anyio.CancelScope() as scope:

                async def keep(token: str) -> None:
                    tokens.append(token)

                async def leave(n: float, *_: Any) -> None:
                    if n == 3:
                        scope.cancel()

                await s.client.session.send_request(
                    request,
                    types.CallToolResult,
                    metadata=ClientMessageMetadata(on_resumption_token_update=keep),
                    progress_callback=leave,
                )
            equal(scope.cancelled_caught, True, "left")
            if not tokens:
                fail("resumption tokens", "some", tokens)
            r = await s.client.session.send_request(
                request, types.CallToolResult, metadata=ClientMessageMetadata(resumption_token=tokens[-1])
            )
            contains(text(r), "Counted down 10 steps", "text")

        await _
