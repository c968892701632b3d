#!/bin/sh
# Makes a small project that depends on the packed library and its macros alone, with the README's program in it, and calls its tool through
# an edge: packed.sh CRATE MACROS EDGE. It is built in target/, or where CARGO_TARGET_DIR says.
set -eu
crate=$(realpath "$1") macros=$(realpath "$2") edge=$(realpath "$3")
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
tmp=$(mktemp -d)
children=
trap 'for child in $children; do kill "$child" 2>/dev/null || :; done; rm -rf "$tmp"' EXIT

tar -xzf "$crate" -C "$tmp"
mkdir "$tmp/macros"
tar -xzf "$macros" -C "$tmp/macros" --strip-components=1
mkdir -p "$tmp/hello/src"
cp Cargo.lock "$tmp/hello/"
cat >"$tmp/hello/Cargo.toml" <<TOML
[package]
name = "hello"
version = "1.0.0"
edition = "2024"

[dependencies]
mcpedge-capability = { path = "$(echo "$tmp"/mcpedge-capability-*)" }
# Not used. With the features of the workspace in one of its roots, most dependencies are those that are built there.
hashbrown = { version = "*", default-features = false, features = ["default-hasher"] }
schemars = "1"
serde = { version = "1", features = ["derive"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }

[patch.crates-io]
mcpedge-capability-macros = { path = "$tmp/macros" }
TOML
sed -n '/^```rust,no_run$/,/^```$/{/^```/!p}' "$tmp"/mcpedge-capability-*/README.md >"$tmp/hello/src/main.rs"
cargo build --quiet --manifest-path "$tmp/hello/Cargo.toml"

await() { # await FILE TEXT: prints the first line that has the text, when there is one; fails after a minute
  for _ in $(seq 600); do
    grep -m 1 -- "$2" "$1" 2>/dev/null && return
    sleep 0.1
  done
  echo "$1 never had $2:" >&2
  cat "$1" >&2
  return 1
}
"$CARGO_TARGET_DIR/debug/hello" --listen "unix:$tmp/hello.sock" 2>"$tmp/hello.log" &
children=$!
await "$tmp/hello.log" '"msg":"serving"' >/dev/null
"$edge" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --backend "hello=unix://$tmp/hello.sock" 2>"$tmp/edge.log" &
children="$children $!"
endpoint=$(await "$tmp/edge.log" endpoint= | sed 's/.*endpoint=\([^ ]*\).*/\1/')
answer=$(curl -sS "$endpoint" \
  -H 'Content-Type: application/json' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: greet' \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"},"_meta":{
       "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}')
case $answer in
*'"text":"Hello, Ada"'*) echo 'the packaged library serves a tool through an edge' ;;
*) echo "the tool of the packaged library answered: $answer" >&2; cat "$tmp/edge.log" >&2; exit 1 ;;
esac
