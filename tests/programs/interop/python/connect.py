"""Connecting, as a client that can be asked everything."""

import argparse
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

from steps import Inbox, contains, equal, step

REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}


@dataclass
class Session:
    """What all steps share."""

    options: argparse.Namespace
    era: str
    client: Client = None  # type: ignore[assignment]
    # What the server asked, and the answers, which a step may replace.
    asked: Inbox = field(default_factory=Inbox)
    elicited: Any = None
    sampled: Any = None
    roots: Any = None
    # Notifications.
    told: Inbox = field(default_factory=Inbox)
    logged: Inbox = field(default_factory=Inbox)

    @property
    def modern(self) -> bool:
        return self.era == "modern"

    async def on_elicit(self, _context: Any, params: Any) -> Any:
        self.asked.put(params)
        return await self.elicited(params)

    async def on_sample(self, _context: Any, params: Any) -> Any:
        self.asked.put(params)
        return await self.sampled(params)

    async def on_roots(self, _context: Any) -> Any:
        return types.ListRootsResult(roots=self.roots)

    async def on_log(self, params: Any) -> None:
        self.logged.put(params)

    async def on_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        self.told.put(message)

    def make(self, **more: Any) -> Client:
        o = self.options
        if o.sse:
            server: Any = sse_client(o.sse)
        else:
            server = o.url or StdioServerParameters(command=o.command[0], args=o.command[1:])
        return Client(
            server,
            # HTTP+SSE has no modern revisions: there, let the SDK find that out.
            mode="legacy" if self.era == "legacy" and not o.sse else "auto",
            client_info=types.Implementation(name="interop-python", version="1.0.0"),
            elicitation_callback=self.on_elicit,
            sampling_callback=self.on_sample,
            list_roots_callback=self.on_roots,
            logging_callback=self.on_log,
            message_handler=self.on_message,
            **more,
        )


@asynccontextmanager
async def session(options: argparse.Namespace, era: str) -> AsyncGenerator[Session]:
    s = Session(options, era)
    async with s.make() as s.client:

        @step("initialize" if era == "legacy" else "server/discover")
        async def _() -> None:
            c = s.client
            equal(c.protocol_version, REVISIONS[era], "revision")
            print("speaks", c.protocol_version)
            equal(c.server_info.name, "mcpedge", "server name")
            can = c.server_capabilities
            equal([can.tools.list_changed, can.prompts.list_changed], [True, True], "tools and prompts capabilities")
            equal([can.resources.list_changed, can.resources.subscribe], [True, True], "resources capability")
            contains(c.instructions, "sample data", "instructions")

        await _
        if era == "legacy":

            @step("ping")
            async def _() -> None:
                await s.client.send_ping()

            await _
        yield s
