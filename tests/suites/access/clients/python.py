"""The Python SDK. The lines that it is told and answers are those of programs_test.go."""

import json
import sys
import traceback
from contextlib import AsyncExitStack
from urllib.parse import parse_qs

import anyio
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

edge, redirect, *rest = sys.argv[1:]


def say(**answer):
    print(json.dumps(answer), flush=True)


async def told():
    line = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    return json.loads(line) if line else None


class Storage:
    """Keeps everything in memory; a client with an id need not register."""

    def __init__(self):
        self.tokens = None
        self.client = None
        if rest:
            self.client = OAuthClientInformationFull(client_id=rest[0], redirect_uris=[redirect], token_endpoint_auth_method="none")

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def show(link):
    say(login=link)


async def come_back():
    reply = await told()
    if reply.get("error"):
        raise RuntimeError(reply["error"])
    query = {name: values[0] for name, values in parse_qs(reply["callback"]).items()}
    return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query.get("iss"))


def fault(e):
    """What is behind groups of exceptions."""
    while isinstance(e, BaseExceptionGroup):
        e = e.exceptions[0]
    return f"{type(e).__name__}: {e}"


async def main():
    provider = OAuthClientProvider(
        server_url=edge,
        client_metadata=OAuthClientMetadata(
            client_name="a test",
            redirect_uris=[redirect],
            token_endpoint_auth_method="none",
            grant_types=["authorization_code", "refresh_token"],
        ),
        storage=Storage(),
        redirect_handler=show,
        callback_handler=come_back,
    )
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(create_mcp_http_client(auth=provider))
        client = None
        while command := await told():
            try:
                match command["do"]:
                    case "connect":
                        client = await stack.enter_async_context(Client(streamable_http_client(edge, http_client=http)))
                        say(ok=True)
                    case "list":
                        say(ok=True, names=[tool.name for tool in (await client.list_tools()).tools])
                    case "call":
                        result = await client.call_tool(command["tool"])
                        say(ok=True, text=result.content[0].text)
            except Exception as e:
                traceback.print_exc()
                say(error=fault(e))


anyio.run(main)
