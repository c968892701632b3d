#!/bin/sh
# Packs the libraries of sdk/ as their registries take them: libraries.sh DIR, from the root of the repository. DIR, which exists, gets a wheel
# and a source distribution, an npm package, a crate, and a Maven repository in a zip. They are made of what git has, with the version
# that it has written in it. It needs Python, Node.js with npm, Rust, and Java with Maven.
set -eu
out=$(realpath "$1")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
git ls-files -z LICENSE proto sdk | tar --create --null --files-from=- --file=- | tar --extract --directory="$tmp" --file=-
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

python3 -m venv "$tmp/python"
"$tmp/python/bin/pip" install --quiet --disable-pip-version-check $(grep -E '^(build|hatchling)==' sdk/python/requirements.txt)
"$tmp/python/bin/python" -m build --no-isolation --outdir "$out" "$tmp/sdk/python" >/dev/null

npm ci --silent --prefix "$tmp/sdk/typescript"
(cd "$tmp/sdk/typescript" && npm pack --silent --pack-destination "$tmp" >/dev/null)
for file in "$tmp"/mcpedge-capability-*.tgz; do mv "$file" "$out/npm-${file##*/}"; done

cargo package --quiet --locked --no-verify --manifest-path "$tmp/sdk/rust/Cargo.toml" --package mcpedge-capability \
  --package mcpedge-capability-macros --target-dir "$tmp/cargo"
mv "$tmp"/cargo/package/mcpedge-capability-[0-9]*.crate "$out/"
for file in "$tmp"/cargo/package/mcpedge-capability-macros-*.crate; do mv "$file" "$out/macros-${file##*/}"; done

mvn -q -B -f "$tmp/sdk/java/pom.xml" -DskipTests -DaltDeploymentRepository="packed::file:$tmp/maven" deploy
version=$(sed -n 's|^  <version>\(.*\)</version>|\1|p' sdk/java/pom.xml)
find "$tmp/maven" -name 'maven-metadata.xml*' -delete # a registry makes its own
(cd "$tmp/maven" && jar --create --no-manifest --date="$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" --file="$out/maven-mcpedge-capability-$version.zip" io)
