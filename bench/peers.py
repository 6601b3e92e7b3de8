#!/usr/bin/env python3
"""Runs the host engine's workloads in pto, NumPy, JAX, ONNX Runtime and (with --torch) PyTorch, and prints one table.

Same data (SplitMix64 of the same seeds), same session, by turns: for each workload and each round every library has
its turn, then the next round begins. What is printed are medians of rounds. Libraries get the index type and the
call that are fastest for them, prepared outside the timing, and the same number of threads and cores.

    cargo build --release -p pto-cli
    bench/peers.py [--torch] [--threads 2] [--rounds 3] [--pto target/release/pto] [NAME...]

The virtual environment is created in .venv on first use.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PACKAGES = {"numpy": "numpy", "jax": "jax", "onnxruntime": "onnxruntime", "onnx": "onnx", "ml_dtypes": "ml-dtypes"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads (default: all that a library can express)")
    parser.add_argument("--torch", action="store_true", help="install and measure PyTorch too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pto", default=str(ROOT / "target" / "release" / "pto"))
    parser.add_argument("--json", action="store_true", help="print one object a workload instead of the table")
    return parser.parse_args()


def enter_environment(with_torch, threads):
    """Restarts this script in the virtual environment, with thread counts set before anything is imported."""
    if os.environ.get("PTO_PEERS") == "1":
        return
    if not (VENV / "bin" / "python").exists():
        venv.create(VENV, with_pip=True)
    python = str(VENV / "bin" / "python")
    wanted = dict(PACKAGES, **({"torch": "torch"} if with_torch else {}))
    for module, package in wanted.items():
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode:
            subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
    # JAX asks the system for the number of cores, the others are told: with the same set of cores all agree.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    environment = dict(os.environ, PTO_PEERS="1", OMP_NUM_THREADS=str(threads), JAX_PLATFORMS="cpu")
    os.execve(python, [python, __file__, *sys.argv[1:]], environment)


OPTIONS = arguments()
enter_environment(OPTIONS.torch, OPTIONS.threads)

import numpy as np  # noqa: E402  (installed by the lines above)

LANES = 1 << 22


def splitmix(seed, count):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(seed, bound, count=LANES):
    return splitmix(seed, count) % np.uint64(bound)


def zipf(seed, size, exponent=1.1, count=LANES):
    u = (splitmix(seed, count) >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    power = 1.0 - exponent
    ranks = np.power(1.0 + u * ((size + 1.0) ** power - 1.0), 1.0 / power).astype(np.uint64)
    return np.clip(ranks, 1, size) * np.uint64(0x9E3779B1) % np.uint64(size)


def small(seed, count, dtype=np.float32):
    return ((splitmix(seed, count) % np.uint64(17)).astype(np.float32) - 8.0).astype(dtype)


class Case:
    """One workload: operation, table, payload and indices as NumPy arrays."""

    def __init__(self, operation, table, payload, indices):
        # What is updated begins with zeros, as pto's tables do.
        is_read = operation in ("gather", "wrap")
        self.operation, self.table, self.payload = operation, table if is_read else np.zeros_like(table), payload
        self.indices = indices.astype(np.int64)


def cases():
    sizes = {"2k": 1 << 11, "1mb": 1 << 18, "4mb": 1 << 20, "64mb": 1 << 24, "256mb": 1 << 26}
    for operation in ("gather", "scatter", "add", "max"):
        for name, size in sizes.items():
            yield f"elem_{operation}_{name}", lambda o=operation, s=size: Case(
                o, small(2, s), small(3, LANES), uniform(1, s))
    yield "elem_add_f16_1mb", lambda: Case("add", small(2, 1 << 18, np.float16), small(3, LANES, np.float16),
                                           uniform(1, 1 << 18))

    def brain():
        import ml_dtypes
        return Case("add", small(2, 1 << 18, ml_dtypes.bfloat16), small(3, LANES, ml_dtypes.bfloat16),
                    uniform(1, 1 << 18))

    yield "elem_add_bf16_1mb", brain
    yield "elem_add_zipf_64mb", lambda: Case("add", small(2, 1 << 24), small(3, LANES), zipf(1, 1 << 24))
    yield "elem_add_same_64mb", lambda: Case("add", small(2, 1 << 24), small(3, LANES),
                                             np.full(LANES, (1 << 24) // 3, np.uint64))
    yield "elem_wrap_prime_4mb", lambda: Case("wrap", small(2, 1_000_003), small(3, LANES), uniform(1, 1 << 32))
    yield "elem_skip_half_4mb", lambda: Case("skip", small(2, 1 << 20), small(3, LANES), uniform(1, 1 << 21))
    for operation in ("gather", "scatter", "add"):
        yield f"row_{operation}", lambda o=operation: Case(
            o, small(2, 1 << 24).reshape(1 << 16, 256), small(3, 1 << 22).reshape(1 << 14, 256),
            uniform(1, 1 << 16, 1 << 14))
        yield f"row_{operation}_emb", lambda o=operation: Case(
            o, small(2, 1 << 26, np.float16).reshape(1 << 20, 64), small(3, 1 << 24, np.float16).reshape(1 << 18, 64),
            uniform(1, 1 << 20, 1 << 18))


def numpy_calls(case):
    table, payload, indices = case.table.copy(), case.payload.copy(), case.indices
    if case.operation == "gather":
        # `clip` is the fast mode: `raise` copies the output first. Indices are in range.
        yield lambda: np.take(table, indices, axis=0, out=payload, mode="clip")
    elif case.operation == "wrap":
        # NumPy's own `wrap` subtracts the length again and again.
        yield lambda: np.take(table, indices % len(table), out=payload, mode="clip")
    elif case.operation == "scatter":
        def put():
            table[indices] = payload
        yield put
    elif case.operation == "skip":
        def put_some():
            inside = indices < len(table)
            table[indices[inside]] = payload[inside]
        yield put_some
    elif case.operation == "add":
        yield lambda: np.add.at(table, indices, payload)
    elif case.operation == "max":
        yield lambda: np.maximum.at(table, indices, payload)


def torch_calls(case):
    import torch
    torch.set_num_threads(OPTIONS.threads)

    def tensor(array):
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        return torch.from_numpy(array.copy())

    table, payload, indices = tensor(case.table), tensor(case.payload), torch.from_numpy(case.indices)
    if case.operation == "gather":
        yield lambda: torch.index_select(table, 0, indices, out=payload)
        if table.dim() == 1:
            yield lambda: torch.gather(table, 0, indices, out=payload)
    elif case.operation == "wrap":
        yield lambda: torch.index_select(table, 0, indices % len(table), out=payload)
    elif case.operation == "scatter":
        yield lambda: table.index_copy_(0, indices, payload)
        yield lambda: table.index_put_((indices,), payload)
        if table.dim() == 1:
            yield lambda: table.scatter_(0, indices, payload)
    elif case.operation == "skip":
        def put_some():
            inside = indices < len(table)
            table.index_put_((indices[inside],), payload[inside])
        yield put_some
    elif case.operation == "add":
        yield lambda: table.index_add_(0, indices, payload)
        if table.dim() == 1:
            yield lambda: table.scatter_add_(0, indices, payload)
    elif case.operation == "max":
        yield lambda: table.scatter_reduce_(0, indices, payload, "amax")


def jax_calls(case):
    import jax
    import jax.numpy as jnp
    indices = jnp.asarray(case.indices.astype(np.uint32 if case.operation == "wrap" else np.int32))
    table, payload = jnp.asarray(case.table), jnp.asarray(case.payload)
    functions = {
        "gather": lambda t, p, i: jnp.take(t, i, axis=0, mode="clip"),
        # A few percent quicker than `mode="wrap"`.
        "wrap": lambda t, p, i: jnp.take(t, i % np.uint32(len(case.table)), axis=0, mode="clip"),
        "scatter": lambda t, p, i: t.at[i].set(p, mode="promise_in_bounds"),
        "skip": lambda t, p, i: t.at[i].set(p, mode="drop"),
        "add": lambda t, p, i: t.at[i].add(p, mode="promise_in_bounds"),
        "max": lambda t, p, i: t.at[i].max(p, mode="promise_in_bounds"),
    }
    writes = case.operation not in ("gather", "wrap")
    # Donating the table saves the copy of it.
    compiled = jax.jit(functions[case.operation], donate_argnums=(0,) if writes else ())
    state = [table]

    def call():
        result = compiled(state[0], payload, indices)
        result.block_until_ready()
        if writes:
            state[0] = result
    yield call


def onnx_calls(case):
    """ONNX Runtime, for what its operators express: Gather, ScatterElements, ScatterND."""
    import onnxruntime
    from onnx import TensorProto, helper
    if case.table.dtype != np.float32 or case.operation in ("wrap", "skip"):
        return
    shape = lambda array: list(array.shape)  # noqa: E731
    if case.operation == "gather":
        node = helper.make_node("Gather", ["t", "i"], ["o"], axis=0)
        inputs, output, indices = ["t", "i"], shape(case.payload), case.indices
    else:
        reduction = {"scatter": "none", "add": "add", "max": "max"}[case.operation]
        indices = case.indices.reshape(-1, 1)
        node = helper.make_node("ScatterND", ["t", "i", "p"], ["o"], reduction=reduction)
        inputs, output = ["t", "i", "p"], shape(case.table)
    arrays = {"t": case.table, "i": indices, "p": case.payload}
    kinds = {"t": TensorProto.FLOAT, "i": TensorProto.INT64, "p": TensorProto.FLOAT}
    graph = helper.make_graph(
        [node], "case", [helper.make_tensor_value_info(n, kinds[n], shape(arrays[n])) for n in inputs],
        [helper.make_tensor_value_info("o", TensorProto.FLOAT, output)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = OPTIONS.threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {name: arrays[name] for name in inputs}
    yield lambda: session.run(None, feed)


def fastest(calls):
    """The median of a few turns of the fastest call, as pto's is."""
    best = None
    for call in calls:
        call()
        turns = []
        for _ in range(5):
            start = time.perf_counter()
            call()
            turns.append(time.perf_counter() - start)
        elapsed = statistics.median(turns)
        best = elapsed if best is None else min(best, elapsed)
    return best


