#!/bin/sh
# Builds the library and the programs of fixture/ and everything/, where they are older than what they are made of, and prints the
# classpath to run them with. build.sh verify does what Maven's phase of that name does, whatever is there.
set -eu
cd "$(dirname "$0")"
goal=${1:-compile}
# Maven runs too briefly for what the second compiler of the virtual machine makes of it.
export MAVEN_OPTS="${MAVEN_OPTS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC}"
if [ "$goal" != compile ] || [ ! -e target/built ] || [ -n "$(find pom.xml build.sh src/main fixture everything ../../proto -newer target/built -type f | head -1)" ]; then
  # Maven's plugin for protoc does not see that its own version, or that of a generator, is another.
  if [ ! -e target/built ] || [ pom.xml -nt target/built ]; then rm -rf target/classes target/generated-sources target/protobuf-maven-plugin; fi
  mkdir -p target
  touch target/begun
  mvn -q -B "$goal" dependency:build-classpath -Dmdep.outputFile=target/classpath -Dmdep.includeScope=runtime >&2
  javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -Xlint:all -Werror -proc:none --release 17 -cp "target/classes:$(cat target/classpath)" -d target/programs fixture/*.java everything/*.java >&2
  mv target/begun target/built
fi
echo "$PWD/target/programs:$PWD/target/classes:$(cat target/classpath)"
