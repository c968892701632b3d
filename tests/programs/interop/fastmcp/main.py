"""Drives an edge with FastMCP's client, in both eras; HTTP+SSE has the former only."""

import asyncio
import os
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError

import steps
import tasks
from steps import Inbox, contains, equal, error, step, text

REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}


class Session:
    """A client that can be asked everything, and what it was told."""

    def __init__(self, options: Any, era: str) -> None:
        self.options, self.era = options, era
        self.told, self.logged, self.asked = Inbox(), Inbox(), Inbox()
        self.action = "accept"
        if options.sse:
            transport: Any = SSETransport(options.sse)
        elif options.url:
            transport = StreamableHttpTransport(options.url)
        else:
            transport = StdioTransport(command=options.command[0], args=options.command[1:])
        self.client: Client = Client(
            transport,
            mode="legacy" if era == "legacy" else "auto",
            roots=["file:///project/a"],
            elicitation_handler=self.elicited,
            sampling_handler=self.sampled,
            log_handler=self.on_log,
            message_handler=self.on_message,
        )

    async def elicited(self, message: str, _kind: Any, params: Any, _context: Any) -> Any:
        self.asked.put(message)
        if self.action != "accept":
            return ElicitResult(action=self.action)
        if "confirm" in params.requested_schema["properties"]:
            return {"confirm": True}
        if "name" in params.requested_schema["properties"]:
            return {"name": "Ada"}
        if "answer" in params.requested_schema["properties"]:
            return {"answer": "yes"}
        return {"seat": "aisle", "room": "suite", "insurance": True}

    async def sampled(self, _messages: Any, _params: Any, _context: Any) -> str:
        return "Take the first one."

    async def on_log(self, message: Any) -> None:
        self.logged.put(message)

    async def on_message(self, message: Any) -> None:
        self.told.put(message)


async def run(s: Session) -> None:
    await tools(s)
    await asking(s)
    await others(s)
    await running(s)
    if s.era == "modern":
        s.action = "accept"
        await tasks.tasks(s)
    if s.options.drain and s.era == "legacy":
        await drained(s)


async def tools(s: Session) -> None:
    c = s.client

    @step("tools/list")
    async def _() -> None:
        names = [t.name for t in await c.list_tools()]
        for name in ("calculator_arithmetic", "book_trip", "countdown"):
            contains(names, name, "names")

    await _

    @step("tools/call structured")
    async def _() -> None:
        r = await c.call_tool("calculator_arithmetic", {"expression": "2*(3+4)^2"})
        equal(r.structured_content, {"result": 98, "expression": "2*(3+4)^2"}, "structured content")
        equal(text(r), "98", "text")

    await _

    @step("tools/call failing tool")
    async def _() -> None:
        contains(str(await error(c.call_tool("calculator_arithmetic", {"expression": "1/0"}), ToolError)), "division by zero", "error")
        contains(str(await error(c.call_tool("no_such_tool", {}), Exception)), "no_such_tool", "error")

    await _

    @step("tools/call in parallel")
    async def _() -> None:
        results = await asyncio.gather(*(c.call_tool("calculator_arithmetic", {"expression": f"{n}*2"}) for n in range(20)))
        equal([r.structured_content["result"] for r in results], [n * 2 for n in range(20)], "results")

    await _


async def asking(s: Session) -> None:
    c = s.client

    for action, status in (("accept", "booked"), ("decline", "declined"), ("cancel", "cancelled")):

        @step("elicitation " + status)
        async def _() -> None:
            s.action = action
            r = await c.call_tool("book_trip", {"destination": "Barcelona", "nights": 2})
            equal(r.structured_content["status"], status, "status")

        await _

    @step("sampling")
    async def _() -> None:
        r = await c.call_tool("recommend_flight", {"origin": "Zurich", "destination": "New York"})
        contains(text(r), "Take the first one.", "text")

    await _

    @step("roots")
    async def _() -> None:
        r = await c.call_tool("list_workspace")
        equal([x["uri"] for x in r.structured_content["roots"]], ["file:///project/a"], "roots")

    await _


