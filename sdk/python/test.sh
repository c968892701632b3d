#!/bin/sh
# All checks of the Python library: format, lint, types, stubs, tests with the newest and the oldest dependencies, and the wheel, which is
# installed into an empty environment whose tool is called through an edge. MCPEDGE_PROGRAM names a built edge; without it one is built (needs Go).
set -eu
cd "$(dirname "$0")"
python=$(./venv.sh)
bin=$(dirname "$python")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$bin/ruff" format --quiet --check src/mcpedge/capability everything fixture tests
"$bin/ruff" check --quiet src everything fixture tests
"$bin/mypy" -p mcpedge.capability
for fixtures in everything fixture; do
  (cd "$fixtures" && "$bin/mypy" --config-file ../pyproject.toml ./*.py)
done
"$bin/pyright" --pythonpath "$python"
./stubs.sh --check
"$python" -m pytest -q

python3 -m venv "$tmp/oldest"
"$tmp/oldest/bin/pip" install --quiet --disable-pip-version-check -r oldest.txt
"$tmp/oldest/bin/python" -W ignore -m pytest -q -o filterwarnings= -p no:cacheprovider

"$bin/python" -m build --no-isolation --outdir "$tmp/dist" . >/dev/null
python3 -m venv "$tmp/empty"
"$tmp/empty/bin/pip" install --quiet --disable-pip-version-check "$tmp"/dist/*.whl
edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
"$tmp/empty/bin/python" wheel_test.py "$edge"
