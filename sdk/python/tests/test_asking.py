import asyncio
import contextlib
import enum
import functools
import sys
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcpedge.capability import (
    AsyncCall,
    Call,
    Declined,
    Dismissed,
    Failure,
    InputRequired,
    Reason,
    Root,
    SamplingMessage,
    SamplingRequest,
    Server,
    TextContent,
    form,
    form_schema,
    list_roots,
    sampling,
)
from mcpedge.capability.answers import round_trip
from mcpedge.capability.encoding import RawJSON
from mcpedge.capability.testing import Answer, Asked, accepted, call_tool, declined, dismissed, get_prompt, read_resource, sampled, with_roots


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Order(BaseModel):
    """What to bring."""

    size: Size = Field(description="How large")
    count: int = Field(ge=1, le=5)
    extras: list[Literal["milk", "sugar"]] = []
    note: str | None = None


def test_forms() -> None:
    s = Server("test", "1")

    @s.tool
    def order(call: Call) -> str:
        got = call.ask("order", "What?", Order)
        return f"{got.size.name} {got.count} {got.extras} {got.note}"

    @s.tool
    async def primitive(call: AsyncCall) -> int:
        count: int = await call.ask("count", "How many?", Annotated[int, Field(le=3)])
        return count

    @s.tool
    def fields(call: Call) -> dict[str, Any]:
        return call.ask("who", "Who?", name=str, age=int)

    out = call_tool(s, "order", answers={"order": accepted({"size": "l", "count": 2.0, "extras": ["milk"]})})
    assert out.text == "LARGE 2 ['milk'] None"
    schema = out.asked[0].schema
    assert schema["required"] == ["size", "count"] and schema["description"] == "What to bring."
    assert schema["properties"]["size"] == {"enum": ["s", "l"], "type": "string", "description": "How large"}
    assert schema["properties"]["note"] == {"type": "string"}
    assert schema["properties"]["extras"]["items"] == {"enum": ["milk", "sugar"], "type": "string"}
    assert call_tool(s, "primitive", answers={"count": accepted({"count": 3})}).structured == 3
    assert call_tool(s, "fields", answers={"who": accepted({"name": "Ada", "age": 36})}).structured == {"name": "Ada", "age": 36}


def test_what_does_not_fit_is_asked_again() -> None:
    s = Server("test", "1")
    given = iter([{"count": 9}, {"count": "2"}, {"other": 1}, {"count": 2}])

    @s.tool
    def t(call: Call) -> int:
        return int(call.ask("count", "How many?", Annotated[int, Field(le=3)]))

    out = call_tool(s, "t", answers=lambda _: accepted(next(given)))
    assert (out.structured, out.rounds) == (2, 5)
    with pytest.raises(AssertionError, match=r"""still asks for "count" after 32 rounds, with the answers \['\{"n": 2\}'\]"""):
        call_tool(s, "t", answers={"count": accepted({"n": 2})})


def test_declined_and_cancelled_are_exceptions() -> None:
    s = Server("test", "1")

    @s.tool
    def t(call: Call) -> str:
        try:
            call.ask("sure", "Sure?", sure=bool)
        except Declined:
            return "kept"
        except Dismissed:
            return "closed"
        call.ask_url("login", "Log in", "https://example.com/login")
        return "done"

    assert call_tool(s, "t", answers={"sure": declined()}).text == "kept"
    assert call_tool(s, "t", answers={"sure": dismissed()}).text == "closed"
    out = call_tool(s, "t", answers={"sure": accepted({"sure": True}), "login": declined()})
    assert out.result.is_error and out.text == "the user declined to answer"
    assert call_tool(s, "t", answers={"sure": accepted({"sure": True}), "login": accepted()}).text == "done"


@pytest.mark.parametrize("how", ["plain", "async"])
def test_a_handler_that_swallows_the_unwinding_still_asks(how: str) -> None:
    s = Server("test", "1")

    def work(call: Call) -> str:
        try:
            return str(call.ask("a", "A?", str))
        except BaseException:
            try:
                call.ask("b", "B?", str)
            except BaseException:
                pass
            return "swallowed"

    async def work_async(call: AsyncCall) -> str:
        try:
            return str(await call.ask("a", "A?", str))
        except BaseException:
            try:
                await call.ask("b", "B?", str)
            except BaseException:
                pass
            return "swallowed"

    s.tool(name="t")(work if how == "plain" else work_async)
    out = call_tool(s, "t")
    assert out.input_required and [r.key for r in out.asked] == ["a", "b"]
    assert call_tool(s, "t", answers={"a": accepted({"a": "yes"}), "b": accepted({"b": ""})}).text == "yes"


