#!/bin/sh
# Runs the tests with the lowest runtime that package.json names, and with the newest one that is maintained for long: their programs, from
# packages. Where there are none for this machine, it prints that and continues.
set -eu
cd "$(dirname "$0")/.."
package=node-$(node -p '`${process.platform}-${process.arch}`')
for version in $(node -p "require('./package.json').engines.node.replace('>=', '')") 24; do
  folder=node_modules/.runtimes/$version
  program=$PWD/$folder/node_modules/$package/bin/node
  if [ ! -x "$program" ] && ! npm install --silent --no-save --prefix "$folder" "$package@$version" >/dev/null; then
    echo "there is no $package@$version: Node $version is not tried" >&2
    continue
  fi
  echo "the tests, with Node $("$program" --version)"
  PATH=$(dirname "$program"):$PATH node --import tsx --test --test-reporter=dot test/*.test.ts
done
