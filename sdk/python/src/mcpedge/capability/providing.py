"""Providers of dynamic resources, and their watches."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcpedge.v1 import common_pb2

from .call import Call, CallBase
from .failure import Failure, Reason, StatusError
from .resources import ResourceProvider, ResourceWatcher
from .rounds import Runner, Work, fail_plainly


class Provided:
    """A provider with its prefix. It is watched while there are watchers."""

    def __init__(self, prefix: str, provider: ResourceProvider, runner: Runner, updated: Callable[[str], None], list_changed: Callable[[], None]) -> None:
        self.prefix = prefix
        self.provider = provider
        self._runner = runner
        self._changes = (updated, list_changed)
        self._lock = asyncio.Lock()
        self._users = 0
        self._stop: Callable[[], Any] | None = None

    async def ask(self, what: str, function: Callable[..., Any], *args: Any) -> Any:
        """Calls a method of the provider. Raises Failure or StatusError if it fails."""
        call = next((a for a in args if isinstance(a, CallBase)), Call(common_pb2.RequestContext()))
        return (await self._runner.run(Work(f"{what} of {self.prefix}", function, lambda v: v, _plain, args), call)).value

    async def acquire(self) -> None:
        """Begins to watch for the first watcher. Each successful call needs one release. A watcher that is cancelled meanwhile does not
        stop the begin."""
        beginning = asyncio.ensure_future(self._acquire())
        try:
            await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await asyncio.wait([beginning])
            if beginning.exception() is None:
                await self.release()
            raise

    async def _acquire(self) -> None:
        async with self._lock:
            if self._users == 0 and isinstance(self.provider, ResourceWatcher):
                try:
                    self._stop = await self.ask("watch", self.provider.watch, *self._changes)
                except (Failure, StatusError) as e:
                    raise Failure(Reason.UNAVAILABLE, f"{self.prefix} cannot be watched: {e.message}") from e
            self._users += 1

    async def release(self) -> None:
        """Stops watching after the last watcher. Errors are logged."""
        async with self._lock:
            self._users -= 1
            if self._users == 0 and self._stop is not None:
                stop, self._stop = self._stop, None
                try:
                    await self.ask("the end of the watch", stop)
                except (Failure, StatusError) as e:
                    self._runner.log.error("the watch of %s did not end: %s", self.prefix, e.message)


def _plain(error: Exception) -> Any:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        raise Failure(Reason.NOT_FOUND, "there is no such resource")
    return fail_plainly(error)
