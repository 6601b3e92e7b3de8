#!/usr/bin/env bash
# `pto` as it is built by default, without MPI.
# long
set -euo pipefail
cd "$(dirname "$0")/../../.."
cargo test --workspace --test ranks
