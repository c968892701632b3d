"""Habits of FastMCP: the code works, or an error says what to write."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import grpc
import pytest
from pydantic import BaseModel, Field

from mcpedge.capability import Base64, Call, Declined, DefinitionError, Failure, Principal, Reason, Server, StatusError
from mcpedge.capability.server import offer_of
from mcpedge.capability.testing import call_tool, cancel, complete, get_prompt, read_resource


def server(**options: Any) -> Server:
    return Server("test", "1", **options)


def schema(s: Server) -> dict[str, Any]:
    import json

    return dict(json.loads(offer_of(s).tools.all()[-1].listed.input_schema_json))


# Errors.


def failing(error: BaseException, **options: Any) -> Server:
    s = server(**options)

    @s.tool
    def tool() -> str:
        raise error

    @s.prompt
    def prompt() -> str:
        raise error

    @s.resource("x://y")
    def read() -> str:
        raise error

    return s


REPORTS: dict[str, str] = {}


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ValueError("too large"), "too large"),
        (KeyError("r7"), "KeyError: 'r7'"),
        (IndexError("list index out of range"), "IndexError: list index out of range"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (RuntimeError("out of paper"), "out of paper"),
        (OSError("disk full"), "disk full"),
        (Exception(), "Exception"),
        (type("Mine", (TypeError,), {})("mine"), "mine"),
    ],
)
def test_exceptions_are_for_the_model_unless_they_are_about_the_code(error: Exception, shown: str) -> None:
    s = failing(error)
    out = call_tool(s, "tool")
    assert out.is_error and out.text == shown
    for failure in (get_prompt(s, "prompt").failure, read_resource(s, "x://y").failure):
        assert failure is not None and (failure.reason, failure.message) == (Reason.INTERNAL, shown)
    masked = failing(error, mask_errors=True)
    for what, out in {"tool tool": call_tool(masked, "tool"), "prompt prompt": get_prompt(masked, "prompt")}.items():
        assert out.failure is not None and out.failure.message == f"{what} failed by a fault of the service"


def test_a_missing_key_is_shown_as_what_it_is() -> None:
    s = server()

    @s.tool
    def report(id: str) -> str:
        return REPORTS[id]

    assert call_tool(s, "report", {"id": "r7"}).text == "KeyError: 'r7'"


@pytest.mark.parametrize("error", [TypeError("secret"), AttributeError("secret"), NameError("secret"), AssertionError("secret"), NotImplementedError("secret")])
def test_faults_are_hidden(error: Exception) -> None:
    s = failing(error)
    for out in (call_tool(s, "tool"), get_prompt(s, "prompt"), read_resource(s, "x://y")):
        assert out.failure is not None and "secret" not in out.failure.message and out.failure.reason is Reason.INTERNAL


def test_masked_errors_keep_what_has_a_reason() -> None:
    for error in (Failure(Reason.NOT_FOUND, "no such report"), Declined()):
        assert call_tool(failing(error, mask_errors=True), "tool").text == str(error)
    failure = read_resource(failing(FileNotFoundError("/secret"), mask_errors=True), "x://y").failure
    assert failure is not None and (failure.reason, failure.message) == (Reason.NOT_FOUND, 'there is no resource "x://y"')


def test_what_a_tool_does_not_find_is_for_the_model() -> None:
    class Status(grpc.RpcError):
        def __init__(self, code: grpc.StatusCode) -> None:
            self._code = code

        def code(self) -> grpc.StatusCode:
            return self._code

        def details(self) -> str:
            return "no such row"

    s = failing(Failure(Reason.NOT_FOUND, "no such report"))
    assert call_tool(s, "tool").is_error and call_tool(s, "tool").text == "no such report"
    failure = get_prompt(s, "prompt").failure
    assert failure is not None and failure.reason is Reason.NOT_FOUND
    for error in (Status(grpc.StatusCode.NOT_FOUND), StatusError(grpc.StatusCode.NOT_FOUND, "no such row")):
        assert call_tool(failing(error), "tool").text == "no such row"
    with pytest.raises(grpc.aio.AioRpcError) as e:
        call_tool(failing(Status(grpc.StatusCode.ABORTED)), "tool")
    assert e.value.code() is grpc.StatusCode.ABORTED
    unknown = call_tool(s, "other").failure
    assert unknown is not None and unknown.reason is Reason.NOT_FOUND, "a tool that is not there is the client's"


# Arguments.


def test_unknown_arguments_are_refused_by_name() -> None:
    s = server()

    @s.tool
    def strict(name: str, count: int = 1) -> str:
        return name * count

    @s.tool
    def none() -> str:
        return ""

    assert schema(s) == {"type": "object", "properties": {}, "additionalProperties": False}

    @s.tool(unknown_arguments="allow")
    def open_(name: str) -> str:
        return name

    @s.prompt
    def prompt(mood: str = "") -> str:
        return mood

    assert "additionalProperties" not in schema(s)
    for name, arguments, says in [
        ("strict", {"name": "x", "nam": "y"}, 'unknown argument "nam": do you mean "name"?'),
        ("strict", {"name": "x", "zzz": 1}, 'unknown argument "zzz": known are "name", "count"'),
        ("strict", {"name": "x", "a": 1, "b": 2}, 'unknown arguments "a", "b": known are "name", "count"'),
        ("strict", {"name": "x", **dict.fromkeys("abcdefg", 1)}, 'unknown arguments "a", "b", "c", "d", "e" and 2 more: known are "name", "count"'),
        ("none", {"a": 1}, 'unknown argument "a": there are none'),
    ]:
        failure = call_tool(s, name, arguments).failure
        assert failure is not None and (failure.reason, failure.message) == (Reason.INVALID_ARGUMENT, says)
    failure = get_prompt(s, "prompt", {"mod": "x"}).failure
    assert failure is not None and failure.message == 'prompt prompt: unknown argument "mod": do you mean "mood"?'
    assert call_tool(s, "open_", {"name": "x", "more": 1}).text == "x"
    with pytest.raises(DefinitionError, match='unknown_arguments is "refuse" or "allow", not False'):
        s.tool(unknown_arguments=False)(none)  # type: ignore[call-overload]


def test_a_text_in_annotated_describes() -> None:
    s = server()

    @s.tool
    def t(count: Annotated[int, "How many"], name: Annotated[str, Field(description="Whose"), "other"] = "") -> str:
        """Counts.

        Args:
            count: not this
        """
        return ""

    described = {name: said.get("description") for name, said in schema(s)["properties"].items()}
    assert described == {"count": "How many", "name": "Whose"}


# Bytes.


class File(BaseModel):
    data: Base64


def test_bytes_are_base64() -> None:
    s = server()

    @s.tool
    def size(data: bytes, more: list[bytes] | None = None, small: Annotated[bytes, Field(max_length=4)] = b"") -> str:
        return f"{len(data)} {more} {small!r}"

    @s.tool
    def echo(file: File) -> File:
        return file

    properties = {**schema(s)["properties"]}
    assert properties["file"]["properties"]["data"] == {"type": "string", "contentEncoding": "base64", "maxLength": 1398104}
    assert call_tool(s, "size", {"data": "AAE=", "more": ["/+8="], "small": "AAECAw=="}).text == "2 [b'\\xff\\xef'] b'\\x00\\x01\\x02\\x03'"
    assert call_tool(s, "echo", {"file": {"data": "AAE="}}).structured == {"data": "AAE="}
    for value, says in {"a-_=": "no base64", "x": "no base64", "A" * 1398108: "above 1048576 bytes"}.items():
        failure = call_tool(s, "size", {"data": value}).failure
        assert failure is not None and f'the argument "data" does not fit: {says}' in failure.message
    failure = call_tool(s, "size", {"data": "AAE=", "small": "AAECAwQ="}).failure
    assert failure is not None and 'the argument "small" does not fit' in failure.message


def test_bytes_that_say_no_kind_are_refused_when_defined() -> None:
    class Unread(BaseModel):
        data: bytes

    s = server()

    def returns() -> bytes:
        return b""

    def nothing(file: Unread) -> str:
        return ""

    def listed() -> list[bytes]:
        return []

    for function, says in [(returns, 'return image\\(data, "image/png"\\)'), (nothing, "annotate them as Base64"), (listed, "annotate them as Base64")]:
        with pytest.raises(DefinitionError, match=says):
            s.tool(function)


# Other traps.


def test_completers_are_lambdas_too() -> None:
    s = server()
    by: dict[str, Any] = {
        "a": lambda value: [value + "1"],
        "b": lambda value, chosen: [value + chosen["a"]],
        "c": lambda value, chosen, call: [value + call.id],
        "d": lambda value, call: [value + call.id],
    }

    @s.prompt(complete=by)
    def t(a: str = "", b: str = "", c: str = "", d: str = "") -> str:
        return ""

    @s.resource("x://{a}", complete={"a": by["a"]})
    async def read(a: str) -> str:
        return a

    assert [complete(s, "t", name, "v", {"a": "A"}) for name in by] == [["v1"], ["vA"], ["vtest"], ["vtest"]]
    assert complete(s, "x://{a}", "a", "v") == ["v1"]
    by_value: dict[str, Any] = {"a": lambda value: {"values": [value]}, "b": lambda value: None, "c": lambda value: (v for v in "ab")}
    s.prompt(name="more", complete={**by_value, "d": lambda value: "text"})(t)
    assert [complete(s, "more", name, "v") for name in by_value] == [["v"], [], ["a", "b"]]
    with pytest.raises(grpc.aio.AioRpcError, match="returned what are no suggestions, 'text': return a list of str"):
        complete(s, "more", "d", "v")
    for bad in (lambda: [], lambda a, b, c, d: [], lambda *a: [], lambda call: []):
        with pytest.raises(DefinitionError, match=r"as lambda value, chosen, call: \[…\]"):
            s.prompt(name="bad", complete={"a": bad})(t)


def test_a_result_that_was_not_awaited_fails() -> None:
    s = server()

    async def fetch() -> str:
        return "x"

    @s.tool
    async def tool() -> Any:
        return fetch()

    @s.tool
    async def typed() -> dict[str, str]:
        return fetch()  # type: ignore[return-value]

    @s.prompt
    async def prompt() -> str:
        return fetch()  # type: ignore[return-value]

    for out in (call_tool(s, "tool"), call_tool(s, "typed"), get_prompt(s, "prompt")):
        assert out.failure is not None and "an awaitable, whose work has not been done: write await before the call" in out.failure.message


def test_the_lifespan_is_around_what_is_served() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(of: Server) -> AsyncIterator[dict[str, str]]:
        assert of is s
        seen.append("begun")
        yield {"pool": "open"}
        seen.append("ended")

    s = server(lifespan=lifespan)

    @s.tool
    def t(call: Call) -> str:
        seen.append("called")
        return str(call.lifespan["pool"])

    assert call_tool(s, "t").text == "open"
    assert seen == ["begun", "called", "ended"]


def test_internals_are_not_beside_the_decorators() -> None:
    shown = {name for name in dir(server()) if not name.startswith("_")}
    assert shown == {
        "add_to", "close", "message_bytes", "on_cancel", "prompt", "prompts_changed", "provide", "raw_tool", "remove_prompt", "remove_resource",
        "remove_tool", "resource", "resource_updated", "resources_changed", "run", "tool", "tools_changed",
    }  # fmt: skip


def test_the_kit_has_a_principal_and_cancels() -> None:
    s = server()
    ended: list[tuple[bytes | None, str]] = []

    @s.tool
    def who(call: Call) -> str:
        return f"{call.principal.subject} {call.claim('tenant')} {list(call.principal.roles)}"

    @s.on_cancel("who")
    def end(call: Call) -> None:
        ended.append((call.state, call.principal.subject))

    ada = Principal("ada", roles=["admin"], claims={"tenant": "acme"})
    assert call_tool(s, "who", principal=ada).text == "ada acme ['admin']"
    cancel(s, "who", b"job 7", principal=ada)
    cancel(s, "who")
    assert ended == [(b"job 7", "ada"), (None, "")]


def test_the_kit_says_why_there_is_no_text() -> None:
    out = call_tool(failing(Failure(Reason.UNAVAILABLE, "later")), "tool")
    with pytest.raises(AssertionError, match="the call failed: UNAVAILABLE: later"):
        _ = out.text


@pytest.mark.parametrize("reason", list(Reason))
def test_a_failure_that_the_model_sees_is_an_error_in_the_kit(reason: Reason) -> None:
    s = failing(Failure(reason, "no"))
    out = call_tool(s, "tool")
    assert out.is_error == (reason in (Reason.INVALID_ARGUMENT, Reason.FAILED_PRECONDITION, Reason.NOT_FOUND))
    assert not out.is_error or out.text == "no"
    assert not get_prompt(s, "prompt").is_error and not read_resource(s, "x://y").is_error
