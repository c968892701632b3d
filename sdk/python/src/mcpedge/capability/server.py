"""The Server: what a service offers."""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from typing_extensions import Unpack

from mcpedge.v1 import common_pb2

from .call import cache_hint
from .failure import DefinitionError, not_found
from .feed import Feed
from .prompts import PromptEntry, PromptOptions, make_prompt
from .providing import Provided
from .registry import Entry, Registry
from .resources import ResourceEntry, ResourceOptions, ResourceProvider, make_resource
from .rounds import Runner
from .schema import name_of, object_json
from .tools import ToolEntry, ToolOptions, make_raw_tool, make_tool
from .types import Icon, Implementation, Tool

if TYPE_CHECKING:
    from .identity import Identities

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["tools", "resources", "prompts"]


class Server:
    """A service's tools, resources and prompts, served by the gRPC contract. Everything may be added and removed at any
    time, from any thread: watchers are notified. A Server is served once: after close it stays closed."""

    message_bytes = 16 << 20
    """Bounds a message in either direction."""

    def __init__(
        self,
        name: str,
        version: str,
        *,
        title: str = "",
        description: str = "",
        website: str = "",
        icons: Sequence[Icon] = (),
        instructions: str = "",
        extensions: Mapping[str, dict[str, Any]] | None = None,
        list_cache: tuple[float, bool] | None = None,
        announce: Sequence[Kind] = (),
        identity: "Identities | None" = None,
        logger: logging.Logger | None = None,
        grace: float = 10,
        threads: int = 64,
    ) -> None:
        """Name and version are shown to operators, and to clients if this is the edge's only backend.

        instructions explain the service to the model. extensions are protocol extensions by their ids, with their settings.
        list_cache is how many seconds clients may cache the lists, and whether callers may share them; None disables that.
        announce has kinds that are announced even if there are no entries when the edge connects. identity refuses work
        without an identity signed by the edge; None trusts the connection. logger is the service's own log; None means
        mcpedge.capability. grace is for how many seconds running calls may finish at the end. threads is how many plain
        handlers run concurrently.
        """
        self.info = Implementation(name=name, version=version, title=title, description=description, website_url=website, icons=icons)
        self.instructions = instructions
        self.extensions = {id_: object_json(f"the settings of the extension {id_!r}", settings) for id_, settings in (extensions or {}).items()}
        self.list_cache: common_pb2.CacheHint | None = cache_hint(*list_cache) if list_cache else None
        self.announce = frozenset(announce)
        self.identity = identity
        self.log = logger or logging.getLogger("mcpedge.capability")
        self.grace = grace
        self.runner = Runner(self.log, threads)
        self.tool_feed, self.prompt_feed, self.resource_feed, self.updates = Feed(), Feed(), Feed(), Feed()
        self.tools: Registry[ToolEntry] = Registry("tool", self.tool_feed)
        self.prompts: Registry[PromptEntry] = Registry("prompt", self.prompt_feed)
        self.resources: Registry[ResourceEntry] = Registry("resource", self.resource_feed)
        self.templates: Registry[ResourceEntry] = Registry("resource template", self.resource_feed)
        self.cancels: dict[str, Callable[..., Any]] = {}
        self.providers: Registry[Provided] = Registry("provider of", self.resource_feed)

    # Tools.

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
        """Makes a function, async or plain (which runs in a thread), a tool, and returns the function unchanged.

        Its parameters are the arguments: their schemas are generated from the annotations (pydantic's Field in Annotated
        adds conditions), and their descriptions from the docstring, in the style of Google or Sphinx. A parameter annotated
        with Call receives the Call. The annotation of the returned value determines the result: str, Content and
        list[Content] are content, Result is the complete result, None is empty, Any is converted by the type of the value,
        and every other type is structured content with a schema. output is a type for the schema of a tool that returns a
        Result.

        read_only: it changes nothing; idempotent: repeating the call changes nothing more. The edge relies on both: such a
        call may be retried after a replica was lost. Clients assume destructive and open_world by default.

        An exception becomes a result with `isError` and its text, which a model can act on. Failure keeps its reason,
        InputRequired ends the round, the errors of a gRPC call keep their status. Exceptions of Python itself that are
        mistakes of a program (rounds.FAULTS) become INTERNAL, and their text is only logged.

        A definition that cannot be served raises DefinitionError: a parameter without an annotation, a type without a
        schema, a duplicate name.
        """

        define = _adds(self.tools, make_tool, **options)
        return define(function) if function is not None else define

    def raw_tool(self, tool: Tool) -> Callable[[F], F]:
        """Adds a tool by its description, with unchanged schemas (an empty input schema accepts any object), for a function
        that takes the arguments as one dict. Exceptions are as in tool. Do not change the Tool afterwards."""

        return _adds(self.tools, make_raw_tool, tool=tool)

    def remove_tool(self, name: str) -> bool:
        """Removes a tool, and returns whether it existed. Running calls continue."""
        return self.tools.remove(name)

    def on_cancel(self, tool: str) -> Callable[[F], F]:
        """Sets a function of a Call that is called when a task of the tool was cancelled between two rounds, with the
        Call's state and id, so that it can end the job of the task. A running round is cancelled itself instead. The
        notification may be lost. It replaces an earlier function."""

        def define(function: F) -> F:
            try:
                inspect.signature(function).bind(None)
            except TypeError as e:
                raise DefinitionError(f"{name_of(function)}: it is called with the Call alone; have it take that, as call: Call ({e})") from e
            self.cancels[tool] = function
            return function

        return define

    # Resources and prompts.

    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Adds a resource by a function, or the resources of a URI template (RFC 6570, as "notes://{day}"): its variables
        are parameters, and complete has suggestions for them. A parameter named uri receives the URI that is read, one
        annotated with Call the Call.

        The function returns a text, bytes (which are text if they are UTF-8 and the MIME type permits it), ResourceContents
        or a list of them; None means that the resource does not exist. FileNotFoundError becomes NOT_FOUND, PermissionError
        PERMISSION_DENIED, Failure keeps its reason, others are INTERNAL.
        """

        registry = self.templates if "{" in uri else self.resources
        return _adds(registry, make_resource, uri=uri, **options)

    def remove_resource(self, uri: str) -> bool:
        """Whether there was such a resource, or such a template."""
        return self.resources.remove(uri) or self.templates.remove(uri)

    def provide(self, prefix: str, provider: ResourceProvider) -> None:
        """Serves every URI that begins with the prefix by a provider. Exact resources and templates take precedence, and so
        does a longer prefix."""
        if not prefix:
            raise DefinitionError("a provider needs a prefix of its URIs, as notes://")
        if not isinstance(provider, ResourceProvider):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(f"what is provided for {prefix!r} must be a ResourceProvider, not {type(provider).__name__}")
        provided = Provided(prefix, provider, self.runner, self.resource_updated, self.resources_changed)
        self.providers.add(prefix, provided, name_of(type(provider)))

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    def prompt(self, function: Callable[..., Any] | None = None, /, **options: Unpack[PromptOptions]) -> Any:
        """Adds a prompt by a function whose parameters are the arguments; one with a default is optional. It returns a
        text, a message or a list of them, or a PromptResult. complete has suggestions by argument. Failure keeps its
        reason, other exceptions are INTERNAL."""

        define = _adds(self.prompts, make_prompt, **options)
        return define(function) if function is not None else define

    def remove_prompt(self, name: str) -> bool:
        """Removes a prompt, and returns whether it existed. Running calls continue."""
        return self.prompts.remove(name)

    # Changes.

    def tools_changed(self) -> None:
        """Notifies watchers that the list of tools has changed. Adding and removing does so, too."""
        self.tool_feed.publish()

    def prompts_changed(self) -> None:
        """Notifies watchers that the list of prompts has changed. Adding and removing does so, too."""
        self.prompt_feed.publish()

    def resources_changed(self) -> None:
        """Notifies watchers that the resources or templates have changed. Adding and removing does so, too; it is for
        providers whose list changed."""
        self.resource_feed.publish()

    def resource_updated(self, uri: str) -> None:
        """Notifies watchers of this URI, or of a parent (a URI that ends with a slash), that it has changed."""
        self.updates.publish(uri)

    def close(self) -> None:
        """Ends all change feeds, for good. serve calls it; call it before the end of your own gRPC server."""
        for feed in (self.tool_feed, self.prompt_feed, self.resource_feed, self.updates):
            feed.close()

    # What serves it.

    def add_to(self, on: Any) -> Sequence[str]:
        """Adds the services of the contract to a gRPC server, and returns their names."""
        from .services import register

        return register(self, on)

    def provider(self, uri: str) -> Provided:
        """The provider of a URI. Failure NOT_FOUND."""
        fitting = [p for p in self.providers.all() if uri.startswith(p.prefix)]
        if not fitting:
            raise not_found(uri)
        return max(fitting, key=lambda p: len(p.prefix))

    def run(self, argv: Sequence[str] | None = None) -> None:
        """The rest of a program; see run of the package."""
        from .serve import run

        run(self, argv)


def _adds(registry: Registry[Any], make: Callable[..., Entry[Any]], **options: Any) -> Callable[[F], F]:
    """A decorator that adds a function, and returns the function unchanged."""

    def define(function: F) -> F:
        entry = make(function, **options)
        registry.add(entry.key, entry, name_of(function))
        return function

    return define
