#!/bin/sh
# long
# packages: libopenmpi-dev openmpi-bin libclang-dev gcc libc6-dev pkg-config
# Runs `pto run --ranks mpi` under mpirun, on 1, 2, 4 and 7 ranks.
set -eu
cd "$(dirname "$0")/.."
exec cargo test --features mpi --test mpi "$@"
