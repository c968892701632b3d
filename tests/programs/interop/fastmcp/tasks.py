"""Tasks of 2026-07-28, by the package fastmcp_tasks. Its import has every client of the program declare the extension."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from fastmcp.exceptions import McpError, ToolError
from fastmcp_tasks import ToolTask, call_tool_task
from fastmcp_tasks.client_models import CancelTaskRequest, ClientCreateTaskResult, GetTaskRequest, UpdateTaskRequest

from steps import contains, equal, error, step, text


def named() -> None:
    """Has the requests of tasks carry the header Mcp-Name, which the package does not ask of the SDK."""
    for request in (GetTaskRequest, UpdateTaskRequest, CancelTaskRequest):
        request.name_param = "taskId"


async def tasks(s: Any) -> None:
    c = s.client

    if s.options.url:

        @step("tasks without their header")
        async def _() -> None:
            task = await call_tool_task(c, "slow_compute", {"seconds": 0.1, "label": "u"})
            equal((await error(task.status(), McpError)).error.code, -32020, "code")
            print("lacks Mcp-Name with the requests of tasks: over HTTP they are refused, unless their classes are configured for it")

        await _
        named()

    @step("tasks by a plain call, to its result")
    async def _() -> None:
        contains(text(await c.call_tool("slow_compute", {"seconds": 0.5, "label": "v"})), "v was computed", "text")

    await _

    @step("tasks polled to their result")
    async def _() -> None:
        task = await call_tool_task(c, "slow_compute", {"seconds": 1.5, "label": "x"})
        equal([task.create_result.status, (await task.status()).status], ["working", "working"], "statuses")
        contains(text(await task.result()), "x was computed", "text")
        final = await task.wait()
        equal([final.status, final.result["content"][0]["text"]], ["completed", "x was computed in 1.5 s."], "status and text afterwards")

    await _

    @step("tasks that ask by elicitation")
    async def _() -> None:
        s.asked.clear()
        task = await call_tool_task(c, "multi_input", {})
        waiting = await task.wait(state="input_required")
        contains(text(await task.result()), "action=accept", "text")
        equal(s.asked.items, [r["params"]["message"] for r in waiting.input_requests.values()], "questions")

    await _

    @step("tasks that ask first")
    async def _() -> None:
        contains(text(await c.call_tool("test_tool_with_task")), "Hello, Ada!", "text")

    await _

    @step("tasks that fail")
    async def _() -> None:
        for name, why in (("failing_job", "the job failed"), ("protocol_error_job", "the job broke")):
            contains(str(await error(c.call_tool(name), ToolError)), why, "error")

    await _

    @step("tasks cancelled")
    async def _() -> None:
        task = await call_tool_task(c, "slow_compute", {"seconds": 60, "label": "y"})
        await task.cancel()
        equal((await task.status()).status, "cancelled", "status")
        contains(str(await error(task.result(), ToolError)), "cancelled", "error")
        await task.cancel()  # which is acknowledged

    await _

    if not s.options.url:
        return  # an edge over stdio, and its tasks, end with the client

    @step("tasks taken up by a fresh process")
    async def _() -> None:
        task = await call_tool_task(c, "slow_compute", {"seconds": 2, "label": "z"})
        contains(await fresh(s.options.url, task), "z was computed", "text")

    await _


async def fresh(url: str, task: ToolTask) -> str:
    """Has a process of its own wait for the task, and returns what that process prints."""
    program = Path(__file__).with_name("fresh.py")
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(program), url, task.create_result.model_dump_json(by_alias=True), stdout=subprocess.PIPE
    )
    out, _ = await child.communicate()
    return out.decode()


def resume(client: Any, reference: str) -> ToolTask:
    """The task that another process began, of what it was told of it."""
    return ToolTask(client, "slow_compute", ClientCreateTaskResult.model_validate_json(reference))
