#!/bin/sh
# Makes .venv with what the library needs, its tests too, where it is not there yet or older than requirements.txt, and prints its interpreter.
set -eu
cd "$(dirname "$0")"
if [ ! -e .venv/made ] || [ requirements.txt -nt .venv/made ]; then
  rm -rf .venv
  python3 -m venv .venv >&2
  .venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt >&2
  touch .venv/made
fi
echo "$PWD/.venv/bin/python"
