"""Calls a Server in tests as the edge does: over gRPC, with as many rounds as a handler requires.

outcome = call_tool(server, "delete", {"name": "x"}, answers={"confirm": accepted({"sure": True})})
assert outcome.text == "x was deleted."
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, TypeVar

import grpc
from typing_extensions import Unpack

from mcpedge.v1 import backend_pb2_grpc, common_pb2, input_pb2, prompts_pb2, prompts_pb2_grpc, resources_pb2, resources_pb2_grpc, tools_pb2, tools_pb2_grpc

from .answers import Answers as _Memory
from .encoding import encode
from .failure import Failure, Reason, decode
from .results import from_wire as result_from_wire
from .serve import serve
from .server import Server
from .types import LEVELS, Level, Principal, PromptMessage, PromptResult, ReadResult, Result, Root, SamplingMessage, SamplingRequest
from .wire import content_from_wire, from_wire, message_to_wire, role_name, to_wire

__all__ = [
    "MAX_ROUNDS",
    "Answer",
    "Answers",
    "Asked",
    "Client",
    "Log",
    "Outcome",
    "Progress",
    "accepted",
    "call_tool",
    "cancel",
    "complete",
    "declined",
    "dismissed",
    "get_prompt",
    "read_resource",
    "sampled",
    "with_roots",
]

T = TypeVar("T")
MAX_ROUNDS = 32
"""The maximum number of rounds of a call."""


@dataclass(frozen=True)
class Answer:
    """The client's answer to a question, made by accepted, declined, dismissed, sampled and with_roots."""

    wire: input_pb2.InputResponse


@dataclass(frozen=True)
class Asked:
    """A question that the client got."""

    key: str
    kind: Literal["form", "url", "sampling", "roots", "raw"]
    message: str = ""
    """The message of a form or a URL."""
    schema: dict[str, Any] = field(default_factory=dict[str, Any])
    """The schema of a form."""
    url: str = ""
    sampling: SamplingRequest | None = None
    raw: Any = None


Answers = Mapping[str, Answer] | Callable[[Asked], Answer | None]
"""The client's answers by key, or a function that answers a question. A question without an answer ends the call with
Outcome.input_required."""


def accepted(content: dict[str, Any] | None = None) -> Answer:
    """The answer of a user who completed a form, or agreed to open a URL (then without content)."""
    text = "" if content is None else json.dumps(content)
    return Answer(input_pb2.InputResponse(elicit=input_pb2.ElicitResult(action=input_pb2.ELICIT_ACTION_ACCEPT, content_json=text)))


def declined() -> Answer:
    """The answer of a user who declined."""
    return Answer(input_pb2.InputResponse(elicit=input_pb2.ElicitResult(action=input_pb2.ELICIT_ACTION_DECLINE)))


def dismissed() -> Answer:
    """The answer of a user who closed the question."""
    return Answer(input_pb2.InputResponse(elicit=input_pb2.ElicitResult(action=input_pb2.ELICIT_ACTION_CANCEL)))


def sampled(text: str) -> Answer:
    """The answer of the client's model with a text."""
    turn = message_to_wire(SamplingMessage("assistant", text))
    return Answer(
        input_pb2.InputResponse(create_message=input_pb2.CreateMessageResult(role=turn.role, content=turn.content, model="test", stop_reason="endTurn"))
    )


def with_roots(*roots: Root) -> Answer:
    """The answer of a client with these roots."""
    return Answer(input_pb2.InputResponse(list_roots=input_pb2.ListRootsResult(roots=map(to_wire, roots))))


@dataclass(frozen=True)
class Progress:
    """Progress that the client got."""

    progress: float
    total: float | None
    message: str


@dataclass(frozen=True)
class Log:
    """A log message that the client got."""

    level: Level
    data: Any
    logger: str