@pytest.mark.parametrize("how", ["plain", "async"])
def test_two_questions_of_one_key_are_a_mistake(how: str) -> None:
    """Both would share the answer to the first. Repeating one question is permitted."""
    s = Server("test", "1")
    deleted: list[str] = []

    def work(call: Call) -> str:
        for name in ("a", "a", "b"):
            if call.ask("delete", f"Delete {name}?", bool):
                deleted.append(name)
        return "done"

    async def work_async(call: AsyncCall) -> str:
        for name in ("a", "a", "b"):
            if await call.ask("delete", f"Delete {name}?", bool):
                deleted.append(name)
        return "done"

    s.tool(name="t")(work if how == "plain" else work_async)
    out = call_tool(s, "t", answers={"delete": accepted({"delete": True})})
    assert out.failure and out.failure.reason == Reason.INTERNAL and deleted == ["a", "a"]
    assert out.failure.message == 'two different questions have the key "delete"; give each its own, as f"sure-{id}"'


@pytest.mark.parametrize("how", ["plain", "async"])
def test_a_loop_that_asks_until_it_likes_the_answer_ends(how: str) -> None:
    s = Server("test", "1")

    def work(call: Call) -> str:
        while call.ask("cups", "How many?", int) < 3:
            pass
        return "many"

    async def work_async(call: AsyncCall) -> str:
        while await call.ask("cups", "How many?", int) < 3:
            pass
        return "many"

    s.tool(name="t")(work if how == "plain" else work_async)
    failure = call_tool(s, "t", answers={"cups": accepted({"cups": 1})}).failure
    assert failure is not None and failure.reason is Reason.INTERNAL
    assert failure.message == (
        'one round asked the question "cups" 1000 times, and its answer stays the same; ask again under another key, as f"cups-{attempt}"'
    )


@pytest.mark.parametrize("how", ["plain", "async"])
def test_a_step_under_the_key_of_another_one_ends_the_call(how: str) -> None:
    """Its function would not be called. A handler that catches the error changes nothing."""
    s = Server("test", "1")
    made: list[str] = []

    def order(item: str) -> str:
        made.append(item)
        return item

    def loop(call: Call) -> str:
        try:
            for item in ("a", "b"):
                call.once("order", functools.partial(order, item))
        except Exception:
            return "caught"
        return "done"

    async def loop_async(call: AsyncCall) -> str:
        try:
            for item in ("a", "b"):
                await call.once("order", functools.partial(order, item))
        except Exception:
            return "caught"
        return "done"

    def replayed(call: Call) -> str:
        call.once("order", lambda: order("a"))
        call.ask("cups", "How many?", int)
        return call.once("order", lambda: order("b"))

    async def replayed_async(call: AsyncCall) -> str:
        await call.once("order", lambda: order("a"))
        await call.ask("cups", "How many?", int)
        return await call.once("order", lambda: order("b"))

    s.tool(name="loop")(loop if how == "plain" else loop_async)
    s.tool(name="replayed")(replayed if how == "plain" else replayed_async)
    twice = 'once("order") came twice in one round, where the second has the value of the first; give each its own key, as f"order-{id}"'
    for tool in ("loop", "replayed"):
        made.clear()
        failure = call_tool(s, tool, answers={"cups": accepted({"cups": 1})}).failure
        assert failure is not None and (failure.reason, failure.message, made) == (Reason.INTERNAL, twice, ["a"])


