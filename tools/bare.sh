#!/usr/bin/env bash
# Runs `make test` as somebody does who has just cloned the repository, on a machine with Go, git, make and little else: no redis-server, no
# package manager, no C compiler, no root where the system lets a process do without. It must end with status 0 and, last, the one line about
# what was left out. With GOTEST_COUNTS set, the counts of its tests are written to that file.
#
# Its tests are those that could end otherwise on another machine (see tools/internal/packages/machine.go); with the argument all, all of
# them.
set -euo pipefail
case ${1:-machine} in
machine) tests=machine ;;
all) tests= ;;
*)
  echo "bare.sh: no set of tests is named $1: machine and all are" >&2
  exit 2
  ;;
esac
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp" && rm -rf "$tmp"' EXIT
counts=${GOTEST_COUNTS:-$tmp/counts}

git clone -q . "$tmp/clone"
mkdir "$tmp/bin"
for program in bash sh env git make go gofmt awk basename cat chmod cp cut date dirname false find grep head id ln ls mkdir mktemp mv od ps pwd rm sed sleep sort \
  tail tee test touch tr true uname uniq wc xargs; do
  if path=$(command -v "$program"); then ln -s "$path" "$tmp/bin/$program"; fi
done
ln -sf "$(go env GOROOT)/bin/go" "$tmp/bin/go"

rootless=()
if unshare --user --map-user=1000 --map-group=1000 true 2>/dev/null; then
  rootless=("$(command -v unshare)" --user --map-user=1000 --map-group=1000)
else
  echo 'a user of its own cannot be made here: this runs as it was called'
fi

code=0
"${rootless[@]}" env -i PATH="$tmp/bin" HOME="$tmp" GOPATH="$(go env GOPATH)" GOCACHE="$(go env GOCACHE)" GOMODCACHE="$(go env GOMODCACHE)" GOPROXY="$(go env GOPROXY)" \
  GOSUMDB="$(go env GOSUMDB)" GOFLAGS="$(go env GOFLAGS)" GOTOOLCHAIN="$(go env GOTOOLCHAIN)" TMPDIR="${TMPDIR:-/tmp}" GOTEST_COUNTS="$counts" GOTEST_SET="$tests" \
  make -C "$tmp/clone" --no-print-directory test TESTFLAGS=-vet=off | tee "$tmp/said" || code=$?
last=$(tail -n 1 "$tmp/said")
case $last in
*'tests were left out, since redis-server is missing'*) ;;
*)
  echo "FAIL  the last line does not say what was left out: $last"
  code=1
  ;;
esac
exit "$code"