@dataclass
class Outcome:
    """The end of a call, with its events: a result, a failure, or questions without answers."""

    result: Any = None
    """A Result of a tool, a ReadResult of a read, a PromptResult of a prompt; None if there is none."""
    failure: Failure | None = None
    """The protocol error that the client gets, None if there is none."""
    input_required: bool = False
    """Whether the call waits for answers, or for its next round."""
    retry_after: float = 0
    """The delay before the next round of a call without questions, in seconds."""
    repeatable: bool = False
    state: bytes = b""
    """The state for the next round, which the edge seals."""
    progress: list[Progress] = field(default_factory=list[Progress])
    logs: list[Log] = field(default_factory=list[Log])
    asked: list[Asked] = field(default_factory=list[Asked])
    events: list[str] = field(default_factory=list[str])
    """The kinds of all events, in order."""
    checkpoints: list[bytes] = field(default_factory=list[bytes])
    rounds: int = 0
    """How often the handler ran."""
    _tool: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the tool failed in a way that the model sees: by a result with is_error, or by a failure INVALID_ARGUMENT or
        FAILED_PRECONDITION, of which the edge makes one."""
        if self.failure is not None:
            return self._tool and self.failure.reason in (Reason.INVALID_ARGUMENT, Reason.FAILED_PRECONDITION)
        return isinstance(self.result, Result) and self.result.is_error

    @property
    def text(self) -> str:
        """The texts of a tool's content, of a read, or of a prompt's messages, one line for each; of a failure that the model sees, its message.
        AssertionError, with the failure, if there is no result otherwise."""
        if self.failure is not None and self.is_error:
            return self.failure.message
        found: Any = self._ended()
        parts: Sequence[Any] = (
            found.content if isinstance(found, Result) else found.contents if isinstance(found, ReadResult) else [m.content for m in found.messages]
        )
        return "\n".join(c.text for c in parts if getattr(c, "text", None) is not None)

    @property
    def structured(self) -> Any:
        """The structured content of a tool's result. AssertionError if there is no result."""
        return self._ended().structured_content

    def _ended(self) -> Any:
        assert self.failure is None, f"the call failed: {self.failure.reason.name}: {self.failure.message}"
        assert not self.input_required, f"the call asks for {[a.key for a in self.asked]}; give it answers"
        return self.result


class Options(TypedDict, total=False):
    """The caller of a call in a test, and the client's answers."""

    answers: Answers | None
    principal: Principal | None


def default_context() -> common_pb2.RequestContext:
    """A client that wants progress and all logs, and supports every question."""
    return common_pb2.RequestContext(
        call_id="test",
        attempt=1,
        progress_wanted=True,
        log_level=common_pb2.LOG_LEVEL_DEBUG,
        client_capabilities=common_pb2.ClientCapabilities(
            elicitation=common_pb2.ElicitationCapability(form=True, url=True),
            sampling=common_pb2.SamplingCapability(context=True, tools=True),
            roots=common_pb2.RootsCapability(),
        ),
    )


