"""Serves the README's program from the installed wheel, and calls its tool through an edge: wheel_test.py EDGE."""

import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from mcpedge import capability

here = pathlib.Path(__file__).resolve().parent
assert not pathlib.Path(capability.__file__).is_relative_to(here), f"{capability.__file__} is not the installed one"
assert pathlib.Path(capability.__file__).with_name("py.typed").exists()

program = re.search(r"```python\n(.*?)```", (here / "README.md").read_text(), re.S)
assert program is not None


def free() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


listen, mcp, admin = free(), free(), free()
body = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "greet",
        "arguments": {"name": "Ada"},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}},
    },
}
headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "greet"}
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "server.py")
    file.write_text(program[1])
    backend = subprocess.Popen([sys.executable, str(file), "--listen", listen], stderr=subprocess.PIPE, text=True)
    assert backend.stderr is not None and listen in (line := backend.stderr.readline()), line
    edge = subprocess.Popen([sys.argv[1], "--listen", mcp, "--admin", admin, "--backend", f"hello={listen}"], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"http://{admin}/readyz")
                break
            except OSError:
                assert time.monotonic() < end and backend.poll() is None and edge.poll() is None, "the edge is not ready"
                time.sleep(0.1)
        request = urllib.request.Request(f"http://{mcp}/mcp", json.dumps(body).encode(), headers)
        answer = json.load(urllib.request.urlopen(request))
        assert answer.get("result", {}).get("content") == [{"type": "text", "text": "Hello, Ada"}], answer
    finally:
        edge.terminate()
        backend.terminate()
        edge.wait(15)
        ended = backend.wait(15)
    assert ended == 0, f"the backend ended with {ended}"
print("wheel: greet answered through an edge")
