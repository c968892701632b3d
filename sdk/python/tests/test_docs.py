"""The programs of the page for authors do what it says. test.sh also runs type checkers on them."""

import os
import subprocess
import sys
from pathlib import Path

import samples


def test_samples_of_the_page_run(tmp_path: Path) -> None:
    samples.write(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_server.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0 and "2 passed" in ran.stdout, ran.stdout + ran.stderr