class Client:
    """Calls a Server, which it serves on a loopback port: async with Client(server) as client. For other RPCs use the stubs of the
    contract."""

    def __init__(
        self,
        server: Server,
        *,
        answers: Answers | None = None,
        principal: Principal | None = None,
        context: common_pb2.RequestContext | None = None,
        metadata: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """principal is the caller; None means an anonymous one. context is sent with every call, with the number of the round; None means
        default_context()."""
        self.server = server
        self.answers = answers
        self.context = context or default_context()
        if principal is not None:
            self.context.principal.CopyFrom(to_wire(principal))
        self.metadata = metadata

    async def __aenter__(self) -> "Client":
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._served = asyncio.ensure_future(serve(self.server, "127.0.0.1:0", stop=self._stop, started=port.set_result))
        self._served.add_done_callback(lambda served: None if port.done() else port.set_exception(served.exception() or RuntimeError("it stopped")))
        self.address = f"127.0.0.1:{await port}"
        self.channel = grpc.aio.insecure_channel(self.address, options=[("grpc.max_receive_message_length", self.server.message_bytes)])
        self.backend: Any = backend_pb2_grpc.BackendServiceStub(self.channel)
        self.tools: Any = tools_pb2_grpc.ToolServiceStub(self.channel)
        self.resources: Any = resources_pb2_grpc.ResourceServiceStub(self.channel)
        self.prompts: Any = prompts_pb2_grpc.PromptServiceStub(self.channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()
        self._stop.set()
        await self._served

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> Outcome:
        """Calls a tool through all its rounds. Raises grpc.RpcError for a status that ended the call."""
        request = tools_pb2.CallToolRequest(name=name, arguments_json=encode(arguments or {}))
        return await self._rounds(self.tools.CallTool, request)

    async def read_resource(self, uri: str) -> Outcome:
        """Reads a resource through all its rounds, as call_tool does."""
        return await self._rounds(self.resources.ReadResource, resources_pb2.ReadResourceRequest(uri=uri))

    async def get_prompt(self, name: str, arguments: dict[str, str] | None = None) -> Outcome:
        """Gets a prompt through all its rounds, as call_tool does."""
        return await self._rounds(self.prompts.GetPrompt, prompts_pb2.GetPromptRequest(name=name, arguments=arguments or {}))

    async def complete(self, of: str, argument: str, value: str, chosen: dict[str, str] | None = None) -> list[str]:
        """Returns the suggestions for an argument of a prompt, by its name, or for a variable of a resource template, by its URI template.
        chosen are the arguments already chosen."""
        given: dict[str, Any] = {"argument_name": argument, "argument_value": value, "context_arguments": chosen or {}, "context": self.context}
        if "{" in of:
            request: Any = resources_pb2.CompleteResourceTemplateRequest(uri_template=of, **given)
            return list((await self.resources.CompleteResourceTemplate(request, metadata=self.metadata)).values)
        return list((await self.prompts.CompletePrompt(prompts_pb2.CompletePromptRequest(name=of, **given), metadata=self.metadata)).values)

    async def cancel(self, tool: str, state: bytes | None = None) -> None:
        """Notifies a tool, as the edge does, that one of its tasks was cancelled between two rounds: Server.on_cancel. state is the stored
        state of the call."""
        memory = b"" if state is None else _Memory([], b"").memory(state=state)
        await self.tools.CancelCall(tools_pb2.CancelCallRequest(name=tool, state=memory, context=self.context), metadata=self.metadata)

    async def _rounds(self, method: Any, request: Any) -> Outcome:
        """Runs one call to its end. Each round gets only the latest answers, as with the edge."""
        out = Outcome(_tool=isinstance(request, tools_pb2.CallToolRequest))
        request.context.CopyFrom(self.context)
        while out.rounds < MAX_ROUNDS:
            out.rounds += 1
            request.context.round = out.rounds
            required = await self._drain(method(request, metadata=self.metadata), out)
            out.input_required = required is not None
            if required is None:
                return out
            asked = [(r, _asked(r)) for r in required.requests]
            out.asked += [a for _, a in asked]
            out.state, out.repeatable, out.retry_after = required.state, required.repeatable, required.retry_after.ToMilliseconds() / 1000
            answers = [answer for _, a in asked if (answer := self._answer(a)) is not None]
            if self.answers is None or (asked and not answers):
                return out
            request.state = required.state
            del request.input_responses[:]
            request.input_responses.extend(answers)
        keys = ", ".join(f'"{a.key}"' for a in out.asked[-len(request.input_responses) :])
        given = [a.elicit.content_json or str(a) for a in request.input_responses]
        raise AssertionError(
            f"the call still asks for {keys} after {MAX_ROUNDS} rounds, with the answers {given}: one that does not fit its question is asked for"
            " again. The answer to a form is an object with the names of its fields."
        )

    def _answer(self, asked: Asked) -> input_pb2.InputResponse | None:
        by = self.answers
        found = None if by is None else by(asked) if callable(by) else by.get(asked.key)
        if found is None:
            return None
        answer = input_pb2.InputResponse()
        answer.CopyFrom(found.wire)
        answer.key = asked.key
        return answer

    async def _drain(self, stream: Any, out: Outcome) -> input_pb2.InputRequired | None:
        """Reads one round: events, then one outcome, then the end. Raises AssertionError if the contract is violated."""
        required: input_pb2.InputRequired | None = None
        ended = False
        async for m in stream:
            assert not ended, "a message came after the outcome"
            kind = m.WhichOneof("message")
            assert kind is not None, "a message without content came"
            if kind == "result":
                out.result = _result(m.result)
            elif kind == "failure":
                data = decode("data", m.failure.data_json) if m.failure.data_json else None
                out.failure = Failure(Reason(m.failure.reason), m.failure.message, data=data, scopes=m.failure.scopes)
            elif kind == "input_required":
                required = m.input_required
            else:
                self._event(kind, m, out)
                continue
            ended = True
        assert ended, "the stream ended without an outcome"
        return required

    def _event(self, kind: str, m: Any, out: Outcome) -> None:
        out.events.append(kind)
        if kind == "progress":
            out.progress.append(Progress(m.progress.progress, m.progress.total if m.progress.HasField("total") else None, m.progress.message))
        elif kind == "log":
            out.logs.append(Log(LEVELS[int(m.log.level) - 1], json.loads(m.log.data_json), m.log.logger))
        elif kind == "checkpoint":
            out.checkpoints.append(m.checkpoint.state)


def _asked(request: input_pb2.InputRequest) -> Asked:
    """Returns a question as the client receives it."""
    kind = request.WhichOneof("request")
    if kind == "elicit_form":
        form = request.elicit_form
        return Asked(request.key, "form", form.message, json.loads(form.requested_schema_json))
    if kind == "elicit_url":
        return Asked(request.key, "url", request.elicit_url.message, url=request.elicit_url.url)
    if kind == "create_message":
        return Asked(request.key, "sampling", sampling=from_wire(request.create_message))
    return Asked(request.key, "roots") if kind == "list_roots" else Asked(request.key, "raw", raw=json.loads(request.raw_json))


def _result(result: Any) -> Any:
    """Returns a result of the contract as a type of the library."""
    if isinstance(result, tools_pb2.CallToolResult):
        return result_from_wire(result)
    meta = decode("_meta", result.meta_json) if result.meta_json else None
    if isinstance(result, resources_pb2.ReadResourceResult):
        hint = result.cache if result.HasField("cache") else None
        cache = (hint.ttl.ToMilliseconds() / 1000, hint.scope == common_pb2.CACHE_SCOPE_PUBLIC) if hint else None
        return ReadResult([from_wire(c) for c in result.contents], meta, cache)
    messages = [PromptMessage(role_name(m.role), content_from_wire(m.content)) for m in result.messages]
    return PromptResult(messages, result.description, meta)


def call_tool(server: Server, name: str, arguments: dict[str, Any] | None = None, **options: Unpack[Options]) -> Outcome:
    """Calls a tool of a server, which is served for this call only. For tests that are not async. answers are the client's, principal is
    the caller."""
    return _once(server, options, lambda client: client.call_tool(name, arguments))


def read_resource(server: Server, uri: str, **options: Unpack[Options]) -> Outcome:
    """Reads a resource; otherwise as call_tool."""
    return _once(server, options, lambda client: client.read_resource(uri))


def get_prompt(server: Server, name: str, arguments: dict[str, str] | None = None, **options: Unpack[Options]) -> Outcome:
    """Gets a prompt; otherwise as call_tool."""
    return _once(server, options, lambda client: client.get_prompt(name, arguments))


def complete(server: Server, of: str, argument: str, value: str, chosen: dict[str, str] | None = None, **options: Unpack[Options]) -> list[str]:
    """Returns suggestions, see Client.complete; otherwise as call_tool."""
    return _once(server, options, lambda client: client.complete(of, argument, value, chosen))


def cancel(server: Server, tool: str, state: bytes | None = None, **options: Unpack[Options]) -> None:
    """Cancels a task between two rounds, see Client.cancel; otherwise as call_tool."""
    return _once(server, options, lambda client: client.cancel(tool, state))


def _once(server: Server, options: Options, do: Callable[[Client], Awaitable[T]]) -> T:
    async def session() -> T:
        async with Client(server, **options) as client:
            return await do(client)

    return asyncio.run(session())
