"""Drives an edge with chuk-mcp: its protocol functions over each of its transports."""

import logging
import os
from pathlib import Path
from typing import Any

import anyio
from chuk_mcp.protocol.messages import (
    send_completion_complete,
    send_initialize,
    send_ping,
    send_prompts_get,
    send_prompts_list,
    send_resources_list,
    send_resources_read,
    send_tools_call,
    send_tools_list,
)
from chuk_mcp.protocol.messages.completions import create_argument_info, create_prompt_reference
from chuk_mcp.protocol.messages.send_message import CancellationToken, CancelledError, send_message
from chuk_mcp.protocol.types.errors import NonRetryableError, RetryableError
from chuk_mcp.transports.http import StreamableHTTPParameters, StreamableHTTPTransport
from chuk_mcp.transports.sse import SSEParameters, SSETransport
from chuk_mcp.transports.stdio import StdioParameters, StdioTransport

import steps
from steps import contains, equal, step


def transport(o: Any) -> Any:
    if o.sse:
        return SSETransport(SSEParameters(url=o.sse.removesuffix("/sse")))  # it adds the path
    if o.url:
        return StreamableHTTPTransport(StreamableHTTPParameters(url=o.url))
    return StdioTransport(StdioParameters(command=o.command[0], args=o.command[1:]))


def text(result: Any) -> str:
    return "\n".join(c["text"] for c in result["content"] if c["type"] == "text")


