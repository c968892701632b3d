"""Calls that run for a while: progress, log messages, cancellation; and changes of lists meanwhile."""

from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client.subscriptions import PromptsListChanged, ToolsListChanged

from connect import Session
from steps import contains, equal, error, step, text


async def run(s: Session) -> None:
    await progress(s)
    await logging(s)
    await cancellation(s)
    await changes(s)


def countdown(s: Session, steps: int, interval: int, **more: Any) -> Any:
    return s.client.call_tool("countdown", {"steps": steps, "interval_ms": interval}, **more)


async def progress(s: Session) -> None:
    @step("progress")
    async def _() -> None:
        seen = []

        async def note(*p: Any) -> None:
            seen.append(p)

        r = await countdown(s, 4, 40, progress_callback=note)
        equal(seen, [(n, 4, f"{4 - n} left") for n in (1, 2, 3, 4)], "progress")
        contains(text(r), "Counted down 4 steps", "text")

    await _


async def logging(s: Session) -> None:
    @step("logging")
    async def _() -> None:
        s.logged.clear()
        await countdown(s, 2, 10) if s.modern else await s.client.set_logging_level("emergency")
        equal(s.logged.items, [], "messages before they are wanted")
        wanted: dict[str, Any] = {}
        if s.modern:
            wanted["meta"] = {"io.modelcontextprotocol/logLevel": "info"}
        else:
            await s.client.set_logging_level("info")
        await countdown(s, 3, 20, **wanted)
        got = [(m.level, m.logger, m.data) for m in s.logged.items]
        equal(got, [("info", "countdown", f"step {n} of 3, {3 - n} left") for n in (1, 2, 3)], "messages")
        s.logged.clear()
        if s.modern:
            wanted["meta"] = {"io.modelcontextprotocol/logLevel": "warning"}
        else:
            await s.client.set_logging_level("warning")
        await s.client.call_tool("test_logging_tool", **wanted)
        got = [m.level for m in s.logged.items]
        equal(got, ["warning", "error", "critical", "alert", "emergency"], "levels")

    await _


async def cancellation(s: Session) -> None:
    @step("cancellation")
    async def _() -> None:
        seen = 0
        with anyio.CancelScope() as scope:

            async def note(*_: Any) -> None:
                nonlocal seen
                seen += 1
                if seen == 2:
                    scope.cancel()

            await countdown(s, 1000, 30, progress_callback=note)
        equal(scope.cancelled_caught, True, "cancelled")
        # What was on its way when the call was cancelled has come before the answer to a later one.
        contains(text(await countdown(s, 1, 1)), "Counted down 1 steps", "text of the next call")
        after = seen
        # Time in which the cancelled call would have gone on.
        contains(text(await countdown(s, 4, 50)), "Counted down 4 steps", "text of the call after it")
        equal(seen, after, "progress after the cancellation")

    await _

    @step("time limit of the client")
    async def _() -> None:
        e = await error(countdown(s, 1000, 30, read_timeout_seconds=0.15), MCPError)
        contains(e.message.lower(), "timed out", "message")
        contains(text(await countdown(s, 1, 1)), "Counted down 1 steps", "text of the next call")

    await _


async def changes(s: Session) -> None:
    c = s.client

    @step("tools and prompts list changed")
    async def _() -> None:
        if s.modern:
            async with c.listen(tools_list_changed=True) as tools, c.listen(prompts_list_changed=True) as prompts:
                await c.call_tool("test_trigger_tool_change")
                equal(await anext(tools), ToolsListChanged(), "event")
                await c.call_tool("test_trigger_prompt_change")
                equal(await anext(prompts), PromptsListChanged(), "event")
            return
        s.told.clear()
        await c.call_tool("test_trigger_tool_change")
        await s.told.until(lambda n: isinstance(n, types.ToolListChangedNotification), "list_changed of tools")
        await c.call_tool("test_trigger_prompt_change")
        await s.told.until(lambda n: isinstance(n, types.PromptListChangedNotification), "list_changed of prompts")

    await _
