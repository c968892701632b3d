"""What tools ask of the client: forms for its user, its model, its roots."""

from typing import Any

import mcp_types as types

from connect import Session
from steps import contains, equal, step, text


async def accept(params: Any) -> types.ElicitResult:
    confirm = "confirm" in params.requested_schema["properties"]
    content = {"confirm": True} if confirm else {"seat": "aisle", "room": "suite", "insurance": True}
    return types.ElicitResult(action="accept", content=content)


async def run(s: Session) -> None:
    c = s.client

    async def book() -> Any:
        return (await c.call_tool("book_trip", {"destination": "Barcelona", "nights": 2})).structured_content

    @step("elicitation accepted")
    async def _() -> None:
        s.asked.clear()
        s.elicited = accept
        r = await book()
        equal(r["status"], "booked", "status")
        equal(r["wishes"], {"seat": "aisle", "room": "suite", "insurance": True}, "wishes")
        equal(len(s.asked.items), 2, "questions")
        seat = s.asked.items[0].requested_schema["properties"]["seat"]
        equal(seat["enum"], ["window", "aisle", "no preference"], "choices")
        contains(s.asked.items[1].message, "seat aisle, suite room", "second question")

    await _

    for action, status in (("decline", "declined"), ("cancel", "cancelled")):

        @step("elicitation " + status)
        async def _() -> None:
            async def refuse(_params: Any) -> types.ElicitResult:
                return types.ElicitResult(action=action)

            s.elicited = refuse
            equal((await book())["status"], status, "status")

        await _

    @step("sampling")
    async def _() -> None:
        async def sample(_params: Any) -> types.CreateMessageResult:
            return types.CreateMessageResult(
                model="interop-model",
                role="assistant",
                stop_reason="endTurn",
                content=types.TextContent(type="text", text="Take the first one."),
            )

        s.asked.clear()
        s.sampled = sample
        r = await c.call_tool("recommend_flight", {"origin": "Zurich", "destination": "New York"})
        contains(text(r), "Take the first one.", "text")
        contains(text(r), "interop-model", "text")
        asked = s.asked.items[0]
        equal([asked.max_tokens, asked.temperature], [300, 0.2], "limits")
        contains(asked.messages[0].content.text, "from Zurich to New York", "prompt")

    await _

    @step("roots")
    async def _() -> None:
        for uris in (["file:///project/a", "file:///project/b"], ["file:///project/c"]):
            s.roots = [types.Root(uri=uri) for uri in uris]
            if not s.modern:
                await c.send_roots_list_changed()
            r = await c.call_tool("list_workspace")
            equal([x["uri"] for x in r.structured_content["roots"]], uris, "roots")

    await _

    @step("asked by a prompt and by a resource")
    async def _() -> None:
        async def fill(params: Any) -> types.ElicitResult:
            fields = params.requested_schema["properties"]
            return types.ElicitResult(action="accept", content={name: "interop" for name in fields})

        s.elicited = fill
        prompt = await c.get_prompt("test_input_required_result_prompt")
        contains(str(prompt.messages), "interop", "messages")
        read = await c.read_resource("test://ask/something")
        contains(read.contents[0].text, "interop", "text")

    await _
