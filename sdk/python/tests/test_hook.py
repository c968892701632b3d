import asyncio
import logging
import os
import re
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from mcpedge.capability import DefinitionError, StatusError
from mcpedge.capability.hook import Answer, Call, Deny, Hook, ListEntry, Outcome, map_strings, map_texts, remaining
from mcpedge.hook.v1 import hook_pb2, hook_pb2_grpc
from mcpedge.v1 import content_pb2, prompts_pb2, resources_pb2, tools_pb2


def session(hook: Hook, do: Callable[[Any], Awaitable[None]]) -> None:
    """Serves a hook on a socket, and calls do with a stub of it."""

    async def run() -> None:
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        served = asyncio.ensure_future(hook.serve("127.0.0.1:0", stop=stop, started=port.set_result))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{await port}", options=[("grpc.max_send_message_length", -1)]) as channel:
            await asyncio.wait_for(do(hook_pb2_grpc.HookServiceStub(channel)), 120)
        stop.set()
        await served

    asyncio.run(run())


def mask(text: str) -> str:
    return text.replace("4111", "****")


def request(method: str, arguments: str, *answers: Answer) -> hook_pb2.CheckRequestRequest:
    return hook_pb2.CheckRequestRequest(call=Call(method=method, arguments_json=arguments), answers=answers)


def text(of: str) -> content_pb2.ContentBlock:
    return content_pb2.ContentBlock(text=content_pb2.TextContent(text=of))


