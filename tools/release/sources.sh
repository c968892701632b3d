#!/bin/sh
# Makes what of a release is made of sources alone: sources.sh VERSION DIR, from the root of the repository. DIR is emptied. It gets the
# contract as a module of buf, the chart, and the npm package that starts the platforms'.
set -eu
version=$1 out=$2
rm -rf "$out"
mkdir -p "$out"

# Sorted, owned by nobody, of the commit's time: the same each time.
time=$(git log -1 --format=%cI)
git ls-files 'proto/*.proto' buf.yaml LICENSE |
  tar --create --sort=name --mtime="$time" --owner=0 --group=0 --numeric-owner --files-from=- --file=- |
  gzip --no-name --best >"$out/mcpedge-contract-$version.tar.gz"

bin/helm package deploy/chart --version "$version" --app-version "$version" --destination "$out" >/dev/null
mv "$out/mcpedge-$version.tgz" "$out/mcpedge-chart-$version.tgz"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) bin/packages -version "$version" -launcher -out "$out"
