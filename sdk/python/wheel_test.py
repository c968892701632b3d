"""Serves the README's program from the installed wheel, and calls its tool through an edge: wheel_test.py EDGE."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from mcpedge import capability

here = pathlib.Path(__file__).resolve().parent
assert not pathlib.Path(capability.__file__).is_relative_to(here), f"{capability.__file__} is not the installed one"
assert pathlib.Path(capability.__file__).with_name("py.typed").exists()

program = re.search(r"```python\n(.*?)```", (here / "README.md").read_text(), re.S)
assert program is not None


def served(process: subprocess.Popen[str], line: str) -> str:
    """Returns the address that a line of the log of a process has: the system has chosen the port."""
    assert process.stderr is not None
    seen = ""
    for text in process.stderr:
        seen += text
        if found := re.search(line, text):
            # What else is logged must not fill the pipe.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return found[1]
    raise AssertionError(f"the process ended without an address:\n{seen}")


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
    backend = subprocess.Popen([sys.executable, str(file), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    listen = served(backend, r" serves on (\S+)")
    command = [sys.argv[1], "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--backend", f"hello={listen}"]
    edge = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        mcp = served(edge, r"endpoint=(\S+)")
        end = time.monotonic() + 120
        while True:
            request = urllib.request.Request(mcp, json.dumps(body).encode(), headers)
            try:
                answer = json.load(urllib.request.urlopen(request))
            except urllib.error.HTTPError as e:  # the edge does not know the tool yet
                answer = {"status": e.code, "body": e.read().decode()}
            if "result" in answer:
                break
            assert time.monotonic() < end and backend.poll() is None and edge.poll() is None, f"the edge does not serve the tool: {answer}"
            time.sleep(0.1)
        assert answer.get("result", {}).get("content") == [{"type": "text", "text": "Hello, Ada"}], answer
    finally:
        edge.terminate()
        backend.terminate()
        edge.wait(60)
        ended = backend.wait(60)
    assert ended == 0, f"the backend ended with {ended}"
print("wheel: greet answered through an edge")
