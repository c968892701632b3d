#!/bin/sh
# Makes .venv/ with the pinned packages, and mcpedge/v1/ with the stubs of the contract.
set -eu
cd "$(dirname "$0")"
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
proto=../../proto
.venv/bin/python -m grpc_tools.protoc -I "$proto" --python_out=. --grpc_python_out=. "$proto"/mcpedge/v1/*.proto
