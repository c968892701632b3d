"""A tea house: a tool that asks its user and reports progress, a long-running tool, a resource template and a prompt."""

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic import Field

from mcpedge.capability import AsyncCall, Failure, Reason, Server, Tasks, Unanswered

TEAS = {"assam": "strong and malty", "oolong": "between green and black", "sencha": "fresh and grassy"}
Tea = Enum("Tea", {name: name for name in TEAS})
BASE = "tea://python/"

server = Server("teahouse-python", "1.0.0")


@dataclass
class Brewed:
    tea: str
    cups: int
    trace: str


@dataclass
class Steeped:
    minutes: int


@server.tool
async def brew(tea: Tea, call: AsyncCall) -> Brewed:
    """Brews as many cups as asked"""
    try:  # the first round ends here: the user is asked, and the function runs again with the answer
        cups = await call.ask("cups", f"How many cups of {tea.value}?", Annotated[int, Field(ge=1, le=5)])
    except Unanswered:
        cups = 0
    for cup in range(1, cups + 1):
        await call.progress(cup, cups, f"cup {cup} of {cups}")
        await asyncio.sleep(0.05)
    trace_id = trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)
    return Brewed(tea.value, cups, trace_id)


@server.tool(idempotent=True, tasks=Tasks("optional"))
async def steep(minutes: Annotated[int, Field(ge=1)], call: AsyncCall) -> Steeped:
    """Steeps for minutes"""
    try:
        for minute in range(1, minutes + 1):
            await call.progress(minute, minutes, f"minute {minute} of {minutes}")
            await asyncio.sleep(0.25)
    except asyncio.CancelledError:  # when a task is cancelled, its call is, as any other
        print("steeping was cancelled", flush=True)
        raise
    return Steeped(minutes)


@server.resource(BASE + "{name}", mime_type="text/plain", complete={"name": list(TEAS)})
def tea(name: str) -> str:
    """What there is to say of a tea"""
    if name not in TEAS:
        raise Failure(Reason.NOT_FOUND, f"there is no tea {name!r}")
    return f"{name} is {TEAS[name]}"


def read(uri: str) -> str:
    return tea(uri.removeprefix(BASE))


for listed in TEAS:
    server.resource(BASE + listed, name=listed, mime_type="text/plain")(read)


@server.prompt
def recommend(mood: Annotated[str, Field(description="How the guest feels")]) -> str:
    """Recommends a tea"""
    return f"Recommend one of {', '.join(TEAS)} to a guest who feels {mood}."


trace.set_tracer_provider(TracerProvider())  # add a span processor to export what is traced
server.run()
