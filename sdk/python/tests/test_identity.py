import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from jwt.utils import base64url_encode
from test_serving import session

from mcpedge.capability import Call, DefinitionError, Server, StatusError
from mcpedge.capability import identity as module
from mcpedge.capability.identity import Identities
from mcpedge.capability.testing import Client, default_context
from mcpedge.v1 import common_pb2, prompts_pb2, resources_pb2, tools_pb2

WHO = "alice https://id a,b r desk agent acme True"


class Edge:
    """An edge's keys, and their URL."""

    def __init__(self) -> None:
        self.key: Any = ed25519.Ed25519PrivateKey.generate()
        self.kid = "k1"
        self.fetches = 0
        self.status = 200
        edge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                edge.fetches += 1
                self.send_response(edge.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(edge.jwks())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/.well-known/jwks.json"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def jwks(self) -> bytes:
        public: Any
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            raw = self.key.public_key().public_bytes_raw()
            public = {"kty": "OKP", "crv": "Ed25519", "x": base64url_encode(raw).decode()}
        else:  # As RFC 7518, section 6.2.1.2, has it; PyJWT before 2.10 leaves out zeros that a coordinate begins with.
            n = self.key.public_key().public_numbers()
            x, y = (base64url_encode(i.to_bytes(32, "big")).decode() for i in (n.x, n.y))
            public = {"kty": "EC", "crv": "P-256", "x": x, "y": y}
        return json.dumps({"keys": [{**public, "kid": self.kid}, {"kty": "unknown", "kid": "other"}]}).encode()

    def sign(self, *, typ: str = "mcp-identity+jwt", alg: str = "EdDSA", key: Any = None, **changes: Any) -> str:
        claims: dict[str, Any] = {
            "sub": "alice", "sub_id": {"iss": "https://id"}, "scope": "a b", "roles": ["r"], "client_id": "desk", "act": {"sub": "agent"},
            "subject_is_client": True, "claims": {"tenant": "acme"}, "aud": "crm", "txn": "c1", "exp": time.time() + 60,
        }  # fmt: skip
        claims = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        return jwt.encode(claims, self.key if key is None else key, alg, {"kid": self.kid, "typ": typ})


@pytest.fixture
def edge() -> Iterator[Edge]:
    e = Edge()
    yield e
    e.http.shutdown()
    e.http.server_close()


def who(call: Call) -> str:
    p = call.principal
    return f"{p.subject} {p.issuer} {','.join(p.scopes)} {','.join(p.roles)} {p.client_id} {p.actor} {call.claim('tenant')} {p.subject_is_client}"


def guarded(edge: Edge) -> Server:
    s = Server("crm", "1", identity=Identities(edge.url, "crm"))
    s.tool(name="who")(who)
    s.prompt(name="who", complete={})(who)
    s.resource("who://x", name="who")(who)

    @s.resource("t://{id}", complete={"id": ["a"]})
    def templated(id: str) -> str:
        return id

    return s


def context() -> common_pb2.RequestContext:
    rc = default_context()
    rc.call_id = "c1"
    rc.principal.subject = "mallory"
    return rc


async def work(client: Client) -> dict[str, Any]:
    """Runs work of every kind, and returns the results, or the status."""
    out: dict[str, Any] = {}
    for kind, do in {"tool": client.call_tool("who"), "read": client.read_resource("who://x"), "prompt": client.get_prompt("who")}.items():
        try:
            out[kind] = str((await do).result)
        except grpc.aio.AioRpcError as e:
            out[kind] = e.code()
    completion = resources_pb2.CompleteResourceTemplateRequest(uri_template="t://{id}", argument_name="id", context=context())
    cancel = tools_pb2.CancelCallRequest(name="who", context=context())
    for kind, call in {"completion": client.resources.CompleteResourceTemplate(completion, metadata=client.metadata)}.items():
        try:
            out[kind] = str(await call)
        except grpc.aio.AioRpcError as e:
            out[kind] = e.code()
    await client.tools.CancelCall(cancel, metadata=client.metadata)  # nothing is called
    return out


def test_work_is_the_verified_callers(edge: Edge) -> None:
    async def do(client: Client) -> None:
        done = await work(client)
        assert all(WHO in done[kind] for kind in ("tool", "read", "prompt")) and "values" in done["completion"], done

    session(guarded(edge), do, context=context(), metadata=(("mcp-identity", edge.sign()),))
    assert edge.fetches == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"aud": "hr"}, "not accepted"),
        ({"txn": "c2"}, "another call's"),
        ({"txn": None}, "another call's"),
        ({"exp": None}, "not accepted"),
        ({"exp": 1}, "not accepted"),
        ({"typ": "JWT"}, "its type is 'JWT'"),
        ({"alg": "HS256", "key": "public-key-of-the-edge-as-a-shared-secret"}, "not accepted"),
        ({"alg": "none", "key": ""}, "not accepted"),
        ({"key": ed25519.Ed25519PrivateKey.generate()}, "not accepted"),
    ],
)
def test_what_is_not_the_edges_is_refused(edge: Edge, changes: dict[str, Any], says: str) -> None:
    async def do(client: Client) -> None:
        with pytest.raises(grpc.aio.AioRpcError, match=says) as e:
            await client.call_tool("who")
        assert e.value.code() == grpc.StatusCode.UNAUTHENTICATED
        assert set((await work(client)).values()) == {grpc.StatusCode.UNAUTHENTICATED}

    session(guarded(edge), do, context=context(), metadata=(("mcp-identity", edge.sign(**changes)),))


