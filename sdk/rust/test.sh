#!/bin/sh
# All checks of the Rust library: format, lint, stubs, tests, documentation, and the package, which a small project of its own depends on
# whose tool is called through an edge. MCPEDGE_PROGRAM names a built edge; without it one is built (needs Go). Everything is built in
# target/, or where CARGO_TARGET_DIR says. What only makes the stubs is not linted, as that would compile a compiler of protobuf twice.
set -eu
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_PROFILE_DEV_DEBUG=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cargo fmt --all --check
cargo build --quiet --locked --workspace --tests
cargo clippy --quiet --locked --workspace --exclude stubs --all-targets -- -D warnings
cargo run --quiet --locked -p stubs -- --check
cargo test --quiet --locked -p mcpedge-capability

cargo package --quiet --locked --allow-dirty --no-verify -p mcpedge-capability
edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
./packed.sh "$CARGO_TARGET_DIR"/package/mcpedge-capability-*.crate "$edge"
