#!/bin/sh
# Prints the section of a version of the changelog, which is what its release says of itself: notes.sh VERSION, without v, from the root of
# the repository. It fails where there is no such section, or nothing in it.
set -eu
awk -v "heading=## [$1]" '
  /^## / { within = index($0, heading) == 1; next }
  within { text = text $0 "\n" }
  END {
    gsub(/^\n+|\n+$/, "", text)
    if (text == "") exit 1
    print text
  }' CHANGELOG.md || { echo "CHANGELOG.md has no section \"## [$1]\", or nothing in it" >&2; exit 1; }
