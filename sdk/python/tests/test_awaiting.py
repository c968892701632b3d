"""Questions of async handlers are awaited, and forms are those that clients can show."""

import asyncio
import datetime
import enum
import uuid
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcpedge.capability import AsyncCall, Base64, Call, Declined, DefinitionError, Dismissed, Server, Unanswered, form
from mcpedge.capability.server import offer_of
from mcpedge.capability.testing import accepted, call_tool, declined, dismissed, sampled, with_roots


def server(**options: Any) -> Server:
    return Server("test", "1", **options)


def schema(s: Server) -> dict[str, Any]:
    import json

    return dict(json.loads(offer_of(s).tools.all()[-1].listed.input_schema_json))


# Asking.


def test_an_async_handler_awaits_what_a_plain_one_calls() -> None:
    s = server()

    @s.tool
    async def awaits(call: AsyncCall) -> str:
        order = await call.once("order", lambda: "o1")
        name = await call.ask("name", "Name?", str)
        form_ = await call.ask_form("form", "Form?", {"type": "object", "properties": {}})
        await call.ask_url("url", "Open", "https://example.com")
        said = await call.sample("said", "Say")
        roots = await call.roots("roots")
        await call.progress(1, 2)
        await call.log("info", "x")
        return f"{order} {name} {form_.action} {said.text} {len(roots)}"

    @s.tool
    def plain(call: Call) -> str:
        order = call.once("order", lambda: "o1")
        name = call.ask("name", "Name?", str)
        form_ = call.ask_form("form", "Form?", {"type": "object", "properties": {}})
        call.ask_url("url", "Open", "https://example.com")
        said = call.sample("said", "Say")
        roots = call.roots("roots")
        call.progress(1, 2)
        call.log("info", "x")
        return f"{order} {name} {form_.action} {said.text} {len(roots)}"

    answers = {"name": accepted({"name": "Ada"}), "form": accepted({}), "url": accepted(), "said": sampled("hi"), "roots": with_roots()}
    for name in ("awaits", "plain"):
        out = call_tool(s, name, answers=answers)
        assert (out.text, out.rounds, len(out.progress), len(out.logs)) == ("o1 Ada accept hi 0", 6, 1, 1), name


def test_questions_that_are_created_first_are_asked_in_one_round() -> None:
    s = server()

    @s.tool
    async def t(call: AsyncCall) -> str:
        a, b = await asyncio.gather(call.ask("a", "A?", str), call.ask("b", "B?", str))
        return a + b

    @s.tool
    async def one_after_the_other(call: AsyncCall) -> str:
        a, b = call.ask("a", "A?", str), call.ask("b", "B?", str)
        twice = await a, await a
        return twice[0] + await b

    for name in ("t", "one_after_the_other"):
        out = call_tool(s, name, answers=lambda asked: accepted({asked.key: asked.key}))
        assert (out.text, out.rounds) == ("ab", 2)


def test_threads_of_an_async_handler_ask_plainly_and_loops_of_a_plain_one_await() -> None:
    s = server()

    def plainly(call: Call) -> str:
        return call.ask("a", "A?", str)

    @s.tool
    async def in_a_thread(call: Call) -> str:
        return await asyncio.to_thread(plainly, call)

    @s.tool
    def in_a_loop(call: AsyncCall) -> str:
        async def ask() -> str:
            return await call.ask("a", "A?", str)

        return asyncio.run(ask())

    for name in ("in_a_thread", "in_a_loop"):
        assert call_tool(s, name, answers={"a": accepted({"a": "yes"})}).text == "yes"


def test_a_question_that_is_not_awaited_fails_the_call() -> None:
    s = server()

    @s.tool
    async def ignored(call: AsyncCall) -> str:
        call.ask("sure", "Sure?", bool)
        return "deleted"

    @s.tool
    async def in_an_if(call: AsyncCall) -> str:
        return "deleted" if call.ask("sure", "Sure?", bool) else "kept"

    @s.tool
    async def in_a_sum(call: AsyncCall) -> str:
        return "x" + call.ask("sure", "Sure?", str)  # type: ignore[operator, no-any-return]

    @s.tool
    async def kept(call: AsyncCall) -> str:
        call.once("sure", lambda: 1)
        return "done"

    for name in ("ignored", "in_an_if", "in_a_sum", "kept"):
        for answers in (None, {"sure": accepted({"sure": True})}):
            failure = call_tool(s, name, answers=answers).failure
            what = "once('sure')" if name == "kept" else 'the question "sure"'
            assert failure is not None and failure.message == f"{what} was not awaited: write await before the call, as in: await call.ask(…)"


def test_declined_and_dismissed_have_one_base() -> None:
    s = server()

    @s.tool
    async def t(call: AsyncCall) -> str:
        try:
            first, second = call.ask("a", "A?", str), call.ask("b", "B?", str)
            return await first + await second
        except Unanswered as e:
            return type(e).__name__

    assert Unanswered in Declined.__mro__ and Unanswered in Dismissed.__mro__
    assert call_tool(s, "t", answers={"a": declined(), "b": declined()}).text == "Declined", "what comes after a refusal may be left"
    assert call_tool(s, "t", answers={"a": dismissed(), "b": declined()}).text == "Dismissed"


class Nested(BaseModel):
    inner: Annotated[dict[str, int], Field()]


class Numbers(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Nested, "it is no string, number, boolean or list of enumerated strings"),
        (Numbers, "an enumeration has strings only"),
        (Literal[1, 2], "an enumeration has strings only"),
        (uuid.UUID, "no client knows the format 'uuid': known are email, uri, date and date-time"),
        (datetime.timedelta, "no client knows the format 'duration'"),
        (list[str], "it is no string, number, boolean or list of enumerated strings"),
        (Base64, "no client knows the format 'base64'"),
    ],
)
def test_forms_that_no_client_can_show_are_refused_before_they_are_asked(kind: Any, why: str) -> None:
    s = server()

    @s.tool
    def t(call: Call) -> str:
        return str(call.ask("x", "X?", kind))

    with pytest.raises(DefinitionError, match="cannot be shown: " + why):
        form("x", "X?", kind)
    out = call_tool(s, "t")
    assert out.failure is not None and not out.asked


def test_forms_of_dates_and_booleans_are_shown() -> None:
    for kind in (bool, datetime.date, datetime.datetime, Literal["a"], float, str | None):
        form("x", "X?", kind)