@pytest.mark.parametrize("how", ["plain", "async"])
def test_a_step_that_failed_may_run_again_and_keys_have_bounds(how: str) -> None:
    s = Server("test", "1")

    def fail() -> int:
        raise ValueError("not yet")

    def again(call: Call) -> int:
        with contextlib.suppress(ValueError):
            call.once("order", fail)
        return call.once("order", lambda: 2)

    async def again_async(call: AsyncCall) -> int:
        with contextlib.suppress(ValueError):
            await call.once("order", fail)
        return await call.once("order", lambda: 2)

    def keyed(call: Call, key: str) -> int:
        return call.once(key, lambda: 1)

    async def keyed_async(call: AsyncCall, key: str) -> int:
        return await call.once(key, lambda: 1)

    s.tool(name="again")(again if how == "plain" else again_async)
    s.tool(name="keyed")(keyed if how == "plain" else keyed_async)
    assert call_tool(s, "again").structured == 2
    for key, size in (("", 0), ("ä" * 65, 130)):
        failure = call_tool(s, "keyed", {"key": key}).failure
        assert failure is not None and f"the key of once has 1 to 128 bytes, not {size}" in failure.message


def test_questions_of_tasks_inside_a_handler() -> None:
    s = Server("test", "1")

    @s.tool
    async def t(call: AsyncCall) -> list[str]:
        async def ask(key: str) -> str:
            return str(await call.ask(key, "?", str))

        return list(await asyncio.gather(ask("a"), ask("b")))

    assert call_tool(s, "t", answers=lambda r: accepted({r.key: r.key})).structured == ["a", "b"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups of exceptions came with Python 3.11")
def test_a_group_without_a_fault_is_its_first_member(caplog: pytest.LogCaptureFixture) -> None:
    s = Server("test", "1")

    def raising(name: str, *errors: BaseException) -> None:
        @s.tool(name=name)
        async def t(call: Call) -> str:
            async def fail(error: BaseException) -> None:
                raise error

            async with getattr(asyncio, "TaskGroup")() as group:  # noqa: B009
                for error in errors:
                    group.create_task(fail(error))
            return ""

    @s.tool
    async def asks(call: AsyncCall) -> list[str]:
        async def ask(key: str) -> str:
            return str(await call.ask(key, "?", str))

        async with getattr(asyncio, "TaskGroup")() as group:  # noqa: B009
            tasks = [group.create_task(ask(key)) for key in ("a", "b")]
        return [t.result() for t in tasks]

    raising("failure", Failure(Reason.UNAVAILABLE, "later"), ValueError("too"))
    raising("error", ValueError("the file is too large"))
    raising("fault", Failure(Reason.UNAVAILABLE, "later"), TypeError("secret"))
    assert call_tool(s, "asks", answers=lambda r: accepted({r.key: r.key})).structured == ["a", "b"]
    failure = call_tool(s, "failure").failure
    assert failure is not None and (failure.reason, failure.message) == (Reason.UNAVAILABLE, "later")
    assert call_tool(s, "error").text == "the file is too large" and not caplog.records
    fault = call_tool(s, "fault").failure
    assert fault is not None and fault.message == "tool fault failed by a fault of the service" and "secret" in caplog.text


def test_all_kinds_at_once() -> None:
    s = Server("test", "1")

    @s.tool
    def t(call: Call) -> str:
        name, hello, roots = call.ask_all(form("name", "Name?", str), sampling("hello", "Greet", max_tokens=9), list_roots("roots"))
        return f"{name} {hello.text} {roots[0].uri}"

    out = call_tool(s, "t", answers={"name": accepted({"name": "Ada"}), "hello": sampled("Hi"), "roots": with_roots(Root(uri="file:///x"))})
    assert (out.text, out.rounds, len(out.asked)) == ("Ada Hi file:///x", 2, 3)
    assert out.asked[1].sampling == SamplingRequest([SamplingMessage("user", [TextContent("Greet")])], 9)


def test_once_and_state_survive_rounds_and_a_client_cannot_change_an_answer() -> None:
    s = Server("test", "1")
    made: list[int] = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"number": len(made)}

    async def make_async() -> list[int]:
        made.append(1)
        return [7]

    @s.tool
    async def t(call: AsyncCall) -> dict[str, Any]:
        first = await call.once("first", make)
        second = await call.once("second", make_async)
        if call.state is None:
            call.set_state(b"")
        a = await call.ask("a", "A?", str)
        b = await call.ask("b", "B?", str)
        return {"first": first, "second": second, "a": a, "b": b, "state": call.state == b"", "round": call.round}

    def answer(request: Asked) -> Answer:
        return accepted({request.key: request.key * 2})

    out = call_tool(s, "t", answers=answer)
    assert out.structured == {"first": {"number": 1}, "second": [7], "a": "aa", "b": "bb", "state": True, "round": 3}
    assert len(made) == 2


