#!/bin/sh
# Makes what of a release is made of sources alone: sources.sh VERSION DIR SNAPSHOT, from the root of the repository. DIR is emptied. It gets the
# contract as a module of buf, the chart, the npm package that starts the platforms', and the libraries. Those have the version that is
# written in them, which has to be VERSION unless SNAPSHOT is true: then it is a dry run.
set -eu
version=$1 out=$2 snapshot=$3
written=$(bin/version)
if [ "$written" != "$version" ] && [ "$snapshot" != true ]; then
  echo "the packages have the version $written written in them, and the release is $version: make version VERSION=$version" >&2
  exit 1
fi
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
tools/release/libraries.sh "$out"
