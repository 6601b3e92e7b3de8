#!/bin/sh
# Runs this crate's tests over MPI. Where there is no MPI and this is a Debian with the right to install, installs one.
set -eu
if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        libopenmpi-dev openmpi-bin libclang-dev gcc libc6-dev pkg-config
fi
cd "$(dirname "$0")/.."
# What does not need MPI has been tested without it.
cargo test --features mpi --lib --test mpi "$@"
exec cargo test --features mpi --doc
