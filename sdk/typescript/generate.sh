#!/bin/sh
# Writes src/gen anew from proto/: the stubs, and the descriptors that reflection answers with. With --check it changes nothing, and fails
# when they are not current. It takes Go, and `npm ci`.
set -eu
cd "$(dirname "$0")"
buf="go tool -modfile=../../tools/go.mod buf"
out=.
if [ "${1:-}" = --check ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
$buf generate ../../proto --path ../../proto/mcpedge/v1 --output "$out"
{
  echo "// The contract's descriptors: a google.protobuf.FileDescriptorSet."
  printf 'export const descriptors = Buffer.from(\n  "'
  $buf build ../../proto --path ../../proto/mcpedge/v1 --exclude-source-info -o -#format=binpb | base64 | tr -d '\n'
  printf '",\n  "base64",\n);\n'
} > "$out/src/gen/descriptors.ts"
if [ "$out" != . ]; then
  diff -r "$out/src/gen" src/gen || { echo 'the stubs are not those of proto/: run sdk/typescript/generate.sh' >&2; exit 1; }
fi
