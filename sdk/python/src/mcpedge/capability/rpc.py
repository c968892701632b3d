"""RPCs of the contract: their requests and responses."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from mcpedge.v1 import common_pb2, tools_pb2

from .answers import Answers
from .call import Call
from .encoding import valid
from .events import Events
from .failure import Failure, StatusError
from .feed import Feed
from .offer import Offer
from .page import page
from .providing import Provided
from .registry import Completer
from .rounds import Outcome, Work
from .tracing import span
from .wire import to_wire

MAX_SUGGESTIONS = 100


def handler(server: Offer, method: MethodDescriptor, answer: Callable[["Rpc"], Awaitable[Any]]) -> Any:
    """Returns gRPC's handler of an RPC, which calls answer. A StatusError of answer and the status of a Failure end the RPC; any other
    exception is logged and ends it with INTERNAL."""
    request_type, response_type = GetMessageClass(method.input_type), GetMessageClass(method.output_type)

    async def serve(request: Any, context: Any) -> Any:
        try:
            return await answer(Rpc(server, method, response_type, request, context))
        except (StatusError, Failure) as e:
            await context.abort(e.code, valid(e.message))
        except grpc.aio.AbortError:
            raise
        except Exception:
            server.log.exception("%s failed", method.name)
            await context.abort(grpc.StatusCode.INTERNAL, "a fault of the service")

    make: Any = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    return make(serve, request_type.FromString, response_type.SerializeToString)


class Rpc:
    """One RPC, with the methods by which services answer it."""

    def __init__(self, server: Offer, method: MethodDescriptor, response: Callable[..., Any], request: Any, context: Any) -> None:
        """response creates a response from its fields; context is gRPC's."""
        self.response = response
        self.request = request
        self._server = server
        self._method = method
        self._context = context

    async def send(self, **message: Any) -> None:
        """Sends a message on the response's stream. Raises CancelledError if the caller has disconnected."""
        try:
            await self._context.write(self.response(**message))
        except (grpc.aio.InternalError, grpc.aio.UsageError) as e:
            raise asyncio.CancelledError("the caller has left") from e

    async def call(self, events: Events | None = None, answers: Answers | None = None, *, work: bool = True) -> Call:
        """Returns the Call of the request. With work the caller is verified, if the server requires it."""
        context = self.request.context
        if work and self._server.identity is not None:
            verified = await self._server.identity.verify(self._context.invocation_metadata(), context.call_id)
            context.principal.CopyFrom(to_wire(verified))
        remaining = self._context.time_remaining()
        return Call(context, events, answers, math.inf if remaining is None else time.monotonic() + remaining, self._server.yielded)

    async def round(self, find: Callable[[Call], Work]) -> None:
        """Runs one round of a tool, a read or a prompt on the stream. find may raise Failure."""
        events = Events(self.send)
        with span(self._method, self._context.invocation_metadata()) as current:
            try:
                answers = Answers(self.request.input_responses, self.request.state)
                call = await self.call(events, answers)
                outcome = await self._server.runner.run(find(call), call, answers)
                if outcome.kind == "result":
                    call.describe(outcome.value)
            except Failure as e:
                outcome = Outcome("failure", e.proto())
            except BaseException:
                events.abandon()
                raise
            if outcome.kind == "failure":
                current.set_attribute("mcpedge.failure", common_pb2.FailureReason.Name(outcome.value.reason))
            await events.close()
            await self.send(**{outcome.kind: outcome.value})

    async def complete(self, completers: dict[str, Completer]) -> Any:
        """Runs a completer; an argument without one has no suggestions."""
        by = completers.get(self.request.argument_name)
        if by is None:
            return self.response()
        with span(self._method, self._context.invocation_metadata()):
            call = await self.call()
            work = by(self.request.argument_value, dict(self.request.context_arguments), call)
            values = (await self._server.runner.run(work, call)).value
        return self.response(values=values[:MAX_SUGGESTIONS], total=len(values), has_more=len(values) > MAX_SUGGESTIONS)

    def listed(self, key: str, entries: Sequence[Any]) -> Any:
        """Returns the requested page of a list. key is the field that identifies entries; entries are the response's first field."""
        size = getattr(self.request, "page_size", 0)  # that of a directory has none
        shown, rest = page(entries, attrgetter(key), self.request.page_token, size)
        fields = self._method.output_type.fields
        cache = {"cache": self._server.list_cache} if "cache" in (field.name for field in fields) else {}
        return self.response(**{fields[0].name: shown}, next_page_token=rest, **cache)

    async def watch(
        self,
        feed: Feed,
        fits: Callable[[str], bool] = lambda prefix: False,
        *,
        uri: str = "",
        changed: Callable[[str], dict[str, Any]] = lambda uri: {"changed": tools_pb2.ListChanged()},
    ) -> None:
        """Serves a feed of changes. Meanwhile it watches the providers with a matching prefix."""
        held: list[Provided] = []

        async def tell(**event: Any) -> None:
            for p in self._server.providers.all():  # one may be what is new
                if p not in held and fits(p.prefix):
                    await p.acquire()
                    held.append(p)
            await self.send(**event)

        try:
            await feed.serve(uri, lambda: tell(started=tools_pb2.WatchStarted()), lambda uri: tell(**changed(uri)))
        finally:
            for p in held:
                await p.release()