async def others(s: Session) -> None:
    c = s.client

    @step("resources")
    async def _() -> None:
        contains([str(r.uri) for r in await c.list_resources()], "test://static-text", "URIs")
        contains([t.uri_template for t in await c.list_resource_templates()], "weather://forecast/{city}/{date}", "templates")
        note = await c.read_resource(Path(s.options.dir, "note.txt").as_uri())
        equal(note[0].text, "first\n", "text")

    await _

    @step("prompts")
    async def _() -> None:
        contains([p.name for p in await c.list_prompts()], "plan-vacation", "names")
        r = await c.get_prompt("plan-vacation", {"destination": "Lisbon", "days": "3"})
        contains(r.messages[0].content.text, "3 days in Lisbon", "prompt")

    await _

    @step("completion")
    async def _() -> None:
        r = await c.complete(types.PromptReference(type="ref/prompt", name="code_review"), {"name": "language", "value": "Ja"})
        equal(r.values, ["Java", "JavaScript"], "values")

    await _


async def running(s: Session) -> None:
    c = s.client

    @step("progress")
    async def _() -> None:
        seen = []

        async def note(n: float, total: float | None, _message: str | None) -> None:
            seen.append((n, total))

        r = await c.call_tool("countdown", {"steps": 4, "interval_ms": 40}, progress_handler=note)
        equal(seen, [(n, 4) for n in (1, 2, 3, 4)], "progress")
        contains(text(r), "Counted down 4 steps", "text")

    await _

    if s.era == "legacy":  # in the modern era a call says what it wants to be told, and the client has no word for it

        @step("logging")
        async def _() -> None:
            await c.set_logging_level("info")
            s.logged.clear()
            await c.call_tool("countdown", {"steps": 3, "interval_ms": 20})
            equal([m.level for m in s.logged.items], ["info"] * 3, "levels")
            await c.set_logging_level("emergency")

        await _

        @step("list changed")
        async def _() -> None:
            s.told.clear()
            await c.call_tool("test_trigger_tool_change")
            await s.told.until(lambda n: isinstance(n, types.ToolListChangedNotification), "list_changed")

        await _

    @step("cancellation")
    async def _() -> None:
        with anyio.move_on_after(0.3) as scope:
            await c.call_tool("countdown", {"steps": 1000, "interval_ms": 30})
        equal(scope.cancelled_caught, True, "cancelled")
        contains(text(await c.call_tool("countdown", {"steps": 1, "interval_ms": 1})), "Counted down 1 steps", "next")

    await _


async def ended(s: Session, end: Any) -> None:
    """Runs a call whose replica ends meanwhile: the call is answered, and its progress comes once."""
    seen = []

    async def note(n: float, *_: Any) -> None:
        seen.append(n)
        if n == 3:
            await end(s.options)

    r = await s.client.call_tool("countdown", {"steps": 30, "interval_ms": 100}, progress_handler=note)
    contains(text(r), "Counted down 30 steps", "text")
    equal(seen, list(range(1, 31)), "progress")


async def drained(s: Session) -> None:
    c = s.client

    @step("a replica drained in a call")
    async def _() -> None:
        await ended(s, steps.drain)

    await _

    @step("a call on the other replica")
    async def _() -> None:
        equal(text(await c.call_tool("calculator_arithmetic", {"expression": "1+1"})), "2", "text")

    await _

    @step("a replica killed in a call")
    async def _() -> None:
        await steps.restore(s.options)
        await ended(s, steps.kill)
        equal(text(await c.call_tool("calculator_arithmetic", {"expression": "1+1"})), "2", "text of the next call")

    await _


async def main() -> None:
    options = steps.options()
    steps.uses("fastmcp")
    print("lacks tasks in 2025-11-25: it has those of 2026-07-28 only")
    print("lacks notifications of tasks: it polls")
    for era in ("legacy",) if options.sse else ("legacy", "modern"):
        steps.prefix = era + " "
        s = Session(options, era)
        async with s.client:

            @step("initialize")
            async def _() -> None:
                equal([s.client.protocol_version, s.client.server_info.name], [REVISIONS[era], "mcpedge"], "revision and server")
                print("speaks", REVISIONS[era])

            await _
            await run(s)
        print(f"ok {era} close", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("FASTMCP_CHECK_FOR_UPDATES", "off")
    asyncio.run(main())
