"""Writes the programs of docs/backends/python.md into a folder, as its reader puts them together: samples.py FOLDER."""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/backends/python.md"
MAIN = 'if __name__ == "__main__":'


def write(folder: Path) -> None:
    """Writes server.py, with all snippets before its last lines, and test_server.py."""
    page = PAGE.read_text("utf-8").partition("## With stubs alone")[0]
    first, *rest = re.findall(r"```python\n(.*?)```", page, re.S)
    (test,) = [block for block in rest if "from server import server" in block]
    head, main, tail = first.partition(MAIN)
    assert main and len(rest) >= 5, f"{PAGE} has {len(rest)} snippets"
    (folder / "server.py").write_text("\n\n".join([head, *(b for b in rest if b is not test), main + tail]), "utf-8")
    (folder / "test_server.py").write_text(test, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
