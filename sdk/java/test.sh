#!/bin/sh
# All checks of the Java library: it compiles without warnings, as do the programs of fixture/ and everything/; unit tests, also with the
# oldest gRPC; and the jar, which is put into the local repository of an empty project whose tool is called through an edge.
# MCPEDGE_PROGRAM names a built edge; without it one is built (needs Go).
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export MAVEN_OPTS="${MAVEN_OPTS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC}" # as build.sh says
./build.sh verify >/dev/null
# The same classes with the oldest gRPC that they run with, which is that of the stubs' generator.
mvn -q -B surefire:test -Dgrpc.version="$(sed -n 's|.*<protoc-gen-grpc.version>\(.*\)</.*|\1|p' pom.xml)"

# A repository of its own: the one in the home folder would keep the library of an earlier run. All else is taken from there.
version=$(sed -n 's|^  <version>\(.*\)</version>|\1|p' pom.xml)
repository=$PWD/target/packed
artifact=$repository/io/mcpedge/mcpedge-capability/$version
taken=${HOME:-}/.m2/repository
mkdir -p "$repository/io"
for folder in "$taken"/* "$taken"/io/*; do
  case $folder in "$taken/io" | "$taken/io/mcpedge" | *'*') ;; *) ln -sfn "$folder" "$repository/${folder#"$taken/"}" ;; esac
done
mkdir -p "$artifact" "$tmp/src/main/java"
cp pom.xml "$artifact/mcpedge-capability-$version.pom"
cp "target/mcpedge-capability-$version.jar" "$artifact/"
for kind in sources javadoc; do [ -s "target/mcpedge-capability-$version-$kind.jar" ]; done
edge=${MCPEDGE_PROGRAM:-$tmp/mcpedge}
[ -x "$edge" ] || go build -C ../.. -buildvcs=false -o "$edge" ./edge
java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC packed/Packed.java "$version" "$repository" "$tmp" "$edge"
