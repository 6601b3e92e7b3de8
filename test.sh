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

cargo test --workspace --no-fail-fast

for suite in crates/*/tests/*.sh; do
  [ -e "$suite" ] || continue
  if [ "${1:-}" != --all ] && grep -q '^# long$' "$suite"; then
    echo "== $suite: only with --all"
    continue
  fi
  echo "== $suite"
  # A suite names the packages it needs in a line `# packages: ...`.
  packages=$(sed -n 's/^# packages: //p' "$suite")
  [ -z "$packages" ] || install_packages $packages
  # What hangs fails, instead of keeping the machine.
  timeout --kill-after=10 1200 bash "$suite"
done
