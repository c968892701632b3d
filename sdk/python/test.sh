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
export MYPY_CACHE_DIR=$PWD/.mypy_cache # one for all folders: dependencies are read once
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

# environment makes one of an interpreter, in which the pip of .venv installs the other arguments.
environment() {
  folder=$1 interpreter=$2
  shift 2
  "$interpreter" -m venv --without-pip "$folder"
  "$bin/pip" --python "$folder/bin/python" install --quiet --no-compile --disable-pip-version-check "$@"
}

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
environment "$tmp/oldest" "$lowest" -r oldest.txt
echo "the oldest dependencies, with $("$tmp/oldest/bin/python" --version)"
"$tmp/oldest/bin/python" -W ignore -m pytest -q -o filterwarnings= -p no:cacheprovider --ignore=tests/test_mcp_types.py

newest=$(interpreter 3.14)
[ -n "$newest" ] || newest=$(interpreter 3.13)
if [ -n "$newest" ]; then
  # With a pip of its own: an older one may not run there. What checks and packs the library is not run there.
  grep -vE '^(build|hatchling|mypy|pyright|ruff|types-)' requirements.txt >"$tmp/newest.txt"
  "$newest" -m venv "$tmp/newest"
  "$tmp/newest/bin/pip" install --quiet --no-compile --disable-pip-version-check -r "$tmp/newest.txt"
  echo "the newest dependencies, with $("$tmp/newest/bin/python" --version)"
  "$tmp/newest/bin/python" -m pytest -q -p no:cacheprovider
else
  echo 'neither Python 3.14 nor 3.13 is here: the newest one is not tried' >&2
fi

"$bin/python" -m build --no-isolation --outdir "$tmp/dist" . >/dev/null
environment "$tmp/empty" python3 "$tmp"/dist/*.whl
edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
"$tmp/empty/bin/python" wheel_test.py "$edge"
