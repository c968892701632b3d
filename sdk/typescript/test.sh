#!/bin/sh
# Installs what the library takes, checks its types, its format and that its stubs are current, runs its tests, also with the lowest and the
# newest Node, checks the types of the guide's programs with the packed library, and calls a tool of it through an edge, whose program is
# $MCPEDGE_PROGRAM; without it the edge is built.
set -eu
cd "$(dirname "$0")"
npm ci --loglevel=error
npm run --silent build # the tests and the fixtures import what is packed
npm run --silent lint
./generate.sh --check
npm test
test/runtimes.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${MCPEDGE_PROGRAM:-}" ]; then
  MCPEDGE_PROGRAM=$work/mcpedge
  go build -C ../.. -o "$MCPEDGE_PROGRAM" ./edge
fi
npm pack --silent --pack-destination "$work" >/dev/null
MCPEDGE_PROGRAM=$MCPEDGE_PROGRAM node test/packed.mjs "$work"
