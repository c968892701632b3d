"""Resources: lists, reading, templates with completion, subscriptions and changes."""

import base64
import json
import os
from pathlib import Path

import mcp_types as types
from mcp import MCPError
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

from connect import Session
from steps import contains, equal, error, fail, pages_of, step, walk


async def run(s: Session) -> None:
    c = s.client
    note = Path(s.options.dir, "note.txt")
    file = Path(s.options.dir, f"python-{s.era}-{os.getpid()}.txt")
    uri = file.as_uri()

    @step("resources/list by pages")
    async def _() -> None:
        found, pages = await walk(c.list_resources, "resources")
        contains([r.uri for r in found], "test://static-text", "URIs")
        contains([r.name for r in found], "note.txt", "names")
        equal(pages, pages_of(found, s.options), "pages")

    await _

    @step("resources/read")
    async def _() -> None:
        r = await c.read_resource(note.as_uri())
        equal([r.contents[0].text, r.contents[0].mime_type], ["first\n", "text/plain"], "text")
        r = await c.read_resource("test://static-binary")
        equal(base64.b64decode(r.contents[0].blob)[1:4], b"PNG", "bytes")

    await _

    @step("resources/read not found")
    async def _() -> None:
        e = await error(c.read_resource("test://no-such-resource"), MCPError)
        equal(e.code, -32602 if s.modern else -32002, "code")
        equal(e.data["uri"], "test://no-such-resource", "data.uri")

    await _

    @step("resources/templates/list and read")
    async def _() -> None:
        found, _ = await walk(c.list_resource_templates, "resource_templates")
        contains([t.uri_template for t in found], "weather://forecast/{city}/{date}", "templates")
        r = await c.read_resource("weather://forecast/Tokyo/2026-07-28")
        equal(json.loads(r.contents[0].text)["city"], "Tokyo", "city")

    await _

    @step("completion/complete of a template")
    async def _() -> None:
        ref = types.ResourceTemplateReference(type="ref/resource", uri="travel://flights/{origin}/{destination}")
        argument = {"name": "destination", "value": ""}
        every = (await c.complete(ref, argument)).completion.values
        some = (await c.complete(ref, argument, {"origin": "Zurich"})).completion.values
        if not 0 < len(some) < len(every):
            fail("places connected to Zurich", f"fewer than {len(every)}", some)

    await _
    await (listened if s.modern else subscribed)(s, file, uri)
    file.unlink()


async def subscribed(s: Session, file: Path, uri: str) -> None:
    """Changes in the revisions with sessions."""
    c = s.client

    @step("resources list changed")
    async def _() -> None:
        s.told.clear()
        file.write_text("one\n")
        await s.told.until(lambda n: isinstance(n, types.ResourceListChangedNotification), "list_changed")
        found, _ = await walk(c.list_resources, "resources")
        contains([r.uri for r in found], uri, "URIs")

    await _

    @step("resources/subscribe")
    async def _() -> None:
        s.told.clear()
        await c.subscribe_resource(uri)
        file.write_text("two\n")
        n = await s.told.until(lambda n: isinstance(n, types.ResourceUpdatedNotification), "updated")
        equal(n.params.uri, uri, "uri")
        equal((await c.read_resource(uri)).contents[0].text, "two\n", "text")

    await _

    @step("resources/unsubscribe")
    async def _() -> None:
        note = Path(s.options.dir, "note.txt")
        await c.subscribe_resource(note.as_uri())
        await c.unsubscribe_resource(uri)
        s.told.clear()
        file.write_text("three\n")
        note.write_text("first\n")
        updated = [types.ResourceUpdatedNotification]
        await s.told.until(lambda n: type(n) in updated and n.params.uri == note.as_uri(), "updated of the other")
        equal([n for n in s.told.items if type(n) in updated and n.params.uri == uri], [], "updates after unsubscribe")
        await c.unsubscribe_resource(note.as_uri())

    await _


async def listened(s: Session, file: Path, uri: str) -> None:
    """Changes in the revision without sessions."""
    c = s.client

    @step("subscriptions/listen to the list")
    async def _() -> None:
        async with c.listen(resources_list_changed=True) as stream:
            equal(stream.honored.resources_list_changed, True, "honoured")
            file.write_text("one\n")
            equal(await anext(stream), ResourcesListChanged(), "event")
            found, _ = await walk(c.list_resources, "resources")
            contains([r.uri for r in found], uri, "URIs")

    await _

    @step("subscriptions/listen to a resource")
    async def _() -> None:
        async with c.listen(resource_subscriptions=[uri]) as stream:
            equal(stream.honored.resource_subscriptions, [uri], "honoured")
            file.write_text("two\n")
            equal(await anext(stream), ResourceUpdated(uri=uri), "event")
            equal((await c.read_resource(uri)).contents[0].text, "two\n", "text")

    await _

    @step("subscriptions/listen twice")
    async def _() -> None:
        note = Path(s.options.dir, "note.txt")
        async with c.listen(resource_subscriptions=[uri]) as one, c.listen(resource_subscriptions=[note.as_uri()]) as two:
            note.write_text("first\n")
            equal(await anext(two), ResourceUpdated(uri=note.as_uri()), "event of the second")
            file.write_text("three\n")
            equal(await anext(one), ResourceUpdated(uri=uri), "event of the first")

    await _
