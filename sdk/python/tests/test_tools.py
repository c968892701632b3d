import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import grpc
import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from typing_extensions import TypeAliasType

from mcpedge.capability import Call, Content, DefinitionError, Failure, RawJSON, Reason, Result, Server, Tasks, Tool, image, lacks_scopes, raw_content, text
from mcpedge.capability.arguments import parse
from mcpedge.capability.questions import form, form_schema
from mcpedge.capability.server import offer_of
from mcpedge.capability.testing import Client, call_tool, default_context
from mcpedge.v1 import input_pb2, tools_pb2


class Item(BaseModel):
    name: str
    price: float
    tags: list[str] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    kittens: list["Cat"] = []


class Dog(BaseModel):
    kind: Literal["dog"]


Tree = TypeAliasType("Tree", "dict[str, Tree] | str")


@dataclass
class Point:
    x: int
    y: int


def server() -> Server:
    return Server("test", "1.0.0")


def listed(s: Server) -> input_pb2.Tool:
    return offer_of(s).tools.all()[-1].listed


def test_schemas_of_arguments_have_no_references() -> None:
    s = server()

    @s.tool
    def keep(first: Cat, second: Annotated[Cat, Field(description="The other")], pet: Annotated[Cat | Dog, Field(discriminator="kind")], tree: Tree) -> str:
        return f"{first}{second}{pet}{tree}"

    schema = json.loads(listed(s).input_schema_json)
    assert "$" not in json.dumps(schema)
    first, second, pet, tree = schema["properties"].values()
    assert first["properties"]["kittens"]["items"] == {"description": "a Cat as above", "type": "object"}
    assert second == {**first, "description": "The other"}
    assert pet["oneOf"][0] == first
    assert tree["anyOf"][0]["additionalProperties"] == {"description": "a Tree as above"}, "what is not always an object is anything"


def test_members_named_as_keywords_stay() -> None:
    s = server()

    @s.tool
    def split(by: dict[str, int] = {"discriminator": 5, "$ref": 1}) -> str:  # noqa: B006
        return str(by)

    assert json.loads(listed(s).input_schema_json)["properties"]["by"]["default"] == {"discriminator": 5, "$ref": 1}


def test_schema_of_annotations_and_docstring() -> None:
    s = server()

    @s.tool(title="Add up", read_only=True, tasks=Tasks("optional", poll=0.5))
    def add(a: Annotated[int, Field(ge=1)], call: Call, item: Item, b: int | None = None) -> Point:
        """Adds.

        More of it.

        Args:
            a: the first one
            b (int): the second one,
                which is long
        """
        return Point(a, b or 0)

    tool = listed(s)
    schema = json.loads(tool.input_schema_json)
    assert tool.description == "Adds.\n\nMore of it."
    assert schema["required"] == ["a", "item"]
    assert schema["properties"]["a"] == {"type": "integer", "minimum": 1, "description": "the first one"}
    assert schema["properties"]["b"]["description"] == "the second one, which is long"
    assert set(schema["properties"]) == {"a", "item", "b"}
    assert json.loads(tool.output_schema_json)["required"] == ["x", "y"]
    assert tool.annotations.read_only and not tool.annotations.HasField("destructive")
    assert tool.task_support.mode == input_pb2.TASK_MODE_OPTIONAL and tool.task_support.poll_interval.nanos == 500_000_000

    out = call_tool(s, "add", {"a": 2.0, "item": {"name": "x", "price": 1}})
    assert out.structured == {"x": 2, "y": 0}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, 'the argument "name" is missing; it is required'),
        ({"name": 1}, 'the argument "name" does not fit: Input should be a valid string'),
        ({"name": "x", "count": "2"}, 'the argument "count" does not fit: Input should be a valid integer'),
        ({"name": "x", "item": {"name": "y"}}, 'the argument "item.price" is missing; it is required'),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], says: str) -> None:
    s = server()

    @s.tool
    def t(name: str, count: int = 1, item: Item | None = None) -> str:
        raise AssertionError("it was called")

    failure = call_tool(s, "t", arguments).failure
    assert failure is not None
    assert (failure.reason, failure.message) == (Reason.INVALID_ARGUMENT, says)


