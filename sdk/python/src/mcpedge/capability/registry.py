"""Entries by key, in the order of their registration."""

import threading
from typing import Generic, TypeVar

from .feed import Feed

E = TypeVar("E")


class Registry(Generic[E]):
    """Readers get a snapshot; every change is published. Safe for concurrent use."""

    def __init__(self, changes: Feed) -> None:
        self._changes = changes
        self._lock = threading.Lock()
        self._entries: dict[str, E] = {}

    def add(self, key: str, entry: E) -> bool:
        """False: the key is taken, and nothing changed."""
        with self._lock:
            if key in self._entries:
                return False
            self._entries = {**self._entries, key: entry}
        self._changes.publish()
        return True

    def remove(self, key: str) -> bool:
        """Whether there was such an entry."""
        with self._lock:
            if key not in self._entries:
                return False
            self._entries = {k: e for k, e in self._entries.items() if k != key}
        self._changes.publish()
        return True

    def get(self, key: str) -> E | None:
        return self._entries.get(key)

    def all(self) -> list[E]:
        return list(self._entries.values())
