#!/bin/sh
# Builds the documentation's site into dist/, from docs/, index.md and the pages that are made from the code. A link to a page or an anchor
# that does not exist fails. SITE_BASE is the path it is served below, / unless set.
set -eu
cd "$(dirname "$0")"
[ -d node_modules ] || npm ci --loglevel=error
rm -rf pages dist
cp -R ../docs pages
cp index.md pages/
mkdir pages/public
cp icon.svg pages/public/
go run -C .. ./site/reference site/pages/reference
npm run --silent build