def test_once_needs_what_json_can_hold() -> None:
    s = Server("test", "1")

    @s.tool
    def t(call: Call) -> str:
        call.once("pair", lambda: (1, 2))
        return ""

    failure = call_tool(s, "t").failure
    assert failure is not None and failure.reason == Reason.INTERNAL and "once('pair'): (1, 2) changes when it is JSON" in failure.message
    with pytest.raises(TypeError, match=r"once\('scores'\): at '/a/0': NaN"):
        round_trip("scores", {"a": [float("nan")]})
    with pytest.raises(TypeError, match=r"once\('raw'\): .*return what JSON can hold"):
        round_trip("raw", RawJSON("{"))


def test_bounds_of_a_round() -> None:
    s = Server("test", "1")

    @s.tool
    def many(call: Call) -> str:
        call.ask_all(*(form(f"q{i}", "?", str) for i in range(17)))
        return ""

    @s.tool
    def large(call: Call) -> str:
        call.set_state(bytes(70_000))
        return str(call.ask("a", "?", str))

    @s.tool
    def by_itself(call: Call) -> str:
        if call.state is None:
            raise InputRequired(state=b"x", retry_after=0.2, repeatable=True)
        return call.state.decode()

    for name, says in [("many", "17 questions in one round; ask at most 16"), ("large", "above the 65536 that survive")]:
        failure = call_tool(s, name).failure
        assert failure is not None and says in failure.message
    required = call_tool(s, "by_itself")
    assert required.input_required and required.repeatable and required.retry_after == 0.2
    assert call_tool(s, "by_itself", answers={}).text == "x"


def test_reads_and_prompts_ask_too() -> None:
    s = Server("test", "1")

    @s.resource("test://{topic}")
    def topic(call: Call, topic: str) -> str:
        return topic + str(call.ask_form("x", "X?", {"type": "object", "properties": {}}).accepted())

    @s.prompt
    def greet(call: Call) -> str:
        return str(call.ask("name", "Name?", str))

    assert read_resource(s, "test://tea", answers={"x": accepted({"a": 1})}).result.contents[0].text == "tea{'a': 1}"
    assert get_prompt(s, "greet", answers={"name": accepted({"name": "Ada"})}).result.messages[0].content.text == "Ada"


def test_raw_forms_are_held_to_their_rules() -> None:
    rules = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1},
            "s": {"type": "string", "maxLength": 2},
            "c": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "l": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["x"]}},
            "b": {"type": "boolean"},
        },
        "required": ["n"],
    }
    question = form_schema("k", "?", rules)

    def fits(content: Any) -> bool:
        return question.fits(accepted(content).wire)

    assert fits({"n": 1, "s": "ab", "c": "a", "l": ["x"], "b": True, "more": None})
    for bad in [{}, {"n": 0}, {"n": 1.5}, {"n": True}, {"n": 1, "s": "abc"}, {"n": 1, "c": "b"}, {"n": 1, "l": []}, {"n": 1, "l": ["y"]}]:
        assert not fits(bad), bad
    halves = form_schema("k", "?", {"type": "object", "properties": {"n": {"type": "number", "multipleOf": 0.5}}})
    assert halves.fits(accepted({"n": 1.5}).wire) and not halves.fits(accepted({"n": float("inf")}).wire)


def test_patterns_of_another_dialect_are_left_to_the_client() -> None:
    s = Server("test", "1")
    rules = {"type": "object", "properties": {"n": {"type": "string", "pattern": r"^\p{L}+$"}, "m": {"type": "string", "pattern": "^[a-z]+$"}}}

    @s.tool
    def t(call: Call) -> Any:
        return call.ask_form("k", "?", rules).content

    assert call_tool(s, "t", answers={"k": accepted({"n": "1", "m": "a"})}).structured == {"n": "1", "m": "a"}
    question = form_schema("k", "?", rules)
    assert not question.fits(accepted({"m": "A"}).wire) and not question.fits(accepted({"n": 1}).wire)
