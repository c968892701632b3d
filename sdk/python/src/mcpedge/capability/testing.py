"""Calls a Server in tests as the edge does: over gRPC, with as many rounds as a handler requires.

outcome = call_tool(server, "delete", {"name": "x"}, answers={"confirm": accepted({"sure": True})})
assert outcome.text == "x was deleted."
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc

from mcpedge.v1 import backend_pb2_grpc, common_pb2, input_pb2, prompts_pb2, prompts_pb2_grpc, resources_pb2, resources_pb2_grpc, tools_pb2, tools_pb2_grpc

from .content import sampling_text
from .serve import serve
from .server import Server
from .types import InputRequest, InputResponse, Root

MAX_ROUNDS = 32
"""Ends a call whose questions never end."""

Answer = Callable[[InputRequest], InputResponse | None]
Answers = Mapping[str, InputResponse] | Answer
"""The client's answers by key, or a function that answers a question; the key is filled in. A question without one ends the
call, as Outcome.input_required."""


def accepted(content: dict[str, Any] | None = None) -> InputResponse:
    """The answer of a user who completed a form, or agreed to open a URL (then without content)."""
    text = "" if content is None else json.dumps(content)
    return InputResponse(elicit=input_pb2.ElicitResult(action=input_pb2.ELICIT_ACTION_ACCEPT, content_json=text))


def declined() -> InputResponse:
    """The answer of a user who said no."""
    return InputResponse(elicit=input_pb2.ElicitResult(action=input_pb2.ELICIT_ACTION_DECLINE))


def cancelled() -> InputResponse:
    """The answer of a user who closed the question."""
    return InputResponse(elicit=input_pb2.ElicitResult(action=input_pb2.ELICIT_ACTION_CANCEL))


def sampled(text: str) -> InputResponse:
    """The answer of a client's model that said some text."""
    turn = sampling_text("assistant", text)
    return InputResponse(create_message=input_pb2.CreateMessageResult(role=turn.role, content=turn.content, model="test", stop_reason="endTurn"))


def with_roots(*roots: Root) -> InputResponse:
    """The answer of a client with these roots."""
    return InputResponse(list_roots=input_pb2.ListRootsResult(roots=roots))


@dataclass
class Outcome:
    """The end of a call, with its events. Exactly one of result, input_required and failure is set."""

    result: Any = None
    """The contract's result of a tool, a read or a prompt."""
    input_required: input_pb2.InputRequired | None = None
    failure: common_pb2.Failure | None = None
    progress: list[common_pb2.Progress] = field(default_factory=list[common_pb2.Progress])
    logs: list[common_pb2.LogMessage] = field(default_factory=list[common_pb2.LogMessage])
    asked: list[InputRequest] = field(default_factory=list[InputRequest])
    events: list[str] = field(default_factory=list[str])
    """The kinds of all events, in order."""
    checkpoints: list[bytes] = field(default_factory=list[bytes])
    rounds: int = 0
    """How often the handler ran."""

    @property
    def text(self) -> str:
        """The texts of the content of a tool's result, one line for each."""
        return "\n".join(c.text.text for c in self.result.content if c.HasField("text"))

    @property
    def structured(self) -> Any:
        """The structured content of a tool's result."""
        return json.loads(self.result.structured_content_json)


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
    """Calls a Server on a loopback port, which it serves: async with Client(server) as client. For RPCs without a method
    here use the stubs of the contract."""

    def __init__(
        self, server: Server, *, answers: Answers | None = None, context: common_pb2.RequestContext | None = None, metadata: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """context is sent with every call, its round counted; None: default_context()."""
        self.server = server
        self.answers = answers
        self.context = context or default_context()
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
        """Calls a tool through all its rounds. grpc.RpcError is a status that ended it."""
        request = tools_pb2.CallToolRequest(name=name, arguments_json=json.dumps(arguments or {}))
        return await self._rounds(self.tools.CallTool, request)

    async def read_resource(self, uri: str) -> Outcome:
        """Reads a resource, as call_tool calls a tool."""
        return await self._rounds(self.resources.ReadResource, resources_pb2.ReadResourceRequest(uri=uri))

    async def get_prompt(self, name: str, arguments: dict[str, str] | None = None) -> Outcome:
        """Gets a prompt, as call_tool calls a tool."""
        return await self._rounds(self.prompts.GetPrompt, prompts_pb2.GetPromptRequest(name=name, arguments=arguments or {}))

    async def _rounds(self, method: Any, request: Any) -> Outcome:
        """Runs one call to its end; it hands on only the latest answers, as the edge does."""
        out = Outcome()
        request.context.CopyFrom(self.context)
        while out.rounds < MAX_ROUNDS:
            out.rounds += 1
            request.context.round = out.rounds
            await self._drain(method(request, metadata=self.metadata), out)
            if out.input_required is None:
                return out
            out.asked += out.input_required.requests
            answers = [a for r in out.input_required.requests if (a := self._answer(r)) is not None]
            if self.answers is None or (out.input_required.requests and not answers):
                return out
            request.state = out.input_required.state
            del request.input_responses[:]
            request.input_responses.extend(answers)
        keys = ", ".join(f'"{r.key}"' for r in out.input_required.requests) if out.input_required else ""
        given = [a.elicit.content_json or str(a) for a in request.input_responses]
        raise AssertionError(
            f"the call still asks for {keys} after {MAX_ROUNDS} rounds, with the answers {given}: one that does not fit its question is asked for"
            " again. The answer to a form is an object with the names of its fields."
        )

    def _answer(self, request: InputRequest) -> InputResponse | None:
        by = self.answers
        found = None if by is None else by(request) if callable(by) else by.get(request.key)
        if found is None:
            return None
        answer = InputResponse()
        answer.CopyFrom(found)
        answer.key = request.key
        return answer

    async def _drain(self, stream: Any, out: Outcome) -> None:
        """Reads one round: events, then one outcome, then the end. AssertionError when the contract is broken."""
        out.input_required = None
        ended = False
        async for m in stream:
            assert not ended, "a message came after the outcome"
            kind = m.WhichOneof("message")
            if kind in ("result", "input_required", "failure"):
                setattr(out, kind, getattr(m, kind))
                ended = True
                continue
            assert kind is not None, "a message without content came"
            out.events.append(kind)
            if kind == "progress":
                out.progress.append(m.progress)
            elif kind == "log":
                out.logs.append(m.log)
            elif kind == "checkpoint":
                out.checkpoints.append(m.checkpoint.state)
        assert ended, "the stream ended without an outcome"


def call_tool(server: Server, name: str, arguments: dict[str, Any] | None = None, *, answers: Answers | None = None) -> Outcome:
    """Calls a tool of a server that is served for this call alone, once; for tests that are not async."""
    return _once(server, answers, lambda client: client.call_tool(name, arguments))


def read_resource(server: Server, uri: str, *, answers: Answers | None = None) -> Outcome:
    """As call_tool, a read."""
    return _once(server, answers, lambda client: client.read_resource(uri))


def get_prompt(server: Server, name: str, arguments: dict[str, str] | None = None, *, answers: Answers | None = None) -> Outcome:
    """As call_tool, a prompt."""
    return _once(server, answers, lambda client: client.get_prompt(name, arguments))


def _once(server: Server, answers: Answers | None, do: Callable[[Client], Awaitable[Outcome]]) -> Outcome:
    async def session() -> Outcome:
        async with Client(server, answers=answers) as client:
            return await do(client)

    return asyncio.run(session())
