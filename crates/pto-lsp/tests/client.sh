#!/usr/bin/env bash
# A client that others wrote (pygls, over the protocol's own types in lsprotocol) drives `pto lsp` as an editor does.
# packages: python3 python3-venv
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check 'pygls==2.1.1' 'lsprotocol==2025.0.0'
"$scratch/venv/bin/python" "$here/client.py" "$BUILT/pto" # which `test.sh` names