def test_results() -> None:
    s = server()

    def add(name: str, returns: Any, value: Any) -> None:
        def t() -> Any:
            return value

        t.__annotations__["return"] = returns
        s.tool(name=name)(t)

    add("text", str, "hi \ud800")
    add("content", list[Content], [text("a"), image(b"\x01", "image/png")])
    add("none", None, None)
    add("any", Any, {"a": [1]})
    add("model", Item, Item(name="x", price=2))
    add("numbers", list[int], [1, 2])
    add("empty", list[int], [])
    add("result", Result, Result([text("x")], structured_content={"a": 1}, is_error=True, meta={"m": 1}))
    add("wrong", int, "no number")
    assert call_tool(s, "text").text == "hi \ufffd"
    assert call_tool(s, "content").result.content[1].data == b"\x01"
    assert call_tool(s, "none").result == Result([])
    assert call_tool(s, "any").structured == {"a": [1]}
    assert call_tool(s, "model").structured == {"name": "x", "price": 2.0, "tags": []}
    assert call_tool(s, "numbers").structured == [1, 2]
    assert call_tool(s, "empty").structured == []
    result = call_tool(s, "result").result
    assert (result.is_error, result.meta, result.structured_content) == (True, {"m": 1}, {"a": 1})
    wrong = call_tool(s, "wrong").failure
    assert wrong is not None and wrong.message.startswith("tool wrong returned str, which does not fit the annotation of what it returns:")


def test_what_is_no_json_is_refused() -> None:
    s = server()

    @s.tool
    def whole() -> Result:
        return Result(structured_content={"a": [float("nan")]})

    @s.tool
    def by_value() -> Any:
        return float("-inf")

    @s.tool
    def named(call: Call) -> Any:
        call.log("info", {"a": float("inf")})
        return {"NaN": "Infinity"}

    @s.tool
    def typed() -> Item:
        return Item(name="x", price=float("nan"))

    @s.tool
    def counts() -> dict[str, float]:
        return {"a": 1, "b": float("inf")}

    @s.tool
    def meta() -> Result:
        return Result(meta={"m": float("nan")})

    @s.tool
    def fails() -> str:
        raise Failure(Reason.UNAVAILABLE, "later", data={"after": float("nan")})

    why = "NaN and infinite numbers have none; use None or a text instead"
    for name, at in {"whole": "at '/a/0': ", "by_value": "", "typed": "at '/price': ", "counts": "at '/b': ", "meta": "at '/m': "}.items():
        failure = call_tool(s, name).failure
        assert failure is not None and failure.reason == Reason.INTERNAL
        assert failure.message == f"the result is not JSON: {at}{why}"
    failure = call_tool(s, "fails").failure
    assert failure is not None and failure.message == f"later (and the failure's data is not JSON: at '/after': {why})"
    with pytest.raises(ValueError, match="at '/text/0': NaN"):
        raw_content({"type": "text", "text": [float("nan")]})
    out = call_tool(s, "named")
    assert out.structured == {"NaN": "Infinity"}
    assert out.logs[0].data == f"log data that is not JSON: at '/a': {why}"


def test_lone_surrogates_become_replacement_characters() -> None:
    s = server()

    @s.tool
    def typed() -> Item:
        return Item(name="a\ud800b", price=1)

    @s.tool
    def untyped() -> Any:
        return {"k": ["\udc00 \ud83d\ude00"], "n": 1}

    @s.tool
    def fails() -> str:
        raise Failure(Reason.UNAVAILABLE, "later \ud800", data={"a": "\ud800"})

    assert call_tool(s, "typed").structured["name"] == "a\ufffdb"
    assert call_tool(s, "untyped").structured == {"k": ["\ufffd \U0001f600"], "n": 1}
    failure = call_tool(s, "fails").failure
    assert failure is not None and (failure.message, failure.data) == ("later \ufffd", {"a": "\ufffd"})


