#!/usr/bin/env bash
# Runs every static check, all of them even when one fails, and says which did. Call it from the
# root of the repository. With LINT_COUNTS set, "<passed> <failed>" is written to that file.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

tool() { go tool -modfile=tools/go.mod "$@"; }

# check NAME COMMAND… shows the output of COMMAND only when it fails; what it writes to file descriptor
# 3 is shown always. COMMAND has to chain its steps by itself: errexit does not hold in a condition. With the
# exit status 77 it says that it could not be run here: it counts as nothing.
check() {
  local name=$1 start=$SECONDS code=0
  shift
  "$@" >"$tmp/out" 2>&1 3>"$tmp/note" || code=$?
  if [ "$code" -eq 0 ]; then
    passed=$((passed + 1))
    printf 'ok    %-16s %3d s  %s\n' "$name" $((SECONDS - start)) "$(cat "$tmp/note")"
  elif [ "$code" -eq 77 ]; then
    printf 'left  %-16s %3d s  %s\n' "$name" $((SECONDS - start)) "$(cat "$tmp/note")"
  else
    failed=$((failed + 1))
    printf 'FAIL  %-16s %3d s  %s\n' "$name" $((SECONDS - start)) "$(cat "$tmp/note")"
    sed 's/^/      /' "$tmp/out"
  fi
}

# Files that are tracked or about to be; not what .gitignore names.
go_files() { git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 ls -d 2>/dev/null || :; }

format() {
  local bad
  bad=$(go_files | xargs gofmt -l) || return
  [ -z "$bad" ] || { echo "not formatted; run gofmt -w on:"; echo "$bad"; return 1; }
}

vet() { go vet ./... && go vet -tags=haproxy ./tests/suites/compose; }
# All tags at once, but for composedocker, which leaves out what compose has otherwise.
static() {
  local tags=haproxy,access,apps,servers,hosts,versions,release,images,kubernetes,jaeger,prometheus tagged=() suite
  for suite in compose access apps servers hosts release images kubernetes telemetry; do tagged+=("./tests/suites/$suite"); done
  tool staticcheck ./... && tool staticcheck -tags="$tags" "${tagged[@]}" && tool staticcheck -tags=composedocker ./tests/helpers/engine ./tests/suites/compose
}
tools_module() { go vet -C tools ./... && go test -C tools -vet=off ./...; }

# Each module builds as it is, without changes to its go.mod. It may be downloaded here, which Go does not repeat where it fails.
modules() {
  local mod
  for mod in $(git ls-files -- go.mod '*/go.mod'); do
    module "$mod" || { echo "once more: $mod" >&3; sleep 5; module "$mod"; } || { echo "$mod is not what it needs; run go mod tidy there"; return 1; }
  done
}
module() { go list -C "$(dirname "$1")" -mod=readonly -deps -test ./... >/dev/null; }

contract_lint() { tool buf lint; }
# Actions of others are pinned by commit: a tag can be moved.
pinned() { ! grep -rnE '^ *(- )?uses: +[^.]' .github/workflows | grep -vE 'uses: +[^@ ]+@[0-9a-f]{40} # '; }
workflows() { pinned && go tool -modfile=tools/actionlint/go.mod actionlint -shellcheck= -pyflakes= && bash -n .ci/run tools/*.sh && sh -n tools/release/*.sh && sh -n deploy/packages/*.sh; }
imports() { go test -count=1 ./tests/suites/imports/; }

# What is built into what others run; the rest is tests.
security() {
  go build -C tools -o "$tmp/gosec" ./gosec &&
    "$tmp/gosec" ./edge/... ./capability/... ./internal/... ./services/... ./proto/...
}

# Known vulnerabilities of what is depended on, which needs their database.
vulnerabilities() {
  local code=0
  tool govulncheck ./... || code=$?
  if [ "$code" -ne 0 ] && grep -q 'fetching vulnerabilities:' "$tmp/out"; then
    echo 'left out and not counted: its database cannot be reached from here' >&3
    return 77
  fi
  return "$code"
}

# The commit that the contract must stay compatible with: the latest release, else the one before.
baseline() { git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || echo HEAD~1; }

contract_breaking() {
  local base
  base=$(baseline)
  if ! git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
    echo "nothing to compare with: this is the first commit, or a clone without history" >&3
    return
  fi
  if ! git cat-file -e "$base:proto" 2>/dev/null; then
    echo "nothing to compare with: $base has no proto/" >&3
    return
  fi
  echo "against $base" >&3
  mkdir "$tmp/base" &&
    git archive "$base" proto buf.yaml | tar -x -C "$tmp/base" &&
    tool buf breaking --against "$tmp/base"
}

generated() {
  tool buf generate -o "$tmp/generated" || return
  for dir in gen edge/admin/openapi; do
    diff -ru "$dir" "$tmp/generated/$dir" | head -n 50 || { echo "$dir is not what proto/ generates; run make generate"; return 1; }
  done
}

# Where packages come from is the choice of whoever builds: no tracked file may name a host.
package_hosts() {
  local hosts='(registry|proxy|sum|index|repo1?|static)\.(npmjs|yarnpkg|golang|crates|pypi|maven|rubygems|nuget)\.|pypi\.org|pythonhosted\.|"resolved": *"http'
  local code=0
  git grep -nIE "$hosts" || code=$?
  [ "$code" -eq 1 ] && return # no line matches; other than 0 and 1, git itself failed
  echo "these lines name the host of a package registry; remove it"
  return 1
}

check gofmt format
check 'go vet' vet
check staticcheck static
check gosec security
check govulncheck vulnerabilities
check 'tools module' tools_module
check modules modules
check 'buf lint' contract_lint
check 'buf breaking' contract_breaking
check 'generated code' generated
check workflows workflows
check 'import law' imports
check 'package hosts' package_hosts

[ -z "${LINT_COUNTS:-}" ] || echo "$passed $failed" >"$LINT_COUNTS"
echo "lint: $passed checks passed, $failed failed"
[ "$failed" -eq 0 ]