async def status_of(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as e:
        await call
    return e.value.code(), e.value.details() or ""


@pytest.mark.parametrize("plain", [True, False])
def test_requests_pass_change_and_are_denied(plain: bool) -> None:
    hook = Hook("test")

    def check(call: Call) -> None:
        if call.method == "deny":
            raise Deny("no cards")
        if call.method == "busy":
            raise StatusError(grpc.StatusCode.UNAVAILABLE, "later")
        if call.method == "fail":
            raise ValueError("secret-1")
        call.arguments_json = map_strings(call.arguments_json, mask)
        call.method = "other"  # has no effect

    async def check_async(call: Call) -> None:
        await asyncio.sleep(0)
        check(call)

    hook.request(check if plain else check_async)

    async def do(stub: Any) -> None:
        got = await stub.CheckRequest(request("tools/call", '{"a": 1.50}'))
        assert got.WhichOneof("verdict") == "pass"
        got = await stub.CheckRequest(request("tools/call", '{"a": 1.50, "b":["x\\"4111"]}'))
        assert got.replace.arguments_json == '{"a": 1.50, "b":["x\\"****"]}' and not got.replace.answers
        got = await stub.CheckRequest(request("deny", "{}"))
        assert got.deny.reason == "no cards"
        assert await status_of(stub.CheckRequest(request("busy", "{}"))) == (grpc.StatusCode.UNAVAILABLE, "later")
        assert await status_of(stub.CheckRequest(request("fail", "{}"))) == (grpc.StatusCode.INTERNAL, "a fault of the hook")

    session(hook, do)


def test_what_has_no_function_fails() -> None:
    async def do(stub: Any) -> None:
        for call in (
            stub.CheckRequest(request("tools/call", "{}")),
            stub.CheckRequest(request("tools/call", "{}", Answer(key="k"))),
            stub.CheckResult(hook_pb2.CheckResultRequest()),
            stub.CheckList(hook_pb2.CheckListRequest(entries=[ListEntry(title="t")])),
        ):
            code, why = await status_of(call)
            assert code is grpc.StatusCode.UNIMPLEMENTED and "checks no" in why

    session(Hook("test"), do)


def test_answers() -> None:
    hook = Hook("test")

    @hook.answers
    def check(call: Call, answers: list[Answer]) -> None:
        for a in answers:
            a.result_json = map_strings(a.result_json, mask)

    async def do(stub: Any) -> None:
        got = await stub.CheckRequest(request("tools/call", "{}", Answer(key="k", result_json='{"a":"4111"}'), Answer(key="l", result_json="{}")))
        assert [(a.key, a.result_json) for a in got.replace.answers] == [("k", '{"a":"****"}'), ("l", "{}")]
        assert got.replace.arguments_json == ""
        got = await stub.CheckRequest(request("tools/call", "{}", Answer(key="k", result_json="{}")))
        assert got.WhichOneof("verdict") == "pass"

    session(hook, do)


OUTCOMES = {
    "tool": Outcome(
        tool=tools_pb2.CallToolResult(
            structured_content_json='{"4111":["4111"]}',
            meta_json='{"a":"4111"}',
            content=[
                text("4111"),
                content_pb2.ContentBlock(meta_json='{"a":"4111"}', raw_json='{"type":"x","t":"4111"}'),
                content_pb2.ContentBlock(resource_link=content_pb2.Resource(title="4111", description="4111")),
                content_pb2.ContentBlock(resource=content_pb2.ResourceContents(text="4111")),
            ],
        )
    ),
    "resource": Outcome(resource=resources_pb2.ReadResourceResult(contents=[content_pb2.ResourceContents(text="4111")])),
    "prompt": Outcome(prompt=prompts_pb2.GetPromptResult(description="4111", messages=[prompts_pb2.PromptMessage(content=text("4111"))])),
    "values": Outcome(values=hook_pb2.Values(values=["4111"])),
    "error": Outcome(error=hook_pb2.Error(message="4111", data_json='"4111"')),
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_results(kind: str) -> None:
    hook = Hook("test")

    @hook.result
    def check(call: Call, out: Outcome) -> None:
        map_texts(out, mask)

    async def do(stub: Any) -> None:
        got = await stub.CheckResult(hook_pb2.CheckResultRequest(outcome=OUTCOMES[kind]))
        assert got.replace.WhichOneof("outcome") == kind
        assert "4111" not in str(got) and "****" in str(got)
        got = await stub.CheckResult(hook_pb2.CheckResultRequest(outcome=got.replace))
        assert got.WhichOneof("verdict") == "pass"

    session(hook, do)


def test_entries() -> None:
    hook = Hook("test")

    @hook.entry
    def check(entry: ListEntry) -> None:
        if entry.target.name == "hidden":
            raise Deny("not reviewed")
        if entry.target.name == "fails":
            raise ValueError("secret-1")
        entry.description = mask(entry.description)

    def entry(name: str, description: str = "") -> ListEntry:
        return ListEntry(target=hook_pb2.Target(name=name), title="T", description=description)

    async def do(stub: Any) -> None:
        got = await stub.CheckList(hook_pb2.CheckListRequest(entries=[entry("a", "b"), entry("hidden"), entry("c", "4111")]))
        assert [v.WhichOneof("verdict") for v in got.verdicts] == ["pass", "deny", "replace"]
        assert (got.verdicts[2].replace.title, got.verdicts[2].replace.description) == ("T", "****")
        code, _ = await status_of(stub.CheckList(hook_pb2.CheckListRequest(entries=[entry("a"), entry("fails")])))
        assert code is grpc.StatusCode.INTERNAL

    session(hook, do)


@pytest.mark.parametrize("returned", [False, True, 0, "no", Outcome()])
def test_what_is_returned_is_no_verdict(returned: Any) -> None:
    hook = Hook("test")
    hook.result(lambda call, out: returned)

    async def do(stub: Any) -> None:
        code, _ = await status_of(stub.CheckResult(hook_pb2.CheckResultRequest(outcome=OUTCOMES["values"])))
        assert code is grpc.StatusCode.INTERNAL

    session(hook, do)


def test_faults_are_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    hook = Hook("test")

    @hook.result
    def check(call: Call, out: Outcome) -> None:
        raise KeyError("secret-1")

    async def do(stub: Any) -> None:
        assert "secret" not in (await status_of(stub.CheckResult(hook_pb2.CheckResultRequest())))[1]

    with caplog.at_level(logging.ERROR):
        session(hook, do)
    assert "secret-1" in caplog.text


def test_deadlines() -> None:
    """An async function is cancelled with its check; a plain one sees its remaining time, and one that waits for a thread does not begin."""
    slow, plain = Hook("async"), Hook("plain", threads=1)
    entered: list[str] = []
    cancelled: list[str] = []
    began: list[str] = []
    left: list[float] = []
    may_end = threading.Event()

    @slow.result
    async def check(call: Call, out: Outcome) -> None:
        entered.append(call.call_id)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(call.call_id)
            raise

    async def late(stub: Any) -> None:
        timeout = 0.2
        while not entered:  # a check whose deadline passes before the hook has seen it runs no function
            code, _ = await status_of(stub.CheckResult(hook_pb2.CheckResultRequest(call=Call(call_id="1")), timeout=timeout))
            assert code is grpc.StatusCode.DEADLINE_EXCEEDED
            timeout *= 2
        while len(cancelled) < len(entered):
            await asyncio.sleep(0.01)

    session(slow, late)
    assert set(cancelled) == {"1"}

    @plain.result
    def check_plainly(call: Call, out: Outcome) -> None:
        now = remaining()
        if not now:  # the deadline has passed meanwhile
            return
        left.append(now)
        began.append(call.call_id)
        may_end.wait(120)
        while call.call_id == "1" and remaining():
            time.sleep(0.01)

    timeout = 0.5

    async def two(stub: Any) -> None:
        nonlocal timeout

        def ask(id_: str, timeout: float) -> Any:
            return stub.CheckResult(hook_pb2.CheckResultRequest(call=Call(call_id=id_)), timeout=timeout)

        first: asyncio.Future[Any] | None = None
        while not began:
            if first is None or first.done():
                timeout *= 2
                first = asyncio.ensure_future(status_of(ask("1", timeout)))
            await asyncio.sleep(0.01)
        assert first is not None
        assert (await status_of(ask("2", 0.2)))[0] is grpc.StatusCode.DEADLINE_EXCEEDED
        assert (await first)[0] is grpc.StatusCode.DEADLINE_EXCEEDED
        may_end.set()
        assert (await ask("3", 120)).WhichOneof("verdict") == "pass"

    session(plain, two)
    # gRPC rounds a deadline up, so that a bit more than the timeout of the first may be left.
    assert began == ["1", "3"] and 0 < left[0] < timeout + 1 < left[1]
    assert remaining() == float("inf")


def test_large_messages() -> None:
    hook = Hook("test")

    @hook.result
    def check(call: Call, out: Outcome) -> None:
        map_texts(out, mask)

    async def do(stub: Any) -> None:
        large = Outcome(values=hook_pb2.Values(values=["x" * (17 << 20)]))
        assert (await stub.CheckResult(hook_pb2.CheckResultRequest(outcome=large))).WhichOneof("verdict") == "pass"

    session(hook, do)


def test_definitions() -> None:
    hook = Hook("test")
    with pytest.raises(DefinitionError, match="2 arguments"):
        hook.result(lambda out: None)
    hook.result(lambda call, out: None)
    with pytest.raises(DefinitionError, match="already"):
        hook.result(lambda call, out: None)


def test_strings() -> None:
    def star(text: str) -> str:
        return re.sub(r"\d{4}", "*", text)

    assert map_strings('{"a\\u0031111":[ 1111 , "\\\\","\\"1111é", "\\ud834"]}', star) == '{"a*":[ 1111 , "\\\\","\\"*é", "\\ud834"]}'
    assert map_strings("", star) == ""
    assert map_strings('"1"', lambda text: text + "\ud800") == '"1\ufffd"'
    with pytest.raises(ValueError):
        map_strings('"\\x"', star)


EXAMPLE = Path(__file__).parents[3] / "examples/python/cards.py"


def test_the_example_masks_cards() -> None:
    mask = runpy.run_path(str(EXAMPLE))["mask"]
    for of, want in {
        "card 4111 1111 1111 1111.": "card [card …1111].",
        "4111-1111-1111-1111": "[card …1111]",
        "order 4111111111111112": "order 4111111111111112",
        "378282246310005": "[card …0005]",
        "12 34": "12 34",
    }.items():
        assert mask(of) == want

    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.Popen([sys.executable, str(EXAMPLE), "--listen", "127.0.0.1:0"], env=env, stderr=subprocess.PIPE, text=True)
    assert program.stderr is not None
    with program, grpc.insecure_channel(re.findall(r"serves on (\S+)", program.stderr.readline())[0]) as channel:
        stub: Any = hook_pb2_grpc.HookServiceStub(channel)
        out = Outcome(values=hook_pb2.Values(values=["4111 1111 1111 1111", "7"]))
        got = stub.CheckResult(hook_pb2.CheckResultRequest(outcome=out), timeout=20)
        program.terminate()
        program.stderr.read()
    assert list(got.replace.values.values) == ["[card …1111]", "7"] and program.returncode == 0
