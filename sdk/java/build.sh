#!/bin/sh
# Builds the library and the programs of fixture/ and everything/, where they are older than what they are made of, and prints the
# classpath to run them with.
set -eu
cd "$(dirname "$0")"
if [ ! -e target/built ] || [ -n "$(find pom.xml build.sh src/main fixture everything ../../proto -newer target/built -type f | head -1)" ]; then
  # Maven's plugin for protoc does not see that its own version, or that of a generator, is another.
  if [ ! -e target/built ] || [ pom.xml -nt target/built ]; then rm -rf target/classes target/generated-sources target/protobuf-maven-plugin; fi
  mkdir -p target
  touch target/begun
  mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=target/classpath -Dmdep.includeScope=runtime >&2
  javac -Xlint:all -Werror -proc:none --release 17 -cp "target/classes:$(cat target/classpath)" -d target/programs fixture/*.java everything/*.java >&2
  mv target/begun target/built
fi
echo "$PWD/target/programs:$PWD/target/classes:$(cat target/classpath)"