def test_exceptions(caplog: pytest.LogCaptureFixture) -> None:
    s = server()

    def raising(name: str, error: BaseException) -> None:
        @s.tool(name=name)
        def plain() -> str:
            raise error

        @s.tool(name=name + "_async")
        async def asynchronous() -> str:
            raise error

    raising("value", ValueError("the file is too large"))
    raising("failure", Failure(Reason.UNAVAILABLE, "later", data={"after": 3}))
    raising("scopes", lacks_scopes("a", "b"))
    raising("fault", TypeError("secret"))
    raising("exit", SystemExit(3))
    raising("stop", StopIteration())
    for suffix in ("", "_async"):
        out = call_tool(s, "value" + suffix)
        assert out.result.is_error and out.text == "the file is too large"
        failure = call_tool(s, "failure" + suffix).failure
        assert failure is not None
        assert (failure.reason, failure.data) == (Reason.UNAVAILABLE, {"after": 3})
        scopes = call_tool(s, "scopes" + suffix).failure
        assert scopes is not None and list(scopes.scopes) == ["a", "b"]
        for name in ("fault", "exit") if suffix else ("fault", "exit", "stop"):
            fault = call_tool(s, name + suffix).failure
            assert fault is not None
            assert fault.message == f"tool {name}{suffix} failed by a fault of the service"
            assert fault.reason == Reason.INTERNAL
    assert "secret" in caplog.text
    missing = call_tool(s, "no such").failure
    assert missing is not None and missing.reason == Reason.NOT_FOUND


def test_the_status_of_another_service_is_kept() -> None:
    s = server()

    @s.tool
    async def other() -> str:
        async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
            await channel.unary_unary("/no.Where/Call")(b"", timeout=60)
        return ""

    with pytest.raises(grpc.aio.AioRpcError) as e:
        call_tool(s, "other")
    assert e.value.code() == grpc.StatusCode.UNAVAILABLE and "a fault of" not in (e.value.details() or "")


