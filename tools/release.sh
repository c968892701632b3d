#!/usr/bin/env bash
# Makes all of a release but its signatures, publishes nothing, installs each artefact where this machine can, and calls it. It prints a table of
# what came of each. release.sh tools builds what makes a release into bin/, and ends there. Arguments are passed to go test.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
go build -C tools/release -o ../../bin/goreleaser github.com/goreleaser/goreleaser/v2
go build -C tools/syft -o ../../bin/syft github.com/anchore/syft/cmd/syft
go build -C tests/suites/chart -o ../../../bin/helm helm.sh/helm/v3/cmd/helm
go build -C tools -o ../bin/ ./packages ./version
[ "${1:-}" != tools ] || exit 0
go build -C tools -o ../bin/gotest ./gotest
go vet -tags=release ./tests/suites/release
PATH="$PWD/bin:$PATH" HOMEBREW_TAP_TOKEN='' bin/goreleaser release --snapshot --clean --parallelism=2 --skip=sign
rm -f bin/release-table
export RELEASE_TABLE=$PWD/bin/release-table
code=0
bin/gotest -count=1 -timeout=20m -tags=release -run='^TestRelease$' "$@" ./tests/suites/release || code=$?
[ ! -s bin/release-table ] || cat bin/release-table
exit "$code"
