"""Threads for plain handlers."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any


class Pool:
    """Runs functions in at most so many threads, which are made when they are needed. They are daemons: a function that does not end
    does not keep the process from ending, unlike one of a ThreadPoolExecutor."""

    def __init__(self, threads: int) -> None:
        self._free = threads
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()

    def submit(self, function: Callable[[], Any]) -> "Future[Any]":
        """Runs a function when a thread is free."""
        future: Future[Any] = Future()
        self._waiting.put((future, function))
        if not self._idle.acquire(blocking=False):
            with self._lock:
                starts = self._free > 0
                self._free -= starts
            if starts:
                threading.Thread(target=self._work, name="handler", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            try:
                future, function = self._waiting.get_nowait()
            except Empty:
                self._idle.release()
                future, function = self._waiting.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as e:
                    future.set_exception(e)
            del future, function
