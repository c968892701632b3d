"""Entries by key, in the order of their registration."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .call import CallBase
from .failure import DefinitionError, Failure, Reason, quote
from .feed import Feed
from .rounds import Work

E = TypeVar("E")
L = TypeVar("L")
Completer = Callable[[str, dict[str, str], CallBase], Work]
"""Returns the work of a completion, for the typed text, the arguments already chosen, and the call."""


@dataclass(frozen=True)
class Entry(Generic[L]):
    """A tool, resource or prompt: its entry in a list, and the work of a request."""

    key: str
    """Its name, URI or URI template."""
    listed: L
    work: Callable[[Any, CallBase], Work]
    """Returns the work of a request, for its arguments or URI. Raises Failure if they are invalid."""
    completers: dict[str, Completer] = field(default_factory=dict[str, Completer])


class Registry(Generic[E]):
    """Entries by key. Readers get a snapshot, and every change is published. Safe for concurrent use."""

    def __init__(self, kind: str, changes: Feed) -> None:
        self.kind = kind
        self._changes = changes
        self._lock = threading.Lock()
        self._entries: dict[str, E] = {}

    def add(self, key: str, entry: E, function: str) -> None:
        """Adds an entry. Raises DefinitionError with the function's name if the key exists."""
        with self._lock:
            if key in self._entries:
                raise DefinitionError(f"{function}: there is a {self.kind} {key!r} already; give this one another name, or remove that one first")
            self._entries = {**self._entries, key: entry}
        self._changes.publish()

    def remove(self, key: str) -> bool:
        """Removes an entry, and returns whether it existed."""
        with self._lock:
            if key not in self._entries:
                return False
            self._entries = {k: e for k, e in self._entries.items() if k != key}
        self._changes.publish()
        return True

    def get(self, key: str) -> E | None:
        return self._entries.get(key)

    def find(self, key: str) -> E:
        """Returns an entry. Raises Failure NOT_FOUND if there is none."""
        if key not in self._entries:
            raise Failure(Reason.NOT_FOUND, f"there is no {self.kind} {quote(key)}")
        return self._entries[key]

    def all(self) -> list[E]:
        return list(self._entries.values())
