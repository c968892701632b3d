#!/bin/sh
# All checks of the Java library: it compiles without warnings, as do the programs of fixture/ and everything/; unit tests, also with the
# oldest gRPC; and the jar, which is put into the local repository of an empty project whose tool is called through an edge.
# MCPEDGE_PROGRAM names a built edge; without it one is built (needs Go).
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
./build.sh >/dev/null
mvn -q -B verify
# The same classes with the oldest gRPC that they run with, which is that of the stubs' generator.
mvn -q -B surefire:test -Dgrpc.version="$(sed -n 's|.*<protoc-gen-grpc.version>\(.*\)</.*|\1|p' pom.xml)"

# A repository of its own: the one in the home folder would keep the library of an earlier run.
version=$(sed -n 's|^  <version>\(.*\)</version>|\1|p' pom.xml)
repository=$PWD/target/packed
artifact=$repository/io/mcpedge/mcpedge-capability/$version
mkdir -p "$artifact" "$tmp/src/main/java"
cp pom.xml "$artifact/mcpedge-capability-$version.pom"
cp "target/mcpedge-capability-$version.jar" "$artifact/"
for kind in sources javadoc; do [ -s "target/mcpedge-capability-$version-$kind.jar" ]; done
edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
java packed/Packed.java "$version" "$repository" "$tmp" "$edge"
