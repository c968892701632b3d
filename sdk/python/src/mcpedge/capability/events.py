"""The events that a handler sends to the client before its result."""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from mcpedge.v1 import common_pb2

COALESCE = 64
"""The number of pending events from which on new progress replaces pending progress, and a new checkpoint a pending one."""
MOST = 1024
"""The maximum number of pending events. Further log messages are dropped, and the client gets their number."""


class Events:
    """The events of one round, which are written in order while the handler runs. put may be called from any thread, and never blocks."""

    def __init__(self, send: Callable[..., Awaitable[None]]) -> None:
        """send writes a message to the stream: send(progress=…)."""
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting: deque[tuple[str, Any]] = deque()
        self._dropped = 0
        self._closed = False
        self._writer: asyncio.Task[None] | None = None

    def put(self, kind: str, event: Any) -> None:
        """Adds an event. After close it is dropped."""
        with self._lock:
            if self._closed:
                return
            if kind in ("progress", "checkpoint") and len(self._waiting) >= COALESCE:
                for i in range(len(self._waiting) - 1, -1, -1):
                    if self._waiting[i][0] == kind:
                        del self._waiting[i]
                        break
            if kind == "log" and len(self._waiting) >= MOST:
                self._dropped += 1
                return
            self._waiting.append((kind, event))
            if len(self._waiting) > 1:
                return  # the writer, which takes all waiting events, is notified already
        try:
            self._loop.call_soon_threadsafe(self._start)
        except RuntimeError:  # the loop has ended, and the call with it
            pass

    def _start(self) -> None:
        if self._writer is None or self._writer.done():
            self._writer = self._loop.create_task(self._drain())

    async def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                kind, event = self._waiting.popleft()
            await self._send(**{kind: event})

    async def close(self) -> None:
        """Writes the pending events. Later events are dropped."""
        with self._lock:
            self._closed = True
            if self._dropped:
                text = f'"{self._dropped} log messages were dropped: the client reads too slowly"'
                self._waiting.append(("log", common_pb2.LogMessage(level=common_pb2.LOG_LEVEL_WARNING, data_json=text)))
        try:
            if self._writer is not None:
                await self._writer
            await self._drain()
        finally:
            self._release()

    def abandon(self) -> None:
        """Drops the pending and all later events."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
        if self._writer is not None:
            self._writer.cancel()
        self._release()

    def _release(self) -> None:
        """Releases the stream, because a program may keep the Call, and thereby this object."""
        self._send = _nowhere
        self._writer = None


async def _nowhere(**_: Any) -> None:
    """Replaces send after the end of the stream; it does nothing."""
