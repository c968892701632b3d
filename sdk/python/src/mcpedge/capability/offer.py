"""The registered parts of a Server, for the code that serves them."""

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcpedge.v1 import common_pb2

from .failure import not_found
from .feed import Feed
from .prompts import PromptEntry
from .providing import Provided
from .registry import Registry
from .resources import ResourceEntry
from .rounds import Runner
from .tools import ToolEntry
from .types import Implementation

if TYPE_CHECKING:
    from .identity import Identities


@dataclass
class Offer:
    """The registered parts of a Server, and its options."""

    info: Implementation
    log: logging.Logger
    grace: float
    runner: Runner
    instructions: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict[str, str])
    list_cache: common_pb2.CacheHint | None = None
    announce: frozenset[str] = frozenset()
    identity: "Identities | None" = None
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
    tool_feed: Feed = field(default_factory=Feed)
    prompt_feed: Feed = field(default_factory=Feed)
    resource_feed: Feed = field(default_factory=Feed)
    updates: Feed = field(default_factory=Feed)
    cancels: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    yielded: Any = None
    """The value that the lifespan yielded."""

    def __post_init__(self) -> None:
        self.tools: Registry[ToolEntry] = Registry("tool", self.tool_feed)
        self.prompts: Registry[PromptEntry] = Registry("prompt", self.prompt_feed)
        self.resources: Registry[ResourceEntry] = Registry("resource", self.resource_feed)
        self.templates: Registry[ResourceEntry] = Registry("resource template", self.resource_feed)
        self.providers: Registry[Provided] = Registry("provider of", self.resource_feed)

    def provider(self, uri: str) -> Provided:
        """Returns the provider of a URI. Raises Failure NOT_FOUND if there is none."""
        fitting = [p for p in self.providers.all() if uri.startswith(p.prefix)]
        if not fitting:
            raise not_found(uri)
        return max(fitting, key=lambda p: len(p.prefix))

    def close(self) -> None:
        """Ends all change feeds. New ones fail."""
        for feed in (self.tool_feed, self.prompt_feed, self.resource_feed, self.updates):
            feed.close()

    @asynccontextmanager
    async def living(self) -> AsyncGenerator[None, None]:
        """Enters the lifespan, and leaves it at the end."""
        if self.lifespan is None:
            yield
            return
        async with self.lifespan() as self.yielded:
            yield
