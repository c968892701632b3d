"""The command line, steps, and waiting for conditions."""

import argparse
import os
import traceback
import urllib.request
from collections.abc import Awaitable, Callable
from importlib import metadata
from typing import Any

import anyio
import anyio.to_thread

PATIENCE = 60  # seconds, for anything that is awaited

prefix = ""  # of every step's name


class Mismatch(Exception):
    pass


def options() -> argparse.Namespace:
    """Reads "--dir DIR", and "--url URL" with "--cut URL" or "--drain URL", "--sse URL" or "-- COMMAND ARGUMENTS…"."""
    p = argparse.ArgumentParser()
    p.add_argument("--dir", required=True)
    p.add_argument("--url")
    p.add_argument("--cut")
    p.add_argument("--drain")
    p.add_argument("--sse")
    p.add_argument("command", nargs="*")
    o = p.parse_args()
    if not (o.url and (o.cut or o.drain)) and not o.sse and not o.command:
        p.error("give one of: --url URL with --cut URL or --drain URL, --sse URL, -- COMMAND ARGUMENTS…")
    return o


def uses(package: str) -> None:
    """Says which library this is, and its version."""
    print("uses", package, metadata.version(package), flush=True)


def step(name: str) -> Callable[[Callable[[], Awaitable[Any]]], Awaitable[None]]:
    """Runs a function and prints "ok <name>". A failure ends the program."""

    async def run(body: Callable[[], Awaitable[Any]]) -> None:
        try:
            with anyio.fail_after(PATIENCE):
                await body()
        except Exception as e:
            why = str(e) if isinstance(e, Mismatch) else traceback.format_exc()
            print(f"FAILED {prefix}{name}: {why}", flush=True)
            os._exit(1)  # sys.exit would raise, and the SDK's task groups would wait and wrap
        print(f"ok {prefix}{name}", flush=True)

    return run


def fail(what: str, want: Any, got: Any) -> None:
    raise Mismatch(f"{what}:\n  expected {want!r}\n  got      {got!r}")


def equal(got: Any, want: Any, what: str = "value") -> None:
    if got != want:
        fail(what, want, got)


def contains(got: Any, part: Any, what: str = "value") -> None:
    if part not in got:
        fail(what, f"something with {part!r}", got)


async def error(call: Awaitable[Any], kind: type[Exception]) -> Any:
    """Waits for a call to fail and returns its error."""
    try:
        result = await call
    except kind as e:
        return e
    fail("outcome", kind.__name__, result)


class Inbox:
    """Keeps what comes and lets a step wait for it."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._came = anyio.Event()

    def put(self, item: Any) -> None:
        self.items.append(item)
        self._came.set()
        self._came = anyio.Event()

    async def until(self, test: Callable[[Any], bool], what: str) -> Any:
        """Waits for an item that passes the test."""
        try:
            with anyio.fail_after(PATIENCE * 0.8):  # before the step's time is up
                while True:
                    for item in self.items:
                        if test(item):
                            return item
                    await self._came.wait()
        except TimeoutError:
            fail(what, "one of that kind in time", self.items)

    def clear(self) -> None:
        self.items.clear()


def text(result: Any) -> str:
    """Joins the texts of a content list."""
    return "\n".join(c.text for c in result.content if c.type == "text")


async def walk(listing: Callable[..., Awaitable[Any]], field: str) -> tuple[list[Any], int]:
    """All pages of a list: its entries, and how many pages there were."""
    entries: list[Any] = []
    pages, cursor = 0, None
    while pages < 100:
        page = await listing(cursor=cursor)
        entries += getattr(page, field)
        pages, cursor = pages + 1, page.next_cursor
        if cursor is None:
            break
    return entries, pages


def pages_of(entries: list[Any], options: argparse.Namespace) -> int:
    """How many pages so many entries have: of three each, but for the replicas, whose pages hold all."""
    return 1 if options.drain else -(-len(entries) // 3)


async def drain(options: argparse.Namespace) -> None:
    """Has the replica that serves the most calls end, with SIGTERM."""
    await _control(options.drain)


async def kill(options: argparse.Namespace) -> None:
    """Ends the replica that serves the most calls with SIGKILL."""
    await _control(options.drain + "/kill")


async def restore(options: argparse.Namespace) -> None:
    """Starts the replicas that ended, and waits until all are ready."""
    await _control(options.drain + "/restore")


async def _control(url: str) -> None:
    def post() -> None:
        with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=PATIENCE):
            pass  # a status that is no success is an exception

    await anyio.to_thread.run_sync(post)
