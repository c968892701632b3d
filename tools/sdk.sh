#!/usr/bin/env bash
# Checks the capability libraries in sdk/: sdk.sh [REVISION]. Of each it runs the checks of its own, sdk/LANG/test.sh, the suite that all
# libraries share against sdk/LANG/fixture/run, and the official conformance suite against an edge with its fixtures,
# sdk/LANG/everything/run, behind it: the scenarios of REVISION, or all. SDK names the libraries, separated by spaces; empty: all. SDK_COUNTS
# names a file for "<passed> <failed>": scenarios, and each test.sh and shared suite as one.
set -euo pipefail
cd "$(dirname "$0")/.."
revision=${1:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o bin/mcpedge ./edge
go build -o bin/conformance ./tests/conformance
export MCPEDGE_PROGRAM=$PWD/bin/mcpedge

passed=0 failed=0
for lang in ${SDK:-$(ls sdk)}; do
  echo "--- sdk/$lang: checks"
  start=$SECONDS
  if "sdk/$lang/test.sh"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  echo "--- sdk/$lang: the shared suite ($((SECONDS - start)) s for the checks)"
  if go test -count=1 ./tests/capability -args -fixture "$PWD/sdk/$lang/fixture/run"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  echo "--- sdk/$lang: conformance"
  p=0 f=0
  bin/conformance -url '' -revision "$revision" -backend "sdk/$lang/everything/run" -counts "$tmp/counts" || f=1
  [ ! -s "$tmp/counts" ] || read -r p counted <"$tmp/counts"
  [ "${counted:-0}" -eq 0 ] || f=$counted
  rm -f "$tmp/counts"
  passed=$((passed + p)) failed=$((failed + f)) counted=0
  echo "--- sdk/$lang: $((SECONDS - start)) s"
done
[ -z "${SDK_COUNTS:-}" ] || echo "$passed $failed" >"$SDK_COUNTS"
echo "sdk: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
