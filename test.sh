#!/usr/bin/env bash
# Installs whatever the tests need and runs them. Needs a Rust toolchain, git and a C compiler to begin with.
# `--all`, as in CI, adds the suites that are marked `# long`: they would take the whole beyond ten minutes.
set -euo pipefail
cd "$(dirname "$0")"

# Debian packages: by name, and only those that are missing.
install_packages() {
  local missing=()
  for package in "$@"; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local sudo=""
  [ "$(id -u)" -eq 0 ] || sudo="sudo"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

suites=()
for suite in crates/*/tests/*.sh; do
  if [ "${1:-}" = --all ] || ! grep -q '^# long$' "$suite"; then
    suites+=("$suite")
  else
    echo "== $suite: only with --all"
  fi
done

# MPI, and what each suite names in a line `# packages: ...`.
install_packages libopenmpi-dev openmpi-bin libclang-dev gcc libc6-dev pkg-config \
  $(sed -n 's/^# packages: //p' "${suites[@]}" | tr ' ' '\n' | sort -u)

# One build for all: with other features most of it would be built again.
cargo test --workspace --features pto-cli/mpi --no-fail-fast

BUILT=$(readlink -f "${CARGO_TARGET_DIR:-target}")/debug
export BUILT
for suite in "${suites[@]}"; do
  echo "== $suite"
  # What hangs fails, instead of keeping the machine.
  timeout --kill-after=10 1200 bash "$suite"
done
