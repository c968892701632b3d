"""Tools: the list, results of every kind, and errors."""

import anyio
from mcp import MCPError

from connect import Session
from steps import contains, equal, error, pages_of, step, text, walk


async def run(s: Session) -> None:
    c = s.client

    @step("tools/list by pages")
    async def _() -> None:
        tools, pages = await walk(c.list_tools, "tools")
        names = [t.name for t in tools]
        for name in ("calculator_arithmetic", "book_trip", "countdown", "test_simple_text"):
            contains(names, name, "names")
        equal(len(set(names)), len(names), "different names")
        equal(pages, pages_of(names, s.options), "pages")
        calculator = tools[names.index("calculator_arithmetic")]
        equal([calculator.title, calculator.input_schema["required"]], ["Calculator", ["expression"]], "calculator")
        equal(calculator.annotations.read_only_hint, True, "read-only hint")

    await _

    @step("tools/call")
    async def _() -> None:
        r = await c.call_tool("weather_current", {"city": "Barcelona"})
        contains(text(r), "Barcelona, Spain, now: ", "text")
        equal(r.is_error, False, "is_error")

    await _

    @step("tools/call structured")
    async def _() -> None:
        r = await c.call_tool("calculator_arithmetic", {"expression": "2*(3+4)^2"})
        equal(r.structured_content, {"result": 98, "expression": "2*(3+4)^2"}, "structured content")
        r = await c.call_tool("search_flights", {"origin": "Zurich", "destination": "JFK"})
        equal(r.structured_content["destination"], "New York", "destination")

    await _

    @step("tools/call failing tool")
    async def _() -> None:
        r = await c.call_tool("calculator_arithmetic", {"expression": "1/0"})
        equal(r.is_error, True, "is_error")
        contains(text(r), "division by zero", "text")

    await _

    @step("tools/call invalid arguments")
    async def _() -> None:
        r = await c.call_tool("calculator_arithmetic", {"expression": 7})
        equal(r.is_error, True, "is_error")

    await _

    @step("tools/call unknown tool")
    async def _() -> None:
        e = await error(c.call_tool("no_such_tool"), MCPError)
        equal(e.code, -32602, "code")
        contains(e.message, "no_such_tool", "message")

    await _

    @step("tools/call content kinds")
    async def _() -> None:
        r = await c.call_tool("test_multiple_content_types")
        equal([x.type for x in r.content], ["text", "image", "resource"], "content types")
        r = await c.call_tool("test_audio_content")
        equal([r.content[0].type, r.content[0].mime_type], ["audio", "audio/wav"], "audio")

    await _

    @step("tools/call in parallel")
    async def _() -> None:
        results = {}

        async def double(n: int) -> None:
            r = await c.call_tool("calculator_arithmetic", {"expression": f"{n}*2"})
            results[n] = r.structured_content["result"]

        async with anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(double, n)
        equal(results, {n: n * 2 for n in range(20)}, "results")

    await _

    @step("tools/call with arguments in headers")
    async def _() -> None:
        r = await c.call_tool("test_x_mcp_header", {"region": "Zürich =?base64?"})
        equal(r.is_error, False, "is_error")

    await _
