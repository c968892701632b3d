"""The awaitables of async handlers: answers to questions, and results of once."""

import asyncio
import inspect
from collections.abc import Callable, Generator
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")


class Asked(Generic[T]):
    """An awaitable answer. It records whether it was awaited: a handler that returns without awaiting it has ignored the answer."""

    def __init__(self, what: str, settle: Callable[[], Any]) -> None:
        """settle returns the answer, or a coroutine for it, or raises an error. what names the question in errors."""
        self.what = what
        self.awaited = False
        self.refused = False
        """Whether awaiting it raised."""
        self._settle = settle
        self._settled: list[T] = []

    def __await__(self) -> Generator[Any, None, T]:
        self.awaited = True
        if self._settled:  # awaited before
            return self._settled[0]
        try:
            value = self._settle()
            if inspect.iscoroutine(value):
                value = yield from value.__await__()
        except BaseException:
            self.refused = True
            raise
        answer: T = value
        self._settled.append(answer)
        return answer

    def _unawaited(self, *_: object) -> NoReturn:
        raise TypeError(f"{self.what} was not awaited: write await before the call")

    __bool__ = __iter__ = __len__ = __contains__ = __getitem__ = _unawaited


class _Done:
    """An awaitable that does nothing. Methods that send events return it, so that an async handler may await them."""

    def __await__(self) -> Generator[Any, None, None]:
        return None
        yield


DONE = _Done()


def in_loop() -> bool:
    """Returns whether an event loop runs in this thread, which means that the handler is async."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
