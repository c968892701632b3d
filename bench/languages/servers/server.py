"""The benchmark's tool in FastMCP, without sessions and with JSON: server.py PORT."""

import sys

from fastmcp import FastMCP

server = FastMCP("bench")


@server.tool
def large(bytes: int) -> str:
    """Gives much"""
    return "x" * bytes


server.run(
    transport="http",
    host="127.0.0.1",
    port=int(sys.argv[1]),
    stateless_http=True,
    json_response=True,
    show_banner=False,
    uvicorn_config={"access_log": False, "log_level": "warning"},
)
