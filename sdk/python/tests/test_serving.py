import asyncio
import datetime
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry import trace

from mcpedge.capability import (
    Call,
    DefinitionError,
    DirectoryProvider,
    Failure,
    Reason,
    Resource,
    ResourceContents,
    ResourceWatcher,
    Server,
    blob_contents,
    serve,
)
from mcpedge.capability.page import page
from mcpedge.capability.server import offer_of
from mcpedge.capability.testing import Client, call_tool, default_context, get_prompt, read_resource
from mcpedge.capability.uritemplate import Template
from mcpedge.v1 import backend_pb2, common_pb2, content_pb2, prompts_pb2, resources_pb2, tools_pb2


def session(server: Server, do: Callable[[Client], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with Client(server, **more) as client:
            await asyncio.wait_for(do(client), 120)

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_progress_rises_and_logs_have_levels() -> None:
    s = Server("test", "1")

    @s.tool
    def t(call: Call) -> str:
        for p in (1, 1, 0, 2):
            call.progress(p, 2, "so far")
        call.log("debug", "no")
        call.log("error", {"when": datetime.date(2026, 1, 2)}, logger="x")
        call.logger("y").warning("%s is hot", "tea", extra={"degrees": 90})
        call.logger("y").info("no")
        return str(call.log_level)

    context = default_context()
    context.log_level = common_pb2.LOG_LEVEL_WARNING

    async def do(client: Client) -> None:
        out = await client.call_tool("t")
        assert [p.progress for p in out.progress] == [1, 2] and out.text == "warning"
        assert [m.data for m in out.logs] == [{"when": "2026-01-02"}, {"msg": "tea is hot", "degrees": 90}]
        assert [m.logger for m in out.logs] == ["x", "y"]

    session(s, do, context=context)


def test_progress_is_coalesced_when_the_reader_is_slow() -> None:
    s = Server("test", "1")
    last = 20_000

    @s.tool
    async def t(call: Call) -> str:
        for p in range(1, last + 1):  # without giving the writer a turn
            call.progress(p)
        return ""

    out = call_tool(s, "t")
    assert len(out.progress) <= 65 and out.progress[-1].progress == last


def test_an_async_handler_is_cancelled_and_a_plain_one_is_notified() -> None:
    s = Server("test", "1")
    begun: list[str] = []
    ended: list[str] = []

    @s.tool
    async def waits() -> None:
        begun.append("waits")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("waits")
            raise

    @s.tool
    def polls(call: Call) -> None:
        begun.append("polls")
        while not call.cancelled:
            time.sleep(0.01)
        ended.append("polls")

    async def do(client: Client) -> None:
        for name in ("waits", "polls"):
            timeout = 0.3
            while name not in begun:  # a call whose deadline passes before the server has seen it runs no handler
                stream = client.tools.CallTool(tools_pb2.CallToolRequest(name=name), timeout=timeout)
                with pytest.raises(grpc.aio.AioRpcError) as e:
                    await stream.read()
                assert e.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
                timeout *= 2
            await until(lambda name=name: ended.count(name) == begun.count(name))  # type: ignore[misc]
            before = begun.count(name)
            stream = client.tools.CallTool(tools_pb2.CallToolRequest(name=name))
            reading = asyncio.ensure_future(stream.read())
            await until(lambda name=name, before=before: begun.count(name) > before)  # type: ignore[misc]
            assert ended.count(name) == before, "it ended by itself"
            stream.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await until(lambda name=name: ended.count(name) == begun.count(name))  # type: ignore[misc]

    session(s, do)


def test_what_is_known_of_a_call() -> None:
    s = Server("test", "1")

    @s.tool
    def t(call: Call) -> dict[str, Any]:
        call.set_meta({"b": 2})
        call.defer()
        call.defer()
        call.checkpoint(b"here")
        info = call.client_info
        return {
            "who": call.principal.subject,
            "claim": call.claim("tenant"),
            "none": call.claim("x"),
            "meta": call.meta,
            "client": info.name if info else None,
            "soon": call.time_remaining > 1e6,
        }

    context = default_context()
    context.principal.subject = "ada"
    context.principal.claims_json["tenant"] = '"acme"'
    context.meta_json = '{"a":1}'
    context.client_info.name = "tests"
    context.task.SetInParent()
    context.checkpoints = True

    async def do(client: Client) -> None:
        out = await client.call_tool("t")
        assert out.structured == {"who": "ada", "claim": "acme", "none": None, "meta": {"a": 1}, "client": "tests", "soon": True}
        assert out.events == ["defer", "checkpoint"] and out.result.meta == {"b": 2}
        again = client.tools.CallTool(tools_pb2.CallToolRequest(name="state", context=context, state=out.checkpoints[0]))
        assert (await again.read()).result.content[0].text.text == "here"

    @s.tool
    def state(call: Call) -> str:
        return (call.state or b"").decode()

    session(s, do, context=context)


def test_a_foreign_state_is_refused() -> None:
    s = Server("test", "1")
    stopped: list[str] = []

    @s.tool
    def t() -> str:
        return ""

    @s.on_cancel("t")
    async def stop(call: Call) -> None:
        stopped.append(call.id)

    async def do(client: Client) -> None:
        m = await client.tools.CallTool(tools_pb2.CallToolRequest(name="t", state=b"other")).read()
        assert m.failure.reason == Reason.INVALID_ARGUMENT.value
        await client.tools.CancelCall(tools_pb2.CancelCallRequest(name="t", context=client.context))
        assert stopped == ["test"]

    session(s, do)


def test_feeds_begin_with_started_and_tell_of_changes() -> None:
    s = Server("test", "1", announce=["tools"])

    class Clock(ResourceWatcher):
        watching = 0

        def list(self) -> Any:
            return [Resource(uri="clock://now", name="now")]

        async def read(self, call: Call, uri: str) -> Any:
            return "noon" if uri == "clock://now" else None

        def watch(self, updated: Callable[[str], None], list_changed: Callable[[], None]) -> Any:
            self.watching += 1
            updated("clock://now")

            def stop() -> None:
                self.watching -= 1

            return stop

    clock = Clock()
    s.provide("clock://", clock)

    async def do(client: Client) -> None:
        tools = client.tools.WatchTools(tools_pb2.WatchToolsRequest())
        assert (await tools.read()).HasField("started")
        threading.Thread(target=lambda: s.tool(name="new")(lambda_none)).start()
        assert (await tools.read()).HasField("changed")
        one = client.resources.WatchResource(resources_pb2.WatchResourceRequest(uri="clock://now"))
        assert (await one.read()).HasField("started")
        assert (await one.read()).updated.uri == "clock://now"
        below = client.resources.WatchResource(resources_pb2.WatchResourceRequest(uri="clock://"))
        assert (await below.read()).HasField("started") and clock.watching == 1
        s.resource_updated("clock://now")
        assert (await below.read()).updated.uri == "clock://now"
        one.cancel()
        below.cancel()
        await until(lambda: clock.watching == 0)
        with pytest.raises(grpc.aio.AioRpcError) as e:
            await client.resources.WatchResource(resources_pb2.WatchResourceRequest(uri="no://where")).read()
        assert e.value.code() == grpc.StatusCode.NOT_FOUND
        assert (await client.read_resource("clock://now")).result.contents[0].text == "noon"
        missing = (await client.read_resource("clock://later")).failure
        assert missing is not None and missing.reason == Reason.NOT_FOUND
        described = await client.backend.Describe(backend_pb2.DescribeRequest())
        assert described.tools.list_changed and list(described.resources.uri_prefixes) == ["clock://"]
        s.close()
        with pytest.raises(grpc.aio.AioRpcError) as e:
            await tools.read()
        assert e.value.code() == grpc.StatusCode.UNAVAILABLE

    session(s, do)


def test_every_watch_that_begins_is_stopped() -> None:
    s = Server("test", "1")
    goes_on, begun, stopped = threading.Event(), [0], [0]

    class Slow(ResourceWatcher):
        def watch(self, updated: Callable[[str], None], list_changed: Callable[[], None]) -> Any:
            begun[0] += 1
            goes_on.wait(60)
            return self.stop

        def stop(self) -> None:
            stopped[0] += 1

    s.provide("slow://", Slow())

    async def do(client: Client) -> None:
        leaver = client.resources.WatchResources(resources_pb2.WatchResourcesRequest())
        await until(lambda: begun[0] == 1)
        leaver.cancel()
        await asyncio.sleep(0.2)
        goes_on.set()
        stayer = client.resources.WatchResources(resources_pb2.WatchResourcesRequest())
        assert (await stayer.read()).HasField("started")
        stayer.cancel()
        await until(lambda: stopped[0] == begun[0])

    session(s, do)


def test_a_watch_that_does_not_stop_disturbs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    s = Server("test", "1")
    stopped: list[str] = []

    class Watched(ResourceWatcher):
        def __init__(self, name: str) -> None:
            self.name = name

        def watch(self, updated: Callable[[str], None], list_changed: Callable[[], None]) -> Any:
            return self.stop

        def stop(self) -> None:
            stopped.append(self.name)
            raise ValueError(f"{self.name} is stuck")

    for name in ("a", "b"):
        s.provide(f"{name}://", Watched(name))

    async def do(client: Client) -> None:
        watch = client.resources.WatchResources(resources_pb2.WatchResourcesRequest())
        assert (await watch.read()).HasField("started")
        watch.cancel()
        await until(lambda: len(stopped) == 2)

    session(s, do)
    assert [r.getMessage() for r in caplog.records] == ["the watch of a:// did not end: a is stuck", "the watch of b:// did not end: b is stuck"]


def test_a_provider_that_fails() -> None:
    s = Server("test", "1")

    class Broken(DirectoryProvider):
        async def list(self) -> Any:
            raise ValueError("the table is locked")

        def skill(self, call: Call, uri: str) -> Any:
            raise FileNotFoundError

        def directory(self, call: Call, uri: str) -> Any:
            return {}["no"]

    s.provide("broken://", Broken())

    async def do(client: Client) -> None:
        for call, code, says in [
            (client.resources.ListResources(resources_pb2.ListResourcesRequest()), "INTERNAL", "the table is locked"),
            (client.resources.GetSkill(resources_pb2.GetSkillRequest(uri="broken://a/SKILL.md")), "NOT_FOUND", "no such resource"),
            (client.resources.ListResourceDirectory(resources_pb2.ListResourceDirectoryRequest(uri="broken://a")), "INTERNAL", "KeyError: 'no'"),
        ]:
            with pytest.raises(grpc.aio.AioRpcError) as e:
                await call
            assert e.value.code().name == code and says in (e.value.details() or "")

    session(s, do)


def lambda_none() -> None:
    return None


def test_pages() -> None:
    entries = [content_pb2.Resource(uri=f"x://{i}", name="n" * 1000) for i in range(5000)]
    got, token = page(entries, lambda r: r.uri, "", 2)
    assert [r.uri for r in got] == ["x://0", "x://1"]
    assert [r.uri for r in page(entries[1:], lambda r: r.uri, token, 1)[0]] == ["x://2"]  # one before it is gone
    assert [r.uri for r in page(entries[:1] + entries[2:], lambda r: r.uri, token, 1)[0]] == ["x://2"]  # it is gone itself
    seen, token = 0, ""
    while True:
        got, token = page(entries, lambda r: r.uri, token, 0)
        assert 0 < len(got) <= 1000
        seen += len(got)
        if not token:
            break
    assert seen == 5000
    with pytest.raises(Exception, match="was not given by this list"):
        page(entries, lambda r: r.uri, "1-x", 0)


def test_resources() -> None:
    s = Server("test", "1")

    @s.resource("file:///a.png", mime_type="image/png")
    def picture(call: Call) -> bytes:
        call.set_cache(1.5, shared=True)
        return b"text"

    @s.resource("file:///b", mime_type="text/plain")
    def script() -> bytes:
        return b"text"

    @s.resource("notes://{day}/{+path}", complete={"day": lambda_days})
    def note(day: int, path: str, uri: str) -> ResourceContents | None:
        if path == "gone":
            raise FileNotFoundError
        if path == "locked":
            raise PermissionError
        return None if path == "none" else blob_contents(f"{day} {path} {uri}".encode())

    read = read_resource(s, "file:///a.png").result
    assert read.contents[0].blob == b"text" and read.cache == (1.5, True)
    assert read_resource(s, "file:///b").result.contents[0].text == "text"
    assert read_resource(s, "notes://3/a/b%20c").result.contents[0].blob == b"3 a/b c notes://3/a/b%20c"
    for uri in ("notes://3/gone", "notes://3/none", "notes://x/y", "other://"):
        failure = read_resource(s, uri).failure
        assert failure is not None and failure.reason == Reason.NOT_FOUND, uri
    locked = read_resource(s, "notes://3/locked").failure
    assert locked is not None and locked.reason == Reason.PERMISSION_DENIED
    for bad, says in [("nowhere", "must be absolute"), ("x://{a", "has a brace"), ("x://{a}", "the variable 'a'"), ("file:///b", "already")]:
        with pytest.raises(DefinitionError, match=says):
            s.resource(bad, name="n")(script)

    async def do(client: Client) -> None:
        request = resources_pb2.CompleteResourceTemplateRequest(
            uri_template="notes://{day}/{+path}", argument_name="day", argument_value="1", context_arguments={"path": "p"}
        )
        got = await client.resources.CompleteResourceTemplate(request)
        assert list(got.values) == ["1p"] * 100 and got.total == 150 and got.has_more

    session(s, do)


def lambda_days(value: str, chosen: dict[str, str]) -> list[str]:
    return [value + chosen["path"]] * 150


def test_uri_templates_have_the_values_that_all_libraries_agree_on() -> None:
    vectors = json.loads((Path(__file__).parents[3] / "tests/suites/capability/testdata/templates.json").read_text("utf-8"))
    assert vectors
    for vector in vectors:
        for uri, want in vector["uris"].items():
            assert Template.parse(vector["template"]).match(uri) == want, (vector["template"], uri)


def test_uri_templates() -> None:
    for template, uri, want in [
        ("x://{a}", "x://b%2Fc", {"a": "b/c"}),
        ("x://{a}", "x://b/c", None),
        ("x://{+a}", "x://b/c", {"a": "b/c"}),
        ("x:{/a,b}", "x:/1/2", {"a": "1", "b": "2"}),
        ("x:{?a,b}", "x:?b=2", {"b": "2"}),
        ("x:{?a,b}", "x:?a=1&b=2", {"a": "1", "b": "2"}),
        ("x{.a}", "x.json", {"a": "json"}),
        ("x{#a}", "x#y/z", {"a": "y/z"}),
        ("x{;a}", "x;a=1", {"a": "1"}),
        ("x.y", "xzy", None),
        ("x://{a}.{b}", "x://1.2.3", {"a": "1.2", "b": "3"}),
        ("x://{a,b}", "x://1,2,3", {"a": "1", "b": "2,3"}),
        ("x://{a}20{b}", "x://b%2020c", {"a": "b ", "b": "c"}),
        ("x://{a}20{b}", "x://b%20c", None),
        ("x://{a}{b}{c}!", "x://" + "-" * 8000, None),
        ("x://{a}-{b}-{c}-{d}!", "x://" + "-" * 8000, None),
    ]:
        assert Template.parse(template).match(uri) == want, template


def test_prompts() -> None:
    s = Server("test", "1")

    @s.prompt(complete={"mood": ["tired", "Tipsy", "fine"]})
    def recommend(mood: str, cups: int = 1) -> str:
        """Recommends a tea.

        :param mood: How the guest feels
        """
        if mood == "sad":
            raise Failure(Reason.FAILED_PRECONDITION, "no tea helps")
        return f"{mood} {cups}"

    entry = offer_of(s).prompts.all()[0].listed
    assert [(a.name, a.description, a.required) for a in entry.arguments] == [("mood", "How the guest feels", True), ("cups", "", False)]
    got = get_prompt(s, "recommend", {"mood": "fine", "cups": "2"}).result
    assert (got.description, got.messages[0].content.text) == ("Recommends a tea.", "fine 2")
    for arguments, reason in [({}, "INVALID_ARGUMENT"), ({"mood": "x", "cups": "y"}, "INVALID_ARGUMENT"), ({"mood": "sad"}, "FAILED_PRECONDITION")]:
        failure = get_prompt(s, "recommend", arguments).failure
        assert failure is not None and failure.reason.name == reason

    async def do(client: Client) -> None:
        request = prompts_pb2.CompletePromptRequest(name="recommend", argument_name="mood", argument_value="ti")
        assert list((await client.prompts.CompletePrompt(request)).values) == ["tired", "Tipsy"]
        assert (await client.prompts.CompletePrompt(prompts_pb2.CompletePromptRequest(name="recommend", argument_name="cups"))).total == 0

    session(s, do)


def test_the_trace_of_the_edge_goes_on() -> None:
    s = Server("test", "1")

    @s.tool
    def plain() -> str:
        return trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)

    @s.tool
    async def asynchronous() -> str:
        return plain()

    async def do(client: Client) -> None:
        for name in ("plain", "asynchronous"):
            assert (await client.call_tool(name)).text == "0af7651916cd43dd8448eb211c80319c"

    session(s, do, metadata=(("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),))


PROGRAM = """
import pathlib, time
from mcpedge.capability import Server
server = Server("program", "1.0.0", grace=120)
go = pathlib.Path(__file__).with_name("go")
@server.tool
def slow() -> str:
    print("slow began", flush=True)
    while not go.exists():
        time.sleep(0.02)
    return "done"
server.run()
"""


AFTER = """
import atexit, pathlib, time
from mcpedge.capability import Server
server = Server("program", "1.0.0", grace=0.1)
go = pathlib.Path(__file__).with_name("go")
@server.tool
def stuck() -> str:
    print("stuck began", flush=True)
    while not go.exists():
        time.sleep(0.02)
    print("stuck ended", flush=True)
    return ""
atexit.register(print, "at exit", flush=True)
server.run()
time.sleep(1.5)
print("after", flush=True)
"""


def start(tmp_path: Path, *flags: str, program: str = PROGRAM) -> "tuple[subprocess.Popen[str], str]":
    """Returns a program that serves on a port that the system has chosen, and its address."""
    return launch(tmp_path, "127.0.0.1:0", *flags, text=program)


def launch(tmp_path: Path, address: str, *flags: str, text: str = PROGRAM) -> "tuple[subprocess.Popen[str], str]":
    file = tmp_path / "program.py"
    file.write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    program = subprocess.Popen(
        [sys.executable, str(file), "--listen", address, *flags],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert program.stderr is not None
    line = program.stderr.readline()
    serves = re.search(r" serves on (\S+)", line)
    assert serves is not None, line
    return program, serves[1]


def test_a_program_stops_gracefully(tmp_path: Path) -> None:
    program, address = start(tmp_path)
    with grpc.insecure_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        health = stub.Watch(health_pb2.HealthCheckRequest(service="mcpedge.v1.ToolService"))
        assert next(health).status == health_pb2.HealthCheckResponse.SERVING
        from mcpedge.v1.tools_pb2_grpc import ToolServiceStub

        calls: Any = ToolServiceStub(channel)
        stream = calls.CallTool(tools_pb2.CallToolRequest(name="slow"))
        assert program.stdout is not None and program.stdout.readline() == "slow began\n"
        second = subprocess.run(
            [sys.executable, str(tmp_path / "program.py"), "--listen", address],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            timeout=120,
        )
        assert second.returncode == 1 and "cannot listen on" in second.stderr and "Traceback" not in second.stderr
        program.send_signal(signal.SIGTERM)
        assert next(health).status == health_pb2.HealthCheckResponse.NOT_SERVING
        health.cancel()
        (tmp_path / "go").touch()
        assert [m.result.content[0].text.text for m in stream] == ["done"]
    assert program.wait(60) == 0
    program.communicate()


def test_what_comes_after_run_is_not_cut_off(tmp_path: Path) -> None:
    program, _ = start(tmp_path, program=AFTER)
    program.terminate()
    out, _ = program.communicate(timeout=60)
    assert (out, program.returncode) == ("after\nat exit\n", 0)


LEFT = """
import asyncio, atexit, gc
atexit.register(lambda: print(sum(type(o).__name__ == "AioServer" for o in gc.get_objects())))
from mcpedge.capability import Call, Server, serve
from mcpedge.capability.testing import Client
kept = []
async def used() -> None:
    server = Server("program", "1.0.0")
    @server.tool
    async def keep(call: Call) -> str:
        kept.append(call)
        await call.log("info", "kept")
        return ""
    async with Client(server) as client:
        await client.call_tool("keep")
    try:
        await serve(server, "unix:/nowhere/socket")
    except OSError as e:
        cycle = [e]
        cycle.append(cycle)
gc.disable()
asyncio.run(used())
"""


def test_no_grpc_server_is_left_when_the_interpreter_ends(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(LEFT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=environment, timeout=120)
    assert (ran.stdout, ran.returncode) == ("0\n", 0), ran.stderr


@pytest.mark.parametrize("ends", [True, False])
def test_a_plain_handler_that_still_runs_is_named_and_awaited(tmp_path: Path, ends: bool) -> None:
    program, address = start(tmp_path, program=AFTER)
    with grpc.insecure_channel(address) as channel:
        from mcpedge.v1.tools_pb2_grpc import ToolServiceStub

        calls: Any = ToolServiceStub(channel)
        stream = calls.CallTool(tools_pb2.CallToolRequest(name="stuck"))
        assert program.stdout is not None and program.stdout.readline() == "stuck began\n"
        program.terminate()
        with pytest.raises(grpc.RpcError):
            next(stream)
    assert program.stderr is not None
    assert any("waits for plain handlers that still run: tool stuck;" in line for line in program.stderr)
    if not ends:
        program.terminate()
        program.communicate(timeout=60)
        assert program.returncode == -signal.SIGTERM
        return
    assert program.stdout.readline() == "after\n", "run returns though the handler still runs"
    (tmp_path / "go").touch()
    assert (*program.communicate(timeout=60), program.returncode) == ("stuck ended\nat exit\n", "", 0)


def test_a_unix_socket_is_taken_only_when_nobody_serves_it(tmp_path: Path) -> None:
    path = tmp_path / "s"
    first, _ = launch(tmp_path, f"unix:{path}")
    try:
        for address in (f"unix:{path}", f"unix://{path}"):
            with pytest.raises(OSError, match=r"cannot listen on unix:.*: another process serves it"):
                asyncio.run(asyncio.wait_for(serve(Server("test", "1"), address), 60))
    finally:
        first.kill()
        first.communicate()
    assert path.exists()
    second, _ = launch(tmp_path, f"unix:{path}")  # the socket that is left is replaced
    second.terminate()
    second.communicate()
    path.write_text("of someone")
    with pytest.raises(OSError, match=r"cannot listen on unix:.* is no socket"):
        asyncio.run(asyncio.wait_for(serve(Server("test", "1"), f"unix:{path}"), 60))
    assert path.read_text() == "of someone"


def test_tls(tmp_path: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=tmp_path)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")  # fmt: skip
    cert, key = (tmp_path / "cert.pem"), (tmp_path / "key.pem")
    program, address = start(tmp_path, "--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(cert))
    try:
        for own, ok in [((key.read_bytes(), cert.read_bytes()), True), ((None, None), False)]:
            credentials = grpc.ssl_channel_credentials(cert.read_bytes(), *own)
            with grpc.secure_channel(address, credentials) as channel:
                stub: Any = health_pb2_grpc.HealthStub(channel)
                try:
                    stub.Check(health_pb2.HealthCheckRequest(), timeout=60)
                    assert ok
                except grpc.RpcError as e:
                    assert not ok, e
    finally:
        program.terminate()
        program.communicate()


def test_files_of_tls_that_are_not_pem_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "cert.pem").write_text("no PEM")
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----")
    with pytest.raises(SystemExit):
        Server("test", "1").run(["--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")])
    assert f"the certificate {tmp_path / 'cert.pem'} is not in PEM" in caplog.text


def test_version_is_the_repositorys() -> None:
    root = Path(__file__).parents[3]
    chart = (root / "deploy/chart/Chart.yaml").read_text()
    (version,) = [line.split()[1] for line in chart.splitlines() if line.startswith("appVersion:")]
    assert f'version = "{version}"' in (root / "sdk/python/pyproject.toml").read_text()


def test_the_log_is_the_servers(caplog: pytest.LogCaptureFixture) -> None:
    s = Server("test", "1", logger=logging.getLogger("mine"))

    @s.tool
    def t() -> str:
        return None.no  # type: ignore

    call_tool(s, "t")
    assert [r.name for r in caplog.records] == ["mine"]


def test_the_first_program_is_short_and_the_same_everywhere() -> None:
    root = Path(__file__).parents[3]
    shown = [(root / page).read_text().split("```python\n")[1].split("```")[0] for page in ("sdk/python/README.md", "docs/backends/python.md")]
    assert shown[0] == shown[1]
    assert len([line for line in shown[0].splitlines() if line.strip()]) <= 10
