#!/usr/bin/env bash
# Checks a capability library of sdk/: sdk.sh LANG PART…, where a part is
#
#   checks                   those of its own, sdk/LANG/test.sh, which build what the others serve, too
#   stubs                    that the generator of the library's stubs makes what is there (rust: checks compares checksums)
#   shared                   the suite that all libraries share, against sdk/LANG/fixture/run
#   conformance[=REVISION]   the official conformance suite against an edge with its fixtures, sdk/LANG/everything/run, behind it:
#                            the scenarios of REVISION, or all
#
# All parts are run even when one fails. SDK_COUNTS names a file for "<passed> <failed>": scenarios, and each of the other parts as one.
# MCPEDGE_PROGRAM names a built edge, and CAPABILITY_TEST the suite, built as well; without them they are built.
set -euo pipefail
cd "$(dirname "$0")/.."
lang=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# For the fixtures as for sdk/rust/test.sh, which builds them first: what another compiler has made is compiled again.
export CARGO_INCREMENTAL=0
if [ "$lang" = rust ]; then export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__; fi
passed=0 failed=0

part() { # part COMMAND… counts as one that passed or failed
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# built is set once the fixtures are: they have a minute, or half of one, to listen, and a first build
# takes longer.
built=
build() {
  [ -z "$built" ] || return 0
  case $lang in
  java) sdk/java/build.sh >/dev/null ;;
  python) sdk/python/venv.sh >/dev/null ;;
  rust) cargo build --quiet --locked --manifest-path sdk/rust/Cargo.toml --workspace --bins ;;
  typescript) npm ci --prefix sdk/typescript --loglevel=error && npm run --prefix sdk/typescript --silent build ;;
  esac || return
  built=1
}

checks() {
  # Of its own, as libraries may be checked at the same time.
  [ -n "${MCPEDGE_PROGRAM:-}" ] || go build -o "$tmp/mcpedge" ./edge || return
  MCPEDGE_PROGRAM=${MCPEDGE_PROGRAM:-$tmp/mcpedge} "sdk/$lang/test.sh" && built=1
}

shared() {
  local suite=${CAPABILITY_TEST:-$tmp/capability.test}
  build || return
  [ -n "${CAPABILITY_TEST:-}" ] || go test -c -vet=off -o "$suite" ./tests/suites/capability || return
  env -C tests/suites/capability "$suite" -fixture "$PWD/sdk/$lang/fixture/run"
}

conformance() { # conformance REVISION adds the scenarios that it counts
  local code=0 p=0 f=0
  build && go build -o "$tmp/conformance" ./tests/programs/conformance &&
    "$tmp/conformance" -url '' -revision "$1" -backend "sdk/$lang/everything/run" -counts "$tmp/suite" || code=$?
  [ ! -s "$tmp/suite" ] || read -r p f <"$tmp/suite"
  [ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1 # it ended before it could count
  passed=$((passed + p)) failed=$((failed + f))
}

for part in "$@"; do
  echo "--- sdk/$lang: $part"
  case $part in
  checks | shared) part "$part" ;;
  stubs) part env -u RUSTC_WORKSPACE_WRAPPER "sdk/$lang/stubs/run" --check ;;
  conformance) conformance '' ;;
  conformance=*) conformance "${part#*=}" ;;
  *)
    echo "sdk.sh: no part is named $part" >&2
    failed=$((failed + 1))
    ;;
  esac
  echo "--- sdk/$lang: $part has ended after $SECONDS s"
done
[ -z "${SDK_COUNTS:-}" ] || echo "$passed $failed" >"$SDK_COUNTS"
echo "sdk/$lang: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
