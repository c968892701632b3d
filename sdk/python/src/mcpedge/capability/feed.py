"""Change feeds."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import grpc

from .failure import StatusError

MAX_PENDING = 1024
"""The maximum number of different pending URIs of one watcher. Beyond it they become one event for the watched URI."""


class _Watcher:
    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.loop = asyncio.get_running_loop()
        self.wake = asyncio.Event()
        self.pending: dict[str, None] = {}

    def matches(self, uri: str) -> bool:
        return uri == self.uri or (self.uri.endswith("/") and uri.startswith(self.uri))

    def tell(self) -> None:
        """Wakes the watcher, from any thread."""
        try:
            self.loop.call_soon_threadsafe(self.wake.set)
        except RuntimeError:  # its loop has ended, and so has the watch
            pass


class Feed:
    """Notifies watchers of changes. Pending changes of a slow watcher are coalesced; publishing never blocks. All methods may be called
    from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watchers: set[_Watcher] = set()
        self._closed = False

    def publish(self, uri: str = "") -> None:
        """Notifies watchers of this URI, or of a parent that ends with a slash."""
        with self._lock:
            for watcher in self._watchers:
                if watcher.matches(uri):
                    if len(watcher.pending) == MAX_PENDING and uri not in watcher.pending:
                        watcher.pending = {watcher.uri: None}
                    else:
                        watcher.pending[uri] = None
                    watcher.tell()

    def close(self) -> None:
        """Ends all watches. New ones fail."""
        with self._lock:
            self._closed = True
            for watcher in self._watchers:
                watcher.tell()

    async def serve(self, uri: str, started: Callable[[], Awaitable[None]], send: Callable[[str], Awaitable[None]]) -> None:
        """Runs one watcher's stream: calls started first, then send for each change, until the caller disconnects (cancellation) or the
        feed is closed (StatusError UNAVAILABLE)."""
        watcher = _Watcher(uri)
        with self._lock:
            self._watchers.add(watcher)
            if self._closed:
                watcher.wake.set()
        try:
            await started()
            while True:
                await watcher.wake.wait()
                with self._lock:
                    watcher.wake.clear()
                    changed, watcher.pending = watcher.pending, {}
                    closed = self._closed
                for changed_uri in changed:
                    await send(changed_uri)
                if closed:
                    raise StatusError(grpc.StatusCode.UNAVAILABLE, "the service is stopping; watch again elsewhere")
        finally:
            with self._lock:
                self._watchers.discard(watcher)