def pto_time(name):
    command = [OPTIONS.pto, "bench", name, "--threads", str(OPTIONS.threads), "--json"]
    row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return row["ns_per_element"] * row["elements"] / 1e9


def main():
    libraries = {"numpy": numpy_calls, "jax": jax_calls, "onnxruntime": onnx_calls}
    if OPTIONS.torch:
        libraries["torch"] = torch_calls
    columns = ["numpy", *(["torch"] if OPTIONS.torch else []), "jax", "onnxruntime"]
    known = [name for name, _ in cases()]
    unknown = [name for name in OPTIONS.names if name not in known]
    if unknown:
        sys.exit(f"no library can express {', '.join(unknown)}, or there is no such workload; there are: {' '.join(known)}")
    if not OPTIONS.json:
        print(f"ns per element, {OPTIONS.threads} threads; x is the best of NumPy, PyTorch and JAX over pto")
        print(f"{'workload':20} {'pto':>8} " + " ".join(f"{c:>11}" for c in columns) + f" {'x':>7}", flush=True)
    for name, make in cases():
        if OPTIONS.names and name not in OPTIONS.names:
            continue
        case = make()
        times = {library: [] for library in ["pto", *libraries]}
        for _ in range(OPTIONS.rounds):
            times["pto"].append(pto_time(name))
            for library, calls in libraries.items():
                elapsed = fastest(calls(case))
                if elapsed is not None:
                    times[library].append(elapsed)
        elements = case.payload.size
        medians = {k: statistics.median(v) * 1e9 / elements for k, v in times.items() if v}
        rivals = [medians[k] for k in ("numpy", "torch", "jax") if k in medians]
        ratio = min(rivals) / medians["pto"]
        if OPTIONS.json:
            print(json.dumps({"workload": name, "ns_per_element": medians, "ratio": ratio}), flush=True)
        else:
            cells = " ".join(f"{medians[c]:11.3f}" if c in medians else f"{'-':>11}" for c in columns)
            print(f"{name:20} {medians['pto']:8.3f} {cells} {ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
