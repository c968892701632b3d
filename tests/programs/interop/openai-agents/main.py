"""Drives an edge with the MCP servers of the OpenAI Agents SDK: tools, prompts and resources, as an agent has them."""

import asyncio
import logging
import os
from pathlib import Path
from typing import Any

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerSse, MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from mcp import MCPError

import steps
from steps import contains, equal, step, text


def server(o: Any) -> Any:
    if o.sse:
        return MCPServerSse({"url": o.sse}, client_session_timeout_seconds=30)
    if o.url:
        return MCPServerStreamableHttp({"url": o.url}, client_session_timeout_seconds=30, max_retry_attempts=3)
    return MCPServerStdio({"command": o.command[0], "args": o.command[1:]}, client_session_timeout_seconds=30)


async def tools(s: Any) -> None:
    @step("tools/list")
    async def _() -> None:
        names = [t.name for t in await s.list_tools()]
        for name in ("calculator_arithmetic", "book_trip", "countdown"):
            contains(names, name, "names")
        shown = await MCPUtil.get_function_tools(s, False, RunContextWrapper(context=None), Agent(name="interop"))
        equal([t.name for t in shown], names, "what a model is shown")
        print("speaks", s.session.protocol_version)

    await _

    @step("tools/call structured")
    async def _() -> None:
        r = await s.call_tool("calculator_arithmetic", {"expression": "2*(3+4)^2"})
        equal(text(r), "98", "text")
        equal(r.structured_content, {"result": 98, "expression": "2*(3+4)^2"}, "structured content")

    await _

    @step("tools/call failing tool")
    async def _() -> None:
        r = await s.call_tool("calculator_arithmetic", {"expression": "1/0"})
        equal(r.is_error, True, "isError")
        contains(text(r), "division by zero", "text")

    await _

    @step("tools/call of a tool that asks")
    async def _() -> None:
        try:
            r = await s.call_tool("book_trip", {"destination": "Lisbon", "nights": 2})
        except MCPError as e:
            contains(str(e), "elicitation", "error")
        else:
            equal(r.is_error, True, "isError")
            contains(text(r), "elicitation", "text")

    await _

    @step("tools/call in parallel")
    async def _() -> None:
        results = await asyncio.gather(*(s.call_tool("calculator_arithmetic", {"expression": f"{n}*2"}) for n in range(20)))
        equal([text(r) for r in results], [str(n * 2) for n in range(20)], "results")

    await _


async def others(s: Any, o: Any) -> None:
    @step("resources")
    async def _() -> None:
        names, cursor = [], None
        while True:
            page = await s.list_resources(cursor)
            names += [r.name for r in page.resources]
            if (cursor := page.next_cursor) is None:
                break
        contains(names, "note.txt", "names")
        r = await s.read_resource((Path(o.dir).absolute() / "note.txt").as_uri())
        equal(r.contents[0].text, "first\n", "text")

    await _

    @step("prompts")
    async def _() -> None:
        contains([p.name for p in (await s.list_prompts()).prompts], "plan-vacation", "names")
        r = await s.get_prompt("plan-vacation", {"destination": "Lisbon", "days": "3"})
        contains(r.messages[0].content.text, "3 days in Lisbon", "prompt")

    await _

    @step("cancellation")
    async def _() -> None:
        call = asyncio.create_task(s.call_tool("countdown", {"steps": 1000, "interval_ms": 30}))
        await asyncio.sleep(0.3)  # the call runs
        call.cancel()
        await steps.error(call, asyncio.CancelledError)
        contains(text(await s.call_tool("countdown", {"steps": 1, "interval_ms": 1})), "Counted down 1 steps", "next")

    await _


async def replicas(s: Any, o: Any) -> None:
    async def ended(end: Any) -> Any:
        call = asyncio.create_task(s.call_tool("countdown", {"steps": 30, "interval_ms": 100}))
        await asyncio.sleep(1.5)  # its stream is open
        await end(o)
        return await call

    @step("a replica drained in a call")
    async def _() -> None:
        contains(text(await ended(steps.drain)), "Counted down 30 steps", "text")

    await _

    @step("a call on the other replica")
    async def _() -> None:
        equal(text(await s.call_tool("calculator_arithmetic", {"expression": "1+1"})), "2", "text")

    await _

    @step("a replica killed in a call")
    async def _() -> None:
        await steps.restore(o)
        contains(text(await ended(steps.kill)), "Counted down 30 steps", "text")
        equal(text(await s.call_tool("calculator_arithmetic", {"expression": "1+1"})), "2", "text of the next call")

    await _


async def main() -> None:
    logging.disable()  # it logs what it raises, too
    o = steps.options()
    steps.uses("openai-agents")
    for lack in (
        "elicitation: it declares no capabilities",
        "sampling: it declares no capabilities",
        "roots: it declares no capabilities",
        "progress: it asks for none",
        "logging: it sets no level",
        "completion: it has no call for it",
        "subscriptions: it has no call for them",
        "list changes: it lists again when it is asked",
    ):
        print("lacks", lack)
    print("notes kill: it calls again, any tool, if `max_retry_attempts` allows it; it does not by default")
    s = server(o)
    await s.connect()
    await tools(s)
    await others(s, o)
    if o.drain:
        await replicas(s, o)
    await s.cleanup()
    print("ok close", flush=True)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