class Client:
    def __init__(self, options: Any, streams: Any) -> None:
        self.options = options
        self.streams = streams

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Calls a tool by the typed function."""
        return (await send_tools_call(*self.streams, tool, arguments)).model_dump()

    async def raw(self, tool: str, arguments: dict[str, Any], **more: Any) -> Any:
        """Calls a tool by the function of every method, which takes callbacks."""
        return await send_message(*self.streams, "tools/call", {"name": tool, "arguments": arguments}, **more)


async def walk(listing: Any, streams: Any, field: str) -> tuple[list[Any], int]:
    entries: list[Any] = []
    pages, cursor = 0, None
    while pages < 100:
        page = await listing(*streams, cursor=cursor)
        entries += getattr(page, field)
        pages, cursor = pages + 1, page.nextCursor
        if cursor is None:
            break
    return entries, pages


async def tools(c: Client) -> None:
    @step("tools/list")
    async def _() -> None:
        all, pages = await walk(send_tools_list, c.streams, "tools")
        for name in ("calculator_arithmetic", "book_trip", "countdown"):
            contains([t.name for t in all], name, "names")
        equal(pages, steps.pages_of(all, c.options), "pages")

    await _

    @step("tools/call structured")
    async def _() -> None:
        r = await c.call("calculator_arithmetic", expression="2*(3+4)^2")
        equal(text(r), "98", "text")
        equal(r.get("structuredContent"), {"result": 98, "expression": "2*(3+4)^2"}, "structured content")

    await _

    @step("tools/call failing tool")
    async def _() -> None:
        r = await c.call("calculator_arithmetic", expression="1/0")
        equal(r["isError"], True, "isError")
        contains(text(r), "division by zero", "text")
        contains(str(await steps.error(c.call("no_such_tool"), NonRetryableError)), "no_such_tool", "error")

    await _

    @step("tools/call of a tool that asks")
    async def _() -> None:
        r = await c.call("book_trip", destination="Lisbon", nights=2)
        equal(r["isError"], True, "isError")
        contains(text(r), "client capabilities that were not declared", "text")

    await _

    @step("progress")
    async def _() -> None:
        seen: list[float] = []

        async def note(progress: float, _total: float | None, _message: str | None) -> None:
            seen.append(progress)

        r = await c.raw("countdown", {"steps": 4, "interval_ms": 40}, progress_callback=note)
        contains(text(r), "Counted down 4 steps", "text")
        equal(seen, [1, 2, 3, 4], "progress")

    await _

    if c.options.command:
        await cancelled(c)


async def cancelled(c: Client) -> None:
    @step("cancellation")
    async def _() -> None:
        token = CancellationToken()

        async def cancel(progress: float, _total: float | None, _message: str | None) -> None:
            if progress == 2:
                token.cancel()

        call = c.raw("countdown", {"steps": 1000, "interval_ms": 30}, cancellation_token=token, progress_callback=cancel)
        await steps.error(call, CancelledError)
        contains(text(await c.call("countdown", steps=1, interval_ms=1)), "Counted down 1 steps", "next")

    await _


async def others(c: Client) -> None:
    @step("resources")
    async def _() -> None:
        all, pages = await walk(send_resources_list, c.streams, "resources")
        contains([r.name for r in all], "note.txt", "names")
        equal(pages, steps.pages_of(all, c.options), "pages")
        r = await send_resources_read(*c.streams, (Path(c.options.dir).absolute() / "note.txt").as_uri())
        equal(r.contents[0].text, "first\n", "text")

    await _

    @step("prompts")
    async def _() -> None:
        all, pages = await walk(send_prompts_list, c.streams, "prompts")
        contains([p.name for p in all], "plan-vacation", "names")
        equal(pages, steps.pages_of(all, c.options), "pages")
        r = await send_prompts_get(*c.streams, "plan-vacation", {"destination": "Lisbon", "days": "3"})
        contains(r.messages[0].content["text"], "3 days in Lisbon", "prompt")

    await _

    @step("completion")
    async def _() -> None:
        r = await send_completion_complete(*c.streams, create_prompt_reference("code_review"), create_argument_info("language", "Ja"))
        equal(r.values, ["Java", "JavaScript"], "values")

    await _

    @step("ping")
    async def _() -> None:
        equal(await send_ping(*c.streams), True, "ping")

    await _


async def replicas(c: Client) -> None:
    @step("a replica drained in a call")
    async def _() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(later, steps.drain, c.options)
            r = await c.call("countdown", steps=30, interval_ms=100)
        contains(text(r), "Counted down 30 steps", "text")

    await _

    @step("a call on the other replica")
    async def _() -> None:
        equal(text(await c.call("calculator_arithmetic", expression="1+1")), "2", "text")

    await _

    @step("a call after its replica was killed")
    async def _() -> None:
        await steps.restore(c.options)
        async with anyio.create_task_group() as group:
            group.start_soon(later, steps.kill, c.options)
            await steps.error(c.call("countdown", steps=30, interval_ms=100), RetryableError)
        equal(text(await c.call("calculator_arithmetic", expression="1+1")), "2", "text")

    await _


async def later(end: Any, options: Any) -> None:
    """Ends a replica once the stream of the call is open: the transport passes no progress before its end."""
    await anyio.sleep(1.5)
    await end(options)


async def main() -> None:
    logging.disable()  # it logs what it raises, too
    o = steps.options()
    steps.uses("chuk-mcp")
    for lack in (
        "elicitation: it declares no capabilities",
        "sampling: it declares no capabilities",
        "roots: it declares no capabilities",
        "logging: its functions skip log messages",
        "list changes: its functions skip notifications other than progress",
        "subscriptions: its functions skip notifications other than progress",
    ):
        print("lacks", lack)
    print("notes cancellation: over HTTP its transports send one message after the other, and so a cancellation after the call's end")
    print("notes progress: over Streamable HTTP it is reported when the call ends")
    print("notes kill: the call ends with an error, as it does not come back to its stream; the next one succeeds")
    async with transport(o) as way:
        c = Client(o, await way.get_streams())

        @step("initialize")
        async def _() -> None:
            r = await send_initialize(*c.streams)
            equal(r.serverInfo.name, "mcpedge", "server")
            way.set_protocol_version(r.protocolVersion)
            print("speaks", r.protocolVersion)

        await _
        await tools(c)
        await others(c)
        if o.drain:
            await replicas(c)
    print("ok close", flush=True)
    os._exit(0)


if __name__ == "__main__":
    anyio.run(main)
