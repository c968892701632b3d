#!/bin/sh
# All checks of the Rust library: format, lint, stubs, tests, documentation, and the package, which a small project of its own depends on
# whose tool is called through an edge. MCPEDGE_PROGRAM names a built edge; without it one is built (needs Go). Everything is built in
# target/, or where CARGO_TARGET_DIR says. It takes the whole workspace each time, as fixture/run and everything/run do: of fewer members
# dependencies would have fewer features, and be compiled again. Clippy compiles the members in place of rustc, and lints them as it does:
# what cargo clippy does would read all dependencies anew, since it makes nothing that can be run.
set -eu
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cargo fmt --all --check
cargo fmt --check --manifest-path stubs/Cargo.toml
stubs/run --sums
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
cargo build --quiet --locked --workspace --all-targets
cargo test --quiet --locked --workspace
unset RUSTC_WORKSPACE_WRAPPER CLIPPY_ARGS

cargo package --quiet --locked --allow-dirty --no-verify -p mcpedge-capability -p mcpedge-capability-macros
edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
packed=$CARGO_TARGET_DIR/package
./packed.sh "$packed"/mcpedge-capability-[0-9]*.crate "$packed"/mcpedge-capability-macros-[0-9]*.crate "$edge"
