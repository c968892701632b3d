"""Prompts: the list, getting one, and completion of arguments."""

import mcp_types as types
from mcp import MCPError

from connect import Session
from steps import contains, equal, error, pages_of, step, walk


async def run(s: Session) -> None:
    c = s.client

    @step("prompts/list by pages")
    async def _() -> None:
        found, pages = await walk(c.list_prompts, "prompts")
        vacation = next(p for p in found if p.name == "plan-vacation")
        arguments = [(a.name, bool(a.required)) for a in vacation.arguments]
        equal(arguments, [("destination", True), ("days", False), ("interests", False)], "arguments")
        equal(pages, pages_of(found, s.options), "pages")

    await _

    @step("prompts/get")
    async def _() -> None:
        r = await c.get_prompt("plan-vacation", {"destination": "Lisbon", "days": "4"})
        equal([(m.role, m.content.type) for m in r.messages], [("user", "text")], "messages")
        contains(r.messages[0].content.text, "4 days in Lisbon", "text")

    await _

    @step("prompts/get content kinds")
    async def _() -> None:
        r = await c.get_prompt("test_prompt_with_image")
        contains([m.content.type for m in r.messages], "image", "content types")
        r = await c.get_prompt("test_prompt_with_embedded_resource", {"resourceUri": "test://a"})
        embedded = [m.content.resource.uri for m in r.messages if m.content.type == "resource"]
        equal(embedded, ["test://a"], "resource")

    await _

    @step("prompts/get invalid")
    async def _() -> None:
        equal((await error(c.get_prompt("no-such-prompt"), MCPError)).code, -32602, "code of an unknown prompt")
        equal((await error(c.get_prompt("plan-vacation"), MCPError)).code, -32602, "code of a missing argument")

    await _

    @step("completion/complete of a prompt")
    async def _() -> None:
        ref = types.PromptReference(type="ref/prompt", name="code_review")
        r = await c.complete(ref, {"name": "language", "value": "Ja"})
        equal(r.completion.values, ["Java", "JavaScript"], "values")

    await _
