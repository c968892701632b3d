"""Results of the official SDK itself. It needs mcp-types, so test.sh skips it with the oldest dependencies."""

import mcp_types as types

from mcpedge.capability import ImageContent, PromptMessage, ResourceContents, ResourceLink, Server, TextContent, text
from mcpedge.capability.server import offer_of
from mcpedge.capability.testing import call_tool, get_prompt, read_resource


def test_objects_of_the_official_sdk() -> None:
    s = Server("test", "1")

    @s.tool
    def whole() -> types.CallToolResult:
        picture = types.ImageContent(type="image", data="AAE=", mime_type="image/png")
        link = types.ResourceLink(type="resource_link", uri="x://y", name="y", icons=[types.Icon(src="https://example.com/i.png")])
        blocks = [types.TextContent(type="text", text="no", annotations=types.Annotations(audience=["user"])), picture, link]
        return types.CallToolResult(content=blocks, is_error=True, _meta={"a": 1})

    @s.tool
    def content() -> list[types.ContentBlock]:
        resource = types.TextResourceContents(uri="x://y", text="hi")
        return [types.TextContent(type="text", text="hi"), types.EmbeddedResource(type="resource", resource=resource)]

    @s.tool
    def dumped() -> dict[str, object]:
        return types.CallToolResult(content=[types.TextContent(type="text", text="hi")]).model_dump(mode="json", by_alias=True, exclude_none=True)

    @s.prompt
    def prompt() -> types.GetPromptResult:
        return types.GetPromptResult(description="x", messages=[types.PromptMessage(role="user", content=types.TextContent(type="text", text="hi"))])

    @s.resource("x://read")
    def read() -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[types.BlobResourceContents(uri="x://read", mime_type="image/png", blob="AAE=")])

    assert not any(t.listed.output_schema_json for t in offer_of(s).tools.all()[:2])
    out = call_tool(s, "whole")
    assert out.is_error and out.text == "no" and out.result.meta == {"a": 1}
    assert out.result.content[0].annotations.audience == ("user",)
    assert out.result.content[1] == ImageContent(b"\0\1", "image/png")
    assert isinstance(out.result.content[2], ResourceLink) and out.result.content[2].icons[0].src == "https://example.com/i.png"
    assert call_tool(s, "content").result.content[1].resource == ResourceContents("x://y", text="hi")
    assert call_tool(s, "dumped").result.content == [TextContent("hi")]
    assert get_prompt(s, "prompt").result.messages == [PromptMessage("user", text("hi"))]
    assert read_resource(s, "x://read").result.contents == [ResourceContents("x://read", "image/png", blob=b"\0\1")]
