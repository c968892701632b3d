#!/bin/sh
# All checks of the Python library: format, lint, types, stubs, tests with the newest and the oldest dependencies, and the wheel, which is
# installed into an empty environment whose tool is called through an edge. MCPEDGE_PROGRAM names a built edge; without it one is built (needs Go).
set -eu
cd "$(dirname "$0")"
python=$(./venv.sh)
bin=$(dirname "$python")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$bin/ruff" format --quiet --check src/mcpedge/capability everything fixture tests samples.py
"$bin/ruff" check --quiet src everything fixture tests samples.py
"$bin/mypy" -p mcpedge.capability
for fixtures in everything fixture; do
  (cd "$fixtures" && "$bin/mypy" --config-file ../pyproject.toml ./*.py)
done
"$bin/pyright" --pythonpath "$python"
mkdir "$tmp/samples"
"$python" samples.py "$tmp/samples"
(here=$PWD && cd "$tmp/samples" && "$bin/mypy" --config-file "$here/pyproject.toml" ./*.py)
printf '{"extraPaths": ["%s/src"], "typeCheckingMode": "standard"}' "$PWD" >"$tmp/samples/pyrightconfig.json"
"$bin/pyright" --pythonpath "$python" -p "$tmp/samples"
./stubs.sh --check
"$python" -m pytest -q

# interpreter finds a Python by its version, on the PATH or of pyenv's; nothing: there is none.
interpreter() {
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    if "$candidate" -c '' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

lowest=$(interpreter 3.10)
[ -n "$lowest" ] || { echo 'Python 3.10 is not here: the oldest dependencies are tried with python3' >&2; lowest=python3; }
"$lowest" -m venv "$tmp/oldest"
"$tmp/oldest/bin/pip" install --quiet --disable-pip-version-check -r oldest.txt
echo "the oldest dependencies, with $("$tmp/oldest/bin/python" --version)"
"$tmp/oldest/bin/python" -W ignore -m pytest -q -o filterwarnings= -p no:cacheprovider --ignore=tests/test_mcp_types.py

newest=$(interpreter 3.14)
[ -n "$newest" ] || newest=$(interpreter 3.13)
if [ -n "$newest" ]; then
  "$newest" -m venv "$tmp/newest"
  "$tmp/newest/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
  echo "the newest dependencies, with $("$tmp/newest/bin/python" --version)"
  "$tmp/newest/bin/python" -m pytest -q -p no:cacheprovider
else
  echo 'neither Python 3.14 nor 3.13 is here: the newest one is not tried' >&2
fi

"$bin/python" -m build --no-isolation --outdir "$tmp/dist" . >/dev/null
python3 -m venv "$tmp/empty"
"$tmp/empty/bin/pip" install --quiet --disable-pip-version-check "$tmp"/dist/*.whl
edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
"$tmp/empty/bin/python" wheel_test.py "$edge"