def test_mistakes_are_found_when_defined() -> None:
    s = server()

    def unannotated(x) -> str:  # type: ignore[no-untyped-def]
        return str(x)

    def no_return(x: int):  # type: ignore[no-untyped-def]
        return x

    def no_schema(x: Server) -> str:
        return ""

    def no_output_schema() -> Server:
        return s

    def many(*x: int) -> str:
        return ""

    def unresolved(x: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    for function, says in [
        (unannotated, "the parameter 'x' has no annotation; add one"),
        (no_return, "no annotation of what it returns; add one"),
        (no_schema, "a type without a JSON Schema; use"),
        (no_output_schema, "a type without a JSON Schema; use"),
        (many, "cannot be filled; use parameters with names"),
        (unresolved, "define its type at the module's level"),
    ]:
        with pytest.raises(DefinitionError, match=says) as e:
            s.tool(function)
        assert function.__name__ in str(e.value)
    with pytest.raises(DefinitionError, match="must be 1 to 64"):
        s.tool(name="no good")(lambda_text)
    s.tool(lambda_text)
    with pytest.raises(DefinitionError, match="there is a tool 'lambda_text' already; give this one another name"):
        s.tool(lambda_text)
    assert s.remove_tool("lambda_text") and not s.remove_tool("lambda_text")


def test_mistakes_in_reads_prompts_and_questions_are_found_when_defined() -> None:
    s = server()

    def text(x: str) -> str:
        return x

    def nothing() -> str:
        return ""

    def number() -> int:
        return 1

    def unannotated(x) -> str:  # type: ignore[no-untyped-def]
        return str(x)

    def listing(x: list[str] | None = None) -> str:
        return str(x)

    async def stream() -> AsyncIterator[str]:
        yield ""

    s.prompt(nothing)
    s.resource("a://taken")(nothing)
    s.resource("a://{x}")(text)
    cases: list[tuple[Callable[[], object], str, str]] = [
        (lambda: s.prompt(nothing), "nothing", "there is a prompt 'nothing' already; give this one another name, or remove that one first"),
        (lambda: s.resource("a://taken")(nothing), "nothing", "there is a resource 'a://taken' already; give"),
        (lambda: s.resource("a://{x}")(text), "text", "there is a resource template 'a://{x}' already; give"),
        (lambda: s.prompt(number), "number", "it returns <class 'int'>; return a text"),
        (lambda: s.resource("a://n")(number), "number", "it returns <class 'int'>; return a text, bytes"),
        (lambda: s.prompt(unannotated), "unannotated", "the parameter 'x' has no annotation; add one, as x: str"),
        (lambda: s.resource("a://u/{x}")(unannotated), "unannotated", "the parameter 'x' has no annotation; add one"),
        (lambda: s.prompt(listing), "listing", "a parameter cannot be read from a text, 'x', a list or an object; use str"),
        (lambda: s.resource("a://l/{x}")(listing), "listing", "a parameter cannot be read from a text, 'x', a list or an object; use str"),
        (lambda: s.resource("a://t")(text), "text", "the parameter 'x' is no variable of the URI"),
        (lambda: s.resource("a://v/{y}")(nothing), "nothing", "the variable 'y' of 'a://v/{y}' is no parameter; add y: str"),
        (lambda: s.resource("nowhere")(nothing), "nothing", "must be absolute, as notes://today is"),
        (lambda: s.resource("a://{")(nothing), "nothing", "has a brace that is of no expression"),
        (lambda: s.resource("a://c/{x}", complete={"z": ["1"]})(text), "text", "there is no argument 'z' to complete, only x"),
        (lambda: s.prompt(complete={"z": ["1"]}, name="p")(text), "text", "there is no argument 'z' to complete, only x"),
        (lambda: s.tool(stream), "stream", "it is a generator; return the result"),
        (lambda: form("who", "Who?", born=dict[str, int]), "born", "is no string, number, boolean or list of enumerated strings"),
        (lambda: form_schema("who", "Who?", '{"type":"no such"}'), "form", "must be a JSON Schema"),
        (lambda: form_schema("who", "Who?", "[]"), "form", "must be a JSON"),
    ]
    for define, names, says in cases:
        with pytest.raises(DefinitionError) as e:
            define()
        assert names in str(e.value) and says in str(e.value), str(e.value)


def lambda_text() -> str:
    return ""


def test_wrong_options_and_handlers_are_found_when_defined() -> None:
    s = server()

    def text(x: str) -> str:
        return x

    def nothing() -> str:
        return ""

    def two(a: Call, b: Call) -> str:
        return ""

    def no_call() -> None:
        return None

    options: Any = {"readonly": True}
    wrong: Any = "monday"
    listed: Any = [1]
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: s.tool(**options)(nothing), "nothing: there is no option 'readonly': known are description, destructive,"),
        (lambda: s.prompt(**options)(nothing), "nothing: there is no option 'readonly': known are complete, description,"),
        (lambda: s.resource("a://b", **options)(nothing), "nothing: there is no option 'readonly': known are annotations, complete,"),
        (lambda: s.tool(two), "two: 'a' and 'b' both take the Call; leave one out"),
        (lambda: s.on_cancel("t")(no_call), "no_call: it is called with the Call alone; have it take that, as call: Call"),
        (lambda: s.provide("q://", wrong), "what is provided for 'q://' must be a ResourceProvider, not str"),
        (lambda: s.prompt(complete={"x": wrong})(text), "the suggestions for 'x' must be a list of texts, or a function, not 'monday'"),
        (lambda: s.prompt(complete={"x": listed})(text), "the suggestions for 'x' must be a list of texts, or a function, not [1]"),
        (lambda: s.tool(meta=listed)(nothing), "nothing: its meta must be an object that JSON can hold, not [1]"),
        (lambda: s.tool(meta={"a": s})(nothing), "nothing: its meta must be an object that JSON can hold, not {'a': "),
        (lambda: Server("test", "1", extensions={"a/b": listed}), "the settings of the extension 'a/b' must be an object that JSON can hold, not [1]"),
    ]
    for define, says in cases:
        with pytest.raises(DefinitionError) as e:
            define()
        assert says in str(e.value)
    assert not offer_of(s).tools.all() and not offer_of(s).prompts.all() and not offer_of(s).resources.all()


