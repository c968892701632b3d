"""The Server: the registered tools, resources and prompts of a service."""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from typing_extensions import Unpack

from .failure import DefinitionError
from .offer import Offer
from .prompts import PromptOptions, make_prompt
from .providing import Provided
from .registry import Entry, Registry
from .resources import ResourceOptions, ResourceProvider, make_resource
from .rounds import Runner
from .schema import name_of, object_json
from .tools import RawToolOptions, ToolOptions, make_raw_tool, make_tool
from .types import Icon, Implementation, Tool
from .wire import cache_hint

if TYPE_CHECKING:
    from .identity import Identities

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["tools", "resources", "prompts"]


class Server:
    """A service's tools, resources and prompts, served by the gRPC contract. Everything may be added and removed at any
    time, from any thread: watchers are notified. A Server is served once: after close it stays closed."""

    message_bytes = 16 << 20
    """The maximum size of a message, in either direction."""

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
        mask_errors: bool = False,
        lifespan: "Callable[[Server], AbstractAsyncContextManager[Any]] | None" = None,
    ) -> None:
        """Name and version are shown to operators, and to clients if this is the edge's only backend.

        instructions explain the service to the model. extensions are protocol extensions by their ids, with their settings.
        list_cache is how many seconds clients may cache the lists, and whether callers may share them; None disables that.
        announce has kinds that are announced even if there are no entries when the edge connects. identity refuses work
        without an identity signed by the edge; None trusts the connection. logger is the service's own log; None means
        mcpedge.capability. grace is for how many seconds running calls may finish at the end. threads is how many plain
        handlers run concurrently.

        mask_errors hides the text of every exception of a handler that has no reason: only Failure, the statuses of gRPC and Unanswered
        are shown. By default only faults are hidden. lifespan is a function of the Server that returns an async context manager: serve enters
        it before it listens, and leaves it after the last call; Call.lifespan is what it yields.
        """
        if len(version.split()) != 1:
            raise DefinitionError(f"the version of a Server is a word as 1.0.0, not {version!r:.80}; a description for the model is instructions=")
        given = {id_: object_json(f"the settings of the extension {id_!r}", settings) for id_, settings in (extensions or {}).items()}
        log = logger or logging.getLogger("mcpedge.capability")
        self._offer = Offer(
            info=Implementation(name=name, version=version, title=title, description=description, website_url=website, icons=icons),
            instructions=instructions,
            extensions=given,
            list_cache=cache_hint(*list_cache) if list_cache else None,
            announce=frozenset(announce),
            identity=identity,
            log=log,
            grace=grace,
            runner=Runner(log, threads, mask_errors=mask_errors),
            lifespan=(lambda: lifespan(self)) if lifespan else None,
        )

    # Tools.

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, name: str, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Callable[..., Any] | str | None = None, /, **options: Unpack[ToolOptions]) -> Any:
        """Makes a function, async or plain (which runs in a thread), a tool, and returns the function unchanged.

        Its parameters are the arguments: their schemas are generated from the annotations (pydantic's Field in Annotated
        adds conditions, a str in it is the description), and their descriptions from the docstring, in the style of Google or
        Sphinx. bytes are base64. Other arguments are refused by name; unknown_arguments="allow" drops them. A parameter
        annotated with Call or AsyncCall receives the Call. The annotation of the returned value determines the result: str and
        content, also in a list, are content, Result is the complete result, None is empty, Any, dict and list are converted by
        the type of the value, and every other type is structured content with a schema. output is a type for the schema of a
        tool that returns a Result. Results and content of the official SDK and of FastMCP are taken as they are, also as dicts.

        read_only: it changes nothing; idempotent: repeating the call changes nothing more. The edge relies on both: such a
        call may be retried after a replica was lost. Clients assume destructive and open_world by default.

        An exception becomes a result with `isError` and its text, which a model can act on. Failure keeps its reason, but
        NOT_FOUND is for the model, too. InputRequired ends the round, the errors of a gRPC call keep their status. Exceptions of
        Python itself that are about the code (rounds.FAULTS) become INTERNAL, and their text is only logged.

        A definition that cannot be served raises DefinitionError: a parameter without an annotation, a type without a
        schema, a duplicate name.
        """

        if isinstance(function, str):
            return _adds(self._offer.tools, make_tool, **{"name": function, **options})
        define = _adds(self._offer.tools, make_tool, **options)
        return define(function) if function is not None else define

    def raw_tool(self, tool: Tool, /, **options: Unpack[RawToolOptions]) -> Callable[[F], F]:
        """Adds a tool by its description, with unchanged schemas (an empty input schema accepts any object), for a function
        that takes the arguments as one dict. Exceptions are as in tool."""

        return _adds(self._offer.tools, make_raw_tool, tool=tool, **options)

    def remove_tool(self, name: str) -> bool:
        """Removes a tool, and returns whether it existed. Running calls continue."""
        return self._offer.tools.remove(name)

    def on_cancel(self, tool: str) -> Callable[[F], F]:
        """Sets a function of a Call that is called when a task of the tool was cancelled between two rounds, with the
        Call's state and id, so that it can end the job of the task. A running round is cancelled itself instead. The
        notification may be lost. It replaces an earlier function."""

        def define(function: F) -> F:
            try:
                inspect.signature(function).bind(None)
            except TypeError as e:
                raise DefinitionError(f"{name_of(function)}: it is called with the Call alone; have it take that, as call: Call ({e})") from e
            self._offer.cancels[tool] = function
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

        registry = self._offer.templates if "{" in uri else self._offer.resources
        return _adds(registry, make_resource, uri=uri, **options)

    def remove_resource(self, uri: str) -> bool:
        """Removes a resource or template, and returns whether it existed."""
        return self._offer.resources.remove(uri) or self._offer.templates.remove(uri)

    def provide(self, prefix: str, provider: ResourceProvider) -> None:
        """Serves every URI that begins with the prefix by a provider. Exact resources and templates take precedence, and so
        does a longer prefix."""
        if not prefix:
            raise DefinitionError("a provider needs a prefix of its URIs, as notes://")
        if not isinstance(provider, ResourceProvider):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(f"what is provided for {prefix!r} must be a ResourceProvider, not {type(provider).__name__}")
        provided = Provided(prefix, provider, self._offer.runner, self.resource_updated, self.resources_changed)
        self._offer.providers.add(prefix, provided, name_of(type(provider)))

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, name: str, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    def prompt(self, function: Callable[..., Any] | str | None = None, /, **options: Unpack[PromptOptions]) -> Any:
        """Adds a prompt by a function whose parameters are the arguments; one with a default is optional. It returns a
        text, a message or a list of them, or a PromptResult. complete has suggestions by argument. Failure keeps its
        reason, other exceptions are INTERNAL."""

        if isinstance(function, str):
            return _adds(self._offer.prompts, make_prompt, **{"name": function, **options})
        define = _adds(self._offer.prompts, make_prompt, **options)
        return define(function) if function is not None else define

    def remove_prompt(self, name: str) -> bool:
        """Removes a prompt, and returns whether it existed. Running calls continue."""
        return self._offer.prompts.remove(name)

    # Changes.

    def tools_changed(self) -> None:
        """Notifies watchers that the list of tools has changed. Adding and removing does so, too."""
        self._offer.tool_feed.publish()

    def prompts_changed(self) -> None:
        """Notifies watchers that the list of prompts has changed. Adding and removing does so, too."""
        self._offer.prompt_feed.publish()

    def resources_changed(self) -> None:
        """Notifies watchers that the resources or templates have changed. Adding and removing does so, too; it is for
        providers whose list changed."""
        self._offer.resource_feed.publish()

    def resource_updated(self, uri: str) -> None:
        """Notifies watchers of this URI, or of a parent (a URI that ends with a slash), that it has changed."""
        self._offer.updates.publish(uri)

    def close(self) -> None:
        """Ends all change feeds; new ones fail. serve calls it. With your own gRPC server, call it before that server stops."""
        self._offer.close()

    # What serves it.

    def add_to(self, on: Any) -> Sequence[str]:
        """Adds the services of the contract to a gRPC server, and returns their names."""
        from .services import register

        return register(self, on)

    def run(self, argv: Sequence[str] | None = None) -> None:
        """Runs a complete main program; see run of the package."""
        from .serve import run

        run(self, argv)


def offer_of(server: Any) -> Offer:
    """Returns the registered parts of a Server."""
    return server._offer  # type: ignore[no-any-return]


def _adds(registry: Registry[Any], make: Callable[..., Entry[Any]], **options: Any) -> Callable[[F], F]:
    """A decorator that adds a function, and returns the function unchanged."""

    def define(function: F) -> F:
        entry = make(function, **options)
        registry.add(entry.key, entry, name_of(function))
        return function

    return define
