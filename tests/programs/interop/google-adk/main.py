"""Drives an edge with the toolset of Google's Agent Development Kit: tools, as an agent has them."""

import asyncio
import os
from typing import Any

import mcp_types as types
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.mcp_tool.mcp_session_manager import SseConnectionParams, StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.adk.tools.tool_context import ToolContext
from mcp import StdioServerParameters

import steps
from steps import contains, equal, step


async def accept(_context: Any, params: Any) -> types.ElicitResult:
    if "confirm" in params.requested_schema["properties"]:
        return types.ElicitResult(action="accept", content={"confirm": True})
    return types.ElicitResult(action="accept", content={"seat": "aisle", "room": "suite", "insurance": True})


async def sample(_context: Any, _params: Any) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text="Take the first one.")
    return types.CreateMessageResult(model="interop-model", role="assistant", content=text)


class Agent:
    """What an agent needs to call a tool."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.progress: list[float] = []
        self.on_progress: Any = None
        if options.sse:
            way: Any = SseConnectionParams(url=options.sse)
        elif options.url:
            way = StreamableHTTPConnectionParams(url=options.url)
        else:
            way = StdioConnectionParams(server_params=StdioServerParameters(command=options.command[0], args=options.command[1:]), timeout=30)
        self.toolset = McpToolset(
            connection_params=way, elicitation_callback=accept, sampling_callback=sample, progress_callback=self.note
        )
        self.tools: dict[str, Any] = {}

    async def note(self, progress: float, _total: float | None, _message: str | None) -> None:
        self.progress.append(progress)
        if self.on_progress:
            await self.on_progress(progress)

    async def call(self, name: str, **arguments: Any) -> Any:
        service = InMemorySessionService()
        session = await service.create_session(app_name="interop", user_id="user")
        agent = LlmAgent(name="interop")
        context = InvocationContext(invocation_id="1", agent=agent, session=session, session_service=service)
        return await self.tools[name].run_async(args=arguments, tool_context=ToolContext(context))


def text(result: Any) -> str:
    return "\n".join(c["text"] for c in result["content"] if c["type"] == "text")


async def run(a: Agent) -> None:
    @step("tools/list")
    async def _() -> None:
        a.tools = {t.name: t for t in await a.toolset.get_tools()}
        print("speaks", (await a.toolset._mcp_session_manager.create_session()).protocol_version)
        for name in ("calculator_arithmetic", "book_trip", "countdown"):
            contains(a.tools, name, "names")
        for t in a.tools.values():
            if t._get_declaration() is None:  # what a model is shown
                raise steps.Mismatch(f"{t.name} has no declaration")

    await _

    @step("tools/call structured")
    async def _() -> None:
        r = await a.call("calculator_arithmetic", expression="2*(3+4)^2")
        equal(r["structuredContent"], {"result": 98, "expression": "2*(3+4)^2"}, "structured content")
        equal(text(r), "98", "text")

    await _

    @step("tools/call failing tool")
    async def _() -> None:
        r = await a.call("calculator_arithmetic", expression="1/0")
        equal(r["isError"], True, "isError")
        contains(text(r), "division by zero", "text")

    await _

    @step("tools/call in parallel")
    async def _() -> None:
        results = await asyncio.gather(*(a.call("calculator_arithmetic", expression=f"{n}*2") for n in range(20)))
        equal([r["structuredContent"]["result"] for r in results], [n * 2 for n in range(20)], "results")

    await _

    @step("progress")
    async def _() -> None:
        a.progress.clear()
        contains(text(await a.call("countdown", steps=4, interval_ms=40)), "Counted down 4 steps", "text")
        equal(a.progress, [1, 2, 3, 4], "progress")

    await _

    @step("elicitation")
    async def _() -> None:
        r = await a.call("book_trip", destination="Barcelona", nights=2)
        equal(r["structuredContent"]["status"], "booked", "status")

    await _

    @step("sampling")
    async def _() -> None:
        contains(text(await a.call("recommend_flight", origin="Zurich", destination="New York")), "Take the first one.", "text")

    await _

    @step("resources")
    async def _() -> None:
        contains(await a.toolset.list_resources(), "note.txt", "names")
        contents = await a.toolset.read_resource("note.txt")
        equal(contents[0].text, "first\n", "text")

    await _

    if a.options.drain:
        await drained(a)


async def drained(a: Agent) -> None:
    async def ended(end: Any) -> None:
        """Runs a call whose replica ends meanwhile: the call is answered, and its progress comes once."""

        async def note(n: float) -> None:
            if n == 3:
                await end(a.options)

        a.progress.clear()
        a.on_progress = note
        contains(text(await a.call("countdown", steps=30, interval_ms=100)), "Counted down 30 steps", "text")
        a.on_progress = None
        equal(a.progress, list(range(1, 31)), "progress")

    @step("a replica drained in a call")
    async def _() -> None:
        await ended(steps.drain)

    await _

    @step("a call on the other replica")
    async def _() -> None:
        equal(text(await a.call("calculator_arithmetic", expression="1+1")), "2", "text")

    await _

    @step("a replica killed in a call")
    async def _() -> None:
        await steps.restore(a.options)
        await ended(steps.kill)
        equal(text(await a.call("calculator_arithmetic", expression="1+1")), "2", "text of the next call")

    await _


async def main() -> None:
    options = steps.options()
    steps.uses("google-adk")
    for lack in (
        "prompts: an agent has no use for them",
        "completion: an agent has no use for it",
        "logging: it takes no log messages",
        "list changes: it lists again when it is asked",
        "subscriptions: it takes no notifications",
        "roots: it declares none",
        "cancellation: it has no call for it",
        "pages: it reads the first page of tools only",
    ):
        print("lacks", lack)
    a = Agent(options)
    await run(a)
    await a.toolset.close()
    print("ok close", flush=True)
    os._exit(0)  # its sessions' tasks may outlive their toolset


if __name__ == "__main__":
    asyncio.run(main())