def test_work_without_an_identity_is_refused_and_lists_are_not(edge: Edge) -> None:
    async def do(client: Client) -> None:
        with pytest.raises(grpc.aio.AioRpcError, match="the call has 0 identities"):
            await client.call_tool("who")
        assert len((await client.tools.ListTools(tools_pb2.ListToolsRequest())).tools) == 1
        assert len((await client.prompts.ListPrompts(prompts_pb2.ListPromptsRequest())).prompts) == 1

    session(guarded(edge), do, context=context())


def test_keys_that_are_new_are_fetched_and_old_ones_serve_on(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN", 0)
    now = 1000.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    identities = Identities(edge.url, "crm")

    async def subject() -> str:
        return (await identities.verify((("mcp-identity", edge.sign()),), "c1")).subject

    async def do(client: Client) -> None:
        nonlocal now
        edge.status = 302
        with pytest.raises(StatusError, match=r"cannot be read: .* answers 302") as e:
            await subject()
        assert e.value.code == grpc.StatusCode.UNAVAILABLE
        edge.status = 200
        assert await subject() == "alice"
        edge.key, edge.kid = ec.generate_private_key(ec.SECP256R1()), "k2"
        token = edge.sign(alg="ES256")
        assert (await identities.verify((("mcp-identity", token),), "c1")).subject == "alice"
        edge.status = 500
        for later, fine in ((2000.0, True), (4000.0, True), (5000.0, False)):
            now = later
            try:
                assert (await identities.verify((("mcp-identity", edge.sign(alg="ES256")),), "c1")).subject == "alice"
                assert fine, later
            except StatusError as e:
                assert not fine and e.code == grpc.StatusCode.UNAVAILABLE, later

    session(Server("test", "1"), do)


def test_who_leaves_does_not_end_the_fetch_of_others(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    identities = Identities(edge.url, "crm")
    asked, goes_on = threading.Event(), threading.Event()
    read = Identities._read

    def slow(of: Identities) -> str:
        asked.set()
        goes_on.wait(60)
        return read(of)

    monkeypatch.setattr(Identities, "_read", slow)

    async def run() -> None:
        def verify() -> "asyncio.Task[common_pb2.Principal]":
            return asyncio.create_task(identities.verify((("mcp-identity", edge.sign()),), "c1"))

        leaver, waits = verify(), verify()
        await asyncio.to_thread(asked.wait, 60)
        leaver.cancel()
        await asyncio.wait([leaver])
        late = verify()
        await asyncio.sleep(0.1)
        goes_on.set()
        assert [(await t).subject for t in (waits, late)] == ["alice", "alice"] and edge.fetches == 1

    asyncio.run(run())


def test_identities_need_both() -> None:
    with pytest.raises(DefinitionError, match="give both"):
        Identities("", "crm")