def test_a_plain_wrapper_of_an_async_function() -> None:
    s = server()
    begun: list[str] = []
    ended: list[str] = []

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @s.tool
    @wrapped
    async def t(call: Call, fail: bool = False) -> str:
        if fail:
            raise Failure(Reason.NOT_FOUND, "nothing")
        await asyncio.sleep(0)
        return call.id

    @s.tool
    @wrapped
    async def waits() -> None:
        begun.append("waits")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("waits")
            raise

    assert call_tool(s, "t").text == "test"
    out = call_tool(s, "t", {"fail": True})
    assert out.is_error and out.text == "nothing", "what a tool does not find is for the model"

    async def run() -> None:
        async with Client(s) as client:
            timeout = 0.3
            while not begun:  # a call whose deadline passes before the server has seen it runs no handler
                with pytest.raises(grpc.aio.AioRpcError):
                    await client.tools.CallTool(tools_pb2.CallToolRequest(name="waits"), timeout=timeout).read()
                timeout *= 2
            while not ended:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 120))


def test_raw_json_goes_as_it_is_written() -> None:
    s = server()

    @s.raw_tool(Tool(name="echo", input_schema={"type": "object"}))
    def echo(arguments: RawJSON) -> Result:
        assert type(arguments) is RawJSON
        return Result(structured_content=arguments)

    out = call_tool(s, "echo", {"a": 9007199254740993, "b": 1.0})
    assert json.dumps(out.structured) == '{"a": 9007199254740993, "b": 1.0}'


def test_raw_tool() -> None:
    s = server()

    @s.raw_tool(Tool(name="raw", input_schema={"type": "object"}))
    def raw(arguments: dict[str, Any], call: Call) -> str:
        return call.id + json.dumps(arguments)

    assert call_tool(s, "raw", {"a": 1}).text == 'test{"a": 1}'
    with pytest.raises(DefinitionError, match="must be a JSON object"):
        s.raw_tool(Tool(name="bad", input_schema="[]"))(raw)


def test_numbers_that_python_does_not_read_are_the_callers(caplog: pytest.LogCaptureFixture) -> None:
    s = server()

    @s.raw_tool(Tool(name="raw"))
    def raw(arguments: dict[str, Any]) -> str:
        return ""

    @s.tool
    def plain(a: int = 0, share: float = 0) -> str:
        return ""

    digits = "1" * 5000
    context = default_context()
    context.meta_json = f'{{"a":{digits}}}'

    async def run() -> None:
        async with Client(s) as client:
            for request, says in [
                (tools_pb2.CallToolRequest(name="raw", arguments_json=f'{{"a":{digits}}}'), "the arguments cannot be read: Exceeds the limit"),
                (tools_pb2.CallToolRequest(name="plain", arguments_json=f'{{"a":{digits}}}'), "the arguments do not fit"),
                (tools_pb2.CallToolRequest(name="plain", arguments_json='{"share":1e400}'), 'the argument "share" does not fit'),
                (tools_pb2.CallToolRequest(name="plain", context=context), "_meta cannot be read: Exceeds the limit"),
            ]:
                failure = (await client.tools.CallTool(request).read()).failure
                assert failure.reason == Reason.INVALID_ARGUMENT.value and says in failure.message

    asyncio.run(run())
    assert not caplog.records


def test_whole_numbers_are_exact() -> None:
    for given, want in {"5.0": 5, "1e2": 100, "-0.0": 0, "9007199254740993.0": 2**53 + 1, "9223372036854775807.0": 2**63 - 1}.items():
        assert parse(TypeAdapter(int), given) == want
    for given in ("1.5", "1e400", '"5"'):
        with pytest.raises(ValidationError):
            parse(TypeAdapter(int), given)
