#!/bin/sh
# Writes src/gen anew from proto/: the stubs, and the descriptors that reflection answers with. It takes Go.
set -eu
cd "$(dirname "$0")"
buf="go tool -modfile=../../tools/go.mod buf"
$buf generate ../../proto --path ../../proto/mcpedge/v1
{
  echo "// The contract's descriptors: a google.protobuf.FileDescriptorSet."
  printf 'export const descriptors = Buffer.from(\n  "'
  $buf build ../../proto --path ../../proto/mcpedge/v1 --exclude-source-info -o -#format=binpb | base64 | tr -d '\n'
  printf '",\n  "base64",\n);\n'
} > src/gen/descriptors.ts
