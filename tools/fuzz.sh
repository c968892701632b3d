#!/usr/bin/env bash
# Runs each fuzz target of the packages given as arguments FUZZTIME (120000x) times. Finding no target
# at all is a failure. With FUZZ_COUNTS set, "<passed> <failed>" is written to that file.
#
# An input that reaches new code is made smaller in FUZZMINIMIZE (100x) runs at most. Go's default is a minute for
# each, in which nothing else is tried; a target with much code behind it has hundreds of them.
set -euo pipefail

out=$(mktemp)
trap 'rm -f "$out"' EXIT
passed=0 failed=0

for pkg in "$@"; do
  if ! targets=$(go test -list '^Fuzz' "$pkg" 2>&1); then
    echo "$targets"
    echo "FAIL  $pkg does not build"
    failed=$((failed + 1))
    continue
  fi
  targets=$(grep '^Fuzz' <<<"$targets" || :)
  if [ -z "$targets" ]; then
    echo "FAIL  $pkg has no fuzz target"
    failed=$((failed + 1))
  fi
  for target in $targets; do
    if go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-120000x}" \
      -fuzzminimizetime "${FUZZMINIMIZE:-100x}" "$pkg" >"$out" 2>&1; then
      passed=$((passed + 1))
      echo "ok    $pkg $target: $(grep -o 'execs: [0-9]*' "$out" | tail -n 1)"
    else
      failed=$((failed + 1))
      cat "$out"
      echo "FAIL  $pkg $target"
    fi
  done
done

[ -z "${FUZZ_COUNTS:-}" ] || echo "$passed $failed" >"$FUZZ_COUNTS"
echo "fuzz: $passed targets passed, $failed failed"
[ "$failed" -eq 0 ]
