#!/bin/sh
# Makes src/mcpedge/v1 and src/mcpedge/hook/v1 of the contracts, by the oldest generator whose stubs run with every protobuf from 5.26 on: its stubs do not look at the
# version of the runtime, as those of later ones do. With --check it changes nothing, and fails when the stubs are not current.
# It needs Python 3.10 to 3.12.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"${PYTHON:-python3}" -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install --quiet --no-compile --disable-pip-version-check grpcio-tools==1.63.0 'protobuf<6' 'setuptools<81'
mkdir "$tmp/out"
"$tmp/venv/bin/python" -m grpc_tools.protoc -I ../../proto --python_out="$tmp/out" --pyi_out="$tmp/out" --grpc_python_out="$tmp/out" ../../proto/mcpedge/v1/*.proto ../../proto/mcpedge/hook/v1/*.proto
for stubs in mcpedge/v1 mcpedge/hook/v1; do
  if [ "${1:-}" = --check ]; then
    diff -r -x __pycache__ "$tmp/out/$stubs" "src/$stubs" || { echo 'the stubs are not those of proto/: run sdk/python/stubs.sh' >&2; exit 1; }
  else
    rm -rf "src/$stubs"
    mkdir -p "src/$(dirname "$stubs")"
    cp -r "$tmp/out/$stubs" "src/$stubs"
  fi
done
