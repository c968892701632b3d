"""Makes a hook of MCP Edge: a server that it asks about requests before they reach a backend, and about what backends return, by the
contract mcpedge.hook.v1. A whole program, which masks what looks like the number of a card:

    import re
    from mcpedge.capability.hook import Call, Hook, Outcome, map_texts

    hook = Hook("cards")

    @hook.result
    def mask(call: Call, out: Outcome) -> None:
        map_texts(out, lambda text: re.sub(r"\\b(?:\\d[ -]?){12,18}\\d\\b", "[card]", text))

    hook.run()
"""

import contextvars
import inspect
import json
import logging
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import grpc

from mcpedge.hook.v1 import hook_pb2, hook_pb2_grpc
from mcpedge.hook.v1.hook_pb2 import Answer, Call, ListEntry, Outcome
from mcpedge.v1 import content_pb2

from .encoding import valid
from .failure import DefinitionError, StatusError
from .offer import Offer
from .rounds import Runner, is_coroutine_function
from .serve import LISTEN, run, serve
from .server import Server
from .types import Implementation

__all__ = ["Answer", "Call", "Deny", "Hook", "ListEntry", "Outcome", "map_strings", "map_texts", "remaining"]

_PASS: Any = {"pass": hook_pb2.Pass()}  # a keyword of Python

F = TypeVar("F", bound=Callable[..., Any])
_deadline: contextvars.ContextVar[float] = contextvars.ContextVar("deadline", default=math.inf)


class Deny(Exception):
    """Denies the request, answer, result or entry that a hook checks. Raise it. The client sees the reason, of at most 200 characters; it
    may be empty."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


def remaining() -> float:
    """Returns for how many seconds the edge still waits for the running function, math.inf without a deadline. Long plain functions must
    check it, since they are not interrupted; an async one is cancelled."""
    return max(0.0, _deadline.get() - time.monotonic())


class Hook:
    """A hook server. Each of its functions changes its last argument in place, and returns None to pass the changed value. It raises Deny
    to deny, and StatusError or any other exception if it cannot check: the edge's setting `on-failure` then decides. The text of such an
    exception is only in the log of the hook. Functions are async, or plain ones, which run concurrently in threads. If the edge asks for a
    check without a function, it counts as a failure."""

    message_bytes = 20 << 20
    """The maximum size of a message: the default of the edge for backends, and room for the rest."""

    def __init__(self, name: str, *, version: str = "", logger: logging.Logger | None = None, grace: float = 10, threads: int = 64) -> None:
        """name is used in the log. logger is the hook's log; None means mcpedge.capability.hook. grace is how many seconds running checks
        may take to finish at a shutdown. threads is the maximum number of plain functions that run concurrently."""
        self.info = Implementation(name=name, version=version)
        self.log = logger or logging.getLogger("mcpedge.capability.hook")
        self.grace = grace
        self.runner = Runner(self.log, threads)
        self._offer = Offer(info=self.info, log=self.log, grace=grace, runner=self.runner)
        self._functions: dict[str, Callable[..., Any]] = {}

    def request(self, function: F) -> F:
        """Adds the check of requests, a function of the Call. It may change call.arguments_json only."""
        return self._define("request", function, 1)

    def answers(self, function: F) -> F:
        """Adds the check of a client's answers to questions, a function of the Call and of a list of Answers. It may change their
        result_json."""
        return self._define("answers", function, 2)

    def result(self, function: F) -> F:
        """Adds the check of results of backends, a function of the Call and of the Outcome. It may change the Outcome."""
        return self._define("result", function, 2)

    def entry(self, function: F) -> F:
        """Adds the check of entries of lists, a function of a ListEntry. It may change its title and description; one that it denies is hidden."""
        return self._define("list", function, 1)

    def _define(self, point: str, function: F, arguments: int) -> F:
        try:
            inspect.signature(function).bind(*range(arguments))
        except TypeError as e:
            raise DefinitionError(f"{function!r} checks a {point}: it is called with {arguments} arguments by their places ({e})") from e
        if point in self._functions:
            raise DefinitionError(f"{function!r} checks a {point}, as {self._functions[point]!r} does already: make one of them")
        self._functions[point] = function
        return function

    def add_to(self, on: grpc.aio.Server) -> Sequence[str]:
        """Adds the service of the contract to a gRPC server, and returns its name."""
        vars(hook_pb2_grpc)["add_HookServiceServicer_to_server"](_Service(self), on)  # it has no types
        return [s.full_name for s in hook_pb2.DESCRIPTOR.services_by_name.values()]

    def close(self) -> None:
        """Does nothing: a hook has no feeds to end before its gRPC server stops."""

    def run(self, argv: Sequence[str] | None = None) -> None:
        """Runs a complete main program, as run of the package does: with --listen and TLS by --tls-cert, --tls-key and --tls-client-ca,
        until SIGTERM or SIGINT."""
        run(cast(Server, self), argv)

    async def serve(self, address: str = LISTEN, **options: Any) -> None:
        """Serves the hook in an event loop, as serve of the package does, with its options."""
        await serve(cast(Server, self), address, **options)

    async def check(self, point: str, *arguments: Any) -> None:
        """Runs the function of a point."""
        function = self._functions.get(point)
        if function is None:
            raise StatusError(grpc.StatusCode.UNIMPLEMENTED, f"the hook checks no {point}: take it out of the setting hooks[].on")
        got: Any
        if is_coroutine_function(function):
            got = await function(*arguments)
        else:
            got = await self.runner.start(f"the check of a {point}", function, *arguments)
            if inspect.isawaitable(got):  # of a plain wrapper
                got = await got
        if got is not None:
            raise TypeError(f"{function!r} returned {type(got).__name__}: change the last argument in place, or raise Deny, and return None")


class _Service:
    """The service of the contract. Its methods have the names of the RPCs."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    async def CheckRequest(self, request: hook_pb2.CheckRequestRequest, context: Any) -> hook_pb2.CheckRequestResponse:
        if not request.answers:
            was = request.call.arguments_json
            deny = await self._verdict(context, "request", request.call)
            if not deny and request.call.arguments_json != was:
                return hook_pb2.CheckRequestResponse(replace=hook_pb2.RequestReplacement(arguments_json=request.call.arguments_json))
        else:
            answers = list(request.answers)
            before = [a.SerializeToString(deterministic=True) for a in answers]
            deny = await self._verdict(context, "answers", request.call, answers)
            if not deny and before != [a.SerializeToString(deterministic=True) for a in answers]:
                return hook_pb2.CheckRequestResponse(replace=hook_pb2.RequestReplacement(answers=answers))
        return hook_pb2.CheckRequestResponse(deny=deny) if deny else hook_pb2.CheckRequestResponse(**_PASS)

    async def CheckResult(self, request: hook_pb2.CheckResultRequest, context: Any) -> hook_pb2.CheckResultResponse:
        before = hook_pb2.Outcome()
        before.CopyFrom(request.outcome)
        deny = await self._verdict(context, "result", request.call, request.outcome)
        if deny:
            return hook_pb2.CheckResultResponse(deny=deny)
        if request.outcome != before:
            return hook_pb2.CheckResultResponse(replace=request.outcome)
        return hook_pb2.CheckResultResponse(**_PASS)

    async def CheckList(self, request: hook_pb2.CheckListRequest, context: Any) -> hook_pb2.CheckListResponse:
        out = hook_pb2.CheckListResponse()
        for entry in request.entries:
            before = (entry.title, entry.description)
            deny = await self._verdict(context, "list", entry)
            if deny:
                out.verdicts.add(deny=deny)
            elif (entry.title, entry.description) != before:
                out.verdicts.add(replace=hook_pb2.ListTexts(title=entry.title, description=entry.description))
            else:
                out.verdicts.add(**_PASS)
        return out

    async def _verdict(self, context: Any, point: str, *arguments: Any) -> hook_pb2.Deny | None:
        """Runs a check. Returns None if it passes, and the denial otherwise. Ends the RPC with a status if the check fails."""
        left = context.time_remaining()
        _deadline.set(math.inf if left is None else time.monotonic() + left)
        try:
            await self.hook.check(point, *arguments)
        except Deny as e:
            return hook_pb2.Deny(reason=valid(e.reason))
        except StatusError as e:
            await context.abort(e.code, valid(e.message))
        except Exception:
            self.hook.log.exception("the check of a %s failed", point)
            await context.abort(grpc.StatusCode.INTERNAL, "a fault of the hook")
        return None


