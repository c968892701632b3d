#!/bin/sh
# All checks of the Rust library: format, lint, stubs, tests, documentation, and the package, which a small project of its own depends on
# whose tool is called through an edge. MCPEDGE_PROGRAM names a built edge; without it one is built (needs Go). Everything is built in
# target/, or where CARGO_TARGET_DIR says. It takes the whole workspace each time, as fixture/run and everything/run do: of fewer members
# dependencies would have fewer features, and be compiled again. What only makes the stubs is not linted, as that would compile a compiler
# of protobuf twice.
set -eu
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
tmp=$(mktemp -d)
children=
trap 'for child in $children; do kill "$child" 2>/dev/null || :; done; rm -rf "$tmp"' EXIT

cargo fmt --all --check
cargo build --quiet --locked --workspace --bins
"$CARGO_TARGET_DIR/debug/stubs" --check
cargo test --quiet --locked --workspace
cargo clippy --quiet --locked --workspace --exclude stubs --all-targets -- -D warnings

cargo package --quiet --locked --allow-dirty --no-verify -p mcpedge-capability
tar -xzf "$CARGO_TARGET_DIR"/package/mcpedge-capability-*.crate -C "$tmp"
mkdir -p "$tmp/hello/src"
cp Cargo.lock "$tmp/hello/"
cat >"$tmp/hello/Cargo.toml" <<TOML
[package]
name = "hello"
version = "1.0.0"
edition = "2024"

[dependencies]
mcpedge-capability = { path = "$(echo "$tmp"/mcpedge-capability-*)" }
schemars = "1"
serde = { version = "1", features = ["derive"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
TOML
sed -n '/^```rust,no_run$/,/^```$/{/^```/!p}' "$tmp"/mcpedge-capability-*/README.md >"$tmp/hello/src/main.rs"
cargo build --quiet --offline --manifest-path "$tmp/hello/Cargo.toml"

edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
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
