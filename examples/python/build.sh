#!/bin/sh
# Makes .venv/ with the pinned packages and the library of this repository.
set -eu
cd "$(dirname "$0")"
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt ../../sdk/python