def map_texts(out: Outcome, replace: Callable[[str], str]) -> None:
    """Replaces each text of an outcome by the result of replace: texts of content and resources, each string in structured content, names
    of members among them, suggestions, and the message of an error. Blobs, images and sounds are not changed."""
    kind = out.WhichOneof("outcome")
    if kind == "tool":
        for block in out.tool.content:
            _map_block(block, replace)
        out.tool.structured_content_json = map_strings(out.tool.structured_content_json, replace)
        out.tool.meta_json = map_strings(out.tool.meta_json, replace)
    elif kind == "resource":
        for contents in out.resource.contents:
            _map_contents(contents, replace)
    elif kind == "prompt":
        out.prompt.description = replace(out.prompt.description)
        for message in out.prompt.messages:
            _map_block(message.content, replace)
    elif kind == "values":
        out.values.values[:] = [replace(text) for text in out.values.values]
    elif kind == "error":
        out.error.message = replace(out.error.message)
        out.error.data_json = map_strings(out.error.data_json, replace)


def _map_block(block: content_pb2.ContentBlock, replace: Callable[[str], str]) -> None:
    kind = block.WhichOneof("content")
    if kind == "text":
        block.text.text = replace(block.text.text)
    elif kind == "resource_link":
        block.resource_link.title = replace(block.resource_link.title)
        block.resource_link.description = replace(block.resource_link.description)
    elif kind == "resource":
        _map_contents(block.resource, replace)
    elif kind == "raw_json":
        block.raw_json = map_strings(block.raw_json, replace)
    block.meta_json = map_strings(block.meta_json, replace)


def _map_contents(contents: content_pb2.ResourceContents, replace: Callable[[str], str]) -> None:
    if contents.WhichOneof("body") == "text":
        contents.text = replace(contents.text)


_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)


def map_strings(text: str, replace: Callable[[str], str]) -> str:
    """Replaces each string in a JSON text by the result of replace, and changes nothing else. Names of members are strings, too. ValueError
    if a string cannot be read."""

    def one(literal: "re.Match[str]") -> str:
        was: str = json.loads(literal[0], strict=False)
        now = replace(was)
        return literal[0] if now == was else json.dumps(valid(now), ensure_ascii=False)

    return _STRING.sub(one, text)
