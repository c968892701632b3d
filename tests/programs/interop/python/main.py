"""Drives an edge with the Python SDK (PyPI mcp), which speaks the handshake's revisions and the
per-request one: every step is done in both. HTTP+SSE has the former only."""

import warnings

import anyio

import asking
import broken
import connect
import prompts
import resources
import running
import steps
import tools


async def main() -> None:
    options = steps.options()
    steps.uses("mcp")
    for era in ("legacy",) if options.sse else ("legacy", "modern"):
        steps.prefix = era + " "
        async with connect.session(options, era) as session:
            for part in (tools, asking, resources, prompts, running):
                await part.run(session)
            if options.cut and era == "legacy":
                await broken.run(session)
            if options.drain and era == "legacy":  # it leaves one replica, which the steps after it do not mind
                await broken.drained(session)
        print(f"ok {era} close", flush=True)
    if options.cut:
        steps.prefix = ""
        await broken.resume_explicitly(options)


if __name__ == "__main__":
    # The SDK warns of what the newest revision deprecates; older servers still have it.
    warnings.simplefilter("ignore")
    anyio.run(main)
