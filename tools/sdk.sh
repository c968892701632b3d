#!/usr/bin/env bash
# Checks the capability libraries in sdk/: sdk.sh [REVISION]. Of each it runs the checks of its own, sdk/LANG/test.sh, the suite that all
# libraries share against sdk/LANG/fixture/run, and the official conformance suite against an edge with its fixtures,
# sdk/LANG/everything/run, behind it: the scenarios of REVISION, or all. Two libraries are checked at a time, as much of the time is spent on
# waiting; what a library's checks print comes when they have ended. SDK names the libraries, separated by spaces; empty: all. SDK_COUNTS
# names a file for "<passed> <failed>": scenarios, and each test.sh and shared suite as one.
set -euo pipefail
cd "$(dirname "$0")/.."
revision=${1:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o bin/mcpedge ./edge
go build -o bin/conformance ./tests/programs/conformance
go test -c -o "$tmp/capability.test" ./tests/suites/capability
export MCPEDGE_PROGRAM=$PWD/bin/mcpedge
export CARGO_INCREMENTAL=0 # for the fixtures as for sdk/rust/test.sh, which builds them first

part() { # part COMMAND… counts as one that passed or failed
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
check() { # check LANG writes "<passed> <failed>" to $tmp/LANG.counts
  local lang=$1 start=$SECONDS passed=0 failed=0 p=0 f=0 code=0
  echo "--- sdk/$lang: checks"
  part "sdk/$lang/test.sh"
  echo "--- sdk/$lang: the shared suite ($((SECONDS - start)) s for the checks)"
  part env -C tests/suites/capability "$tmp/capability.test" -fixture "$PWD/sdk/$lang/fixture/run"
  echo "--- sdk/$lang: conformance"
  # One at a time: it installs the suite first.
  flock "$tmp" bin/conformance -url '' -revision "$revision" -backend "sdk/$lang/everything/run" -counts "$tmp/$lang.suite" || code=$?
  [ ! -s "$tmp/$lang.suite" ] || read -r p f <"$tmp/$lang.suite"
  [ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1 # it ended before it could count
  echo "$((passed + p)) $((failed + f))" >"$tmp/$lang.counts"
  echo "--- sdk/$lang: $((SECONDS - start)) s"
}

languages=${SDK:-$(ls sdk)}
for lang in $languages; do
  while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n || true; done
  check "$lang" >"$tmp/$lang.log" 2>&1 &
done
wait
passed=0 failed=0
for lang in $languages; do
  cat "$tmp/$lang.log"
  p=0 f=1
  [ ! -s "$tmp/$lang.counts" ] || read -r p f <"$tmp/$lang.counts"
  passed=$((passed + p)) failed=$((failed + f))
done
[ -z "${SDK_COUNTS:-}" ] || echo "$passed $failed" >"$SDK_COUNTS"
echo "sdk: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
