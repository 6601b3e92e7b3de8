#!/usr/bin/env python3
"""Writes the project's own conformance corpora, next to this file.

Goldens come from the small model below, which is written from the specification in plain Python and shares nothing
with the Rust executors. Run it again after a change and commit what it writes; it always writes the same bytes.
"""
import json
import pathlib
import random
import struct

HERE = pathlib.Path(__file__).parent
FORMATS = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
           "f16": "e", "f32": "f", "f64": "d", "bf16": "H", "f8e4m3": "B", "f8e5m2": "B", "hif8": "B"}
FLOATS = {"f16", "bf16", "f32", "f64"}


def size(dtype):
    return struct.calcsize(FORMATS[dtype])


def to_number(dtype, raw):
    """The value of an element, from its bytes."""
    if dtype == "bf16":
        return struct.unpack("<f", b"\0\0" + raw)[0]
    return struct.unpack("<" + FORMATS[dtype], raw)[0]


def to_bytes(dtype, value):
    """An element from a value: floats rounded to nearest even, integers wrapped."""
    if dtype == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        if bits & 0x7F800000 == 0x7F800000:
            return struct.pack("<H", bits >> 16)
        return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    if dtype in FLOATS:
        try:
            return struct.pack("<" + FORMATS[dtype], value)
        except OverflowError:
            return struct.pack("<" + FORMATS[dtype], float("inf") if value > 0 else float("-inf"))
    return (int(value) % (1 << 8 * size(dtype))).to_bytes(size(dtype), "little")


def combine(dtype, atomic, old, new):
    if atomic == "none":
        return new
    a, b = to_number(dtype, old), to_number(dtype, new)
    if atomic == "add":
        if dtype == "f32":
            return struct.pack("<f", struct.unpack("<f", struct.pack("<f", a + b))[0])
        return to_bytes(dtype, a + b)
    if a != a or b != b:  # a NaN loses against a number
        return new if a != a else old
    key = lambda x, raw: (x, 0 if raw[-1] & 0x80 else 1) if dtype in FLOATS else (x, 0)
    pick_old = key(a, old) > key(b, new) if atomic == "max" else key(a, old) < key(b, new)
    return old if pick_old else new


class Corpus:
    def __init__(self, name):
        self.folder = HERE / name
        self.data = bytearray()
        self.known = {}
        self.lines = []

    def put(self, raw):
        raw = bytes(raw)
        if raw not in self.known:
            while len(self.data) % 8:
                self.data.append(0)
            self.known[raw] = len(self.data)
            self.data += raw
        return {"file": "data.bin", "file_offset": self.known[raw]}

    def golden(self, raw):
        place = self.put(raw)
        return {"golden": place["file"], "golden_offset": place["file_offset"]}

    def add(self, case):
        self.lines.append(json.dumps(case))

    def write(self):
        self.folder.mkdir(exist_ok=True)
        (self.folder / "cases.jsonl").write_text("\n".join(self.lines) + "\n")
        (self.folder / "data.bin").write_bytes(self.data)


def tile(dtype, rows, cols, valid_rows=None, valid_cols=None, **more):
    return {"dtype": dtype, "rows": rows, "cols": cols, "valid_rows": valid_rows or rows,
            "valid_cols": valid_cols or cols, **more}


def tensor(dtype, shape, strides=None, layout="nd"):
    if strides is None:
        strides, step = [0] * 5, 1
        for i in reversed(range(5)):
            strides[i] = step
            step *= shape[i]
    return {"dtype": dtype, "shape": list(shape), "strides": list(strides), "layout": layout}


def span(t):
    if 0 in t["shape"]:
        return 0
    return 1 + sum((d - 1) * s for d, s in zip(t["shape"], t["strides"]))


def lane_value(target, dtype, index):
    """An index lane as the target reads it."""
    return index if target == "host" else index % (1 << 8 * size(dtype))


def address(target, mode, t, payload, index, col):
    """Element offset in the table's buffer."""
    shape, strides = t["shape"], t["strides"]

    def nz(row, column):
        c0 = shape[4]
        block = column // c0
        at = (block // shape[1], block % shape[1], row // 16, row % 16, column % c0)
        return sum(c * s for c, s in zip(at, strides))

    def unravel(position, dims):
        offset = 0
        for i in reversed(range(dims)):
            offset += position % shape[i] * strides[i]
            position //= shape[i]
        return offset

    if t["layout"] == "nz":
        cols = shape[0] * shape[1] * shape[4]
        return nz(index, col) if mode == "row" else nz(index // cols, index % cols)
    if mode == "elem":
        return unravel(index, 5) if target == "host" else index
    if target == "host":
        return unravel(index, 4) + col * strides[4]
    return index * (payload["valid_cols"] if target == "a5" else strides[3]) + col


def capacity(target, mode, t):
    shape = t["shape"]
    if mode == "elem":
        product = 1
        for extent in shape:
            product *= extent
        return product
    if t["layout"] == "nz":
        return shape[2] * 16
    return shape[3] if target == "a5" else shape[0] * shape[1] * shape[2] * shape[3]


def resolve(oob, index, limit):
    """The slot of an index; None drops it, "zero" reads as zero; an IndexError is a fault."""
    if 0 <= index < limit:
        return index
    if oob == "undefined":
        raise IndexError(index)
    return {"skip": None, "zero": "zero", "clamp": 0 if index < 0 else limit - 1, "wrap": index % limit}[oob]


def mscatter(target, mode, policy, t, table, src, payload, indices):
    """The table after the scatter; `payload` and `indices` are lists of rows."""
    limit = capacity(target, mode, t)
    rows, cols, width = src["valid_rows"], src["valid_cols"], size(t["dtype"])
    flat = [lane_value(target, "i32" if target != "host" else "i64", i) for i in indices]
    slots = [resolve(policy.get("oob", "undefined"), i, limit) for i in flat]
    order = [(r, c) for r in range(rows) for c in range(cols)]
    if target == "a2a3" and mode == "elem" and t["layout"] == "nz":
        c0 = t["shape"][4]
        order.sort(key=lambda rc: (rc[1] // c0, rc[0], rc[1] % c0))
    table = bytearray(table)
    for r, c in order:
        slot = slots[r] if mode == "row" else slots[r * cols + c]
        if slot is None:
            continue
        at = address(target, mode, t, src, slot, c) * width
        old = bytes(table[at:at + width])
        new = payload[(r * cols + c) * width:(r * cols + c + 1) * width]
        table[at:at + width] = combine(t["dtype"], policy.get("atomic", "none"), old, new)
    return bytes(table)


def mgather(target, mode, policy, t, table, dst, indices):
    limit = capacity(target, mode, t)
    width = size(t["dtype"])
    slots = [resolve(policy.get("oob", "undefined"), lane_value(target, "i32" if target != "host" else "i64", i), limit)
             for i in indices]
    out = bytearray()
    for r in range(dst["valid_rows"]):
        for c in range(dst["valid_cols"]):
            slot = slots[r] if mode == "row" else slots[r * dst["valid_cols"] + c]
            at = 0 if slot == "zero" else address(target, mode, t, dst, slot, c) * width
            out += bytes(width) if slot == "zero" else table[at:at + width]
    return bytes(out)


def elements(rng, dtype, count):
    """Random elements; floats small enough that sums stay finite."""
    if dtype in FLOATS:
        return b"".join(to_bytes(dtype, rng.choice([rng.uniform(-8, 8), rng.randint(-4, 4), 0.0])) for _ in range(count))
    return rng.randbytes(count * size(dtype))


def index_bytes(dtype, indices):
    return b"".join((i % (1 << 8 * size(dtype))).to_bytes(size(dtype), "little") for i in indices)


def draw_indices(rng, count, limit, kind):
    if kind == "unique" and count <= limit:
        return rng.sample(range(limit), count)
    if kind == "wild":
        return [rng.choice([rng.randrange(limit), limit, limit + 1, -1, -limit, 2**31 - 1, -2**31]) for _ in range(count)]
    return [rng.randrange(min(limit, 3)) for _ in range(count)]


ATOMICS = {"a2a3": {"add": ["i8", "i16", "i32", "f16", "bf16", "f32"], "max": [], "min": []},
           "a5": {"add": ["i32", "u32", "f32", "f16", "bf16"], "max": ["i32", "u32", "f32"], "min": ["i32", "u32", "f32"]},
           "host": {op: ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]
                    for op in ("add", "max", "min")}}
MOVED = {"a2a3": ["i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32"],
         "a5": ["i8", "u16", "f16", "bf16", "f32", "f8e4m3", "f8e5m2", "hif8"],
         "host": ["u8", "i16", "f32", "i64", "f64", "hif8", "bf16"],
         "cpu": ["i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32"]}


def shapes(rng, target, mode, dtype):
    """A payload tile and a table that go together on a target."""
    c0 = 32 // size(dtype)
    rows, cols = rng.randint(1, 9), rng.randint(1, 24)
    if target in ("a2a3", "host") and rng.random() < 0.4:
        shape = [rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 3), 16, c0]
        whole = shape[0] * shape[1] * c0
        gap = rng.choice([0, 3])
        strides = [0, 0, 16 * c0 + gap, c0, 1]
        strides[1] = strides[2] * shape[2] + gap
        strides[0] = strides[1] * shape[1] + gap
        cols = whole if mode == "row" else rng.randint(1, whole)
        payload = tile(dtype, 16 * rng.randint(1, 2), -(-cols // c0) * c0, min(rows, 16), cols,
                       blayout="col_major", slayout="row_major")
        return payload, tensor(dtype, shape, strides, "nz")
    if target == "cpu":
        t = tensor(dtype, [1, 1, 1, rng.randint(2, 9), rng.randint(4, 20)])
    elif mode == "row" and target == "a5":
        t = tensor(dtype, [1, 1, 1, rng.randint(2, 12), cols])
    elif mode == "row":
        width = cols + rng.randint(0, 3)
        stride = width + rng.choice([0, 5])
        count = rng.randint(2, 6)
        t = tensor(dtype, [2, 1, 1, count, width], [stride * count, stride * count, stride * count, stride, 1])
    else:
        t = tensor(dtype, [1, 2, 1, rng.randint(2, 5), rng.randint(4, 20)])
    if target == "a5" and rng.random() < 0.4:
        return tile(dtype, -(-rows // c0) * c0, cols, rows, cols, blayout="col_major"), t
    return tile(dtype, rows + rng.randint(0, 2), -(-cols // c0) * c0, rows, cols), t


def memory_corpus():
    corpus = Corpus("memory")
    rng = random.Random(1)
    number = 0
    for target in ("cpu", "a2a3", "a5", "host"):
        for mode in ("row", "elem"):
            for oob in ("undefined", "skip", "clamp", "wrap", "zero"):
                for atomic in ("none", "add", "max", "min"):
                    for op in ("mscatter", "mgather"):
                        if op == "mgather" and (atomic != "none" or oob == "skip"):
                            continue
                        if op == "mscatter" and oob == "zero":
                            continue
                        if target == "cpu" and (mode == "row" or oob != "undefined" or atomic != "none"):
                            continue
                        types = MOVED[target] if atomic == "none" else ATOMICS[target][atomic]
                        if not types:
                            continue
                        number += 1
                        memory_case(corpus, rng, number, target, mode, oob, atomic, op, rng.choice(types))
    corpus.write()


def memory_case(corpus, rng, number, target, mode, oob, atomic, op, dtype):
    payload, t = shapes(rng, target, mode, dtype)
    rows, cols = payload["valid_rows"], payload["valid_cols"]
    count = rows if mode == "row" else rows * cols
    limit = capacity(target, mode, t)
    kind = rng.choice(["few", "unique"]) if oob == "undefined" else "wild"
    indices = draw_indices(rng, count, limit, kind)
    index_type = rng.choice(["i64", "i32"]) if target == "host" else rng.choice(["i32", "u32"])
    if index_type == "u32":
        indices = [i % 2**32 for i in indices]
    if mode == "elem":
        idx = tile(index_type, payload["rows"] if target == "cpu" else rows, cols, rows, cols)
    elif target == "a2a3" or rng.random() < 0.5:
        idx = tile(index_type, 1, rows)
    else:
        idx = tile(index_type, rows, 1, blayout=rng.choice(["row_major", "col_major"]))
    policy = {"coalesce": mode, "oob": oob}
    table = elements(rng, dtype, span(t))
    case = {"name": f"{number:04}-{op}-{target}-{mode}-{oob}-{atomic}-{dtype}", "expect": "ok", "op": op, "target": target,
            "policy": policy, "idx": {**idx, **corpus.put(index_bytes(index_type, indices))},
            "table": {**t, **corpus.put(table)}}
    if op == "mscatter":
        policy["atomic"] = atomic
        values = elements(rng, dtype, rows * cols)
        case["src"] = {**payload, **corpus.put(values)}
        case["table"].update(corpus.golden(mscatter(target, mode, policy, t, table, payload, values, indices)))
    else:
        case["dst"] = {**payload, **corpus.golden(mgather(target, mode, policy, t, table, payload, indices))}
    corpus.add(case)
    if oob == "undefined":
        bad = list(indices)
        lane = rng.randrange(count)
        bad[lane] = limit if target != "host" or rng.random() < 0.5 else -1
        if index_type == "u32":
            bad[lane] = limit
        fault = json.loads(json.dumps(case))
        fault["name"] += "-fault"
        fault["expect"] = "fault"
        fault["rule"] = f"lane {lane}: index {bad[lane]} outside capacity {limit}"
        fault["idx"].update(corpus.put(index_bytes(index_type, bad)))
        corpus.add(fault)


def number_corpus():
    """Values where number formats bite: NaN, signed zero, infinities, rounding after every addition."""
    corpus = Corpus("numbers")
    specials = {
        "f32": [0x7FC00000, 0x7F800001, 0xFFC00000, 0x80000000, 0x00000000, 0x7F800000, 0xFF800000, 0x3F800000, 0x00000001],
        "f16": [0x7E00, 0x7C01, 0xFE00, 0x8000, 0x0000, 0x7C00, 0xFC00, 0x3C00, 0x0001],
        "bf16": [0x7FC0, 0x7F81, 0xFFC0, 0x8000, 0x0000, 0x7F80, 0xFF80, 0x3F80, 0x0001],
        "f64": [0x7FF8 << 48, 0x7FF0000000000001, 0xFFF8 << 48, 1 << 63, 0, 0x7FF0 << 48, 0xFFF0 << 48, 0x3FF0 << 48, 1]}
    for dtype, codes in specials.items():
        raw = [code.to_bytes(size(dtype), "little") for code in codes]
        pairs = [(a, b) for a in raw for b in raw]
        count = len(pairs)
        for atomic in ("max", "min"):
            targets = ["host"] + (["a5"] if dtype == "f32" else [])
            for target in targets:
                t = tensor(dtype, [1, 1, 1, 1, count])
                width = -(-count // (32 // size(dtype))) * (32 // size(dtype))
                src = tile(dtype, 1, width, 1, count)
                table = b"".join(a for a, _ in pairs)
                values = b"".join(b for _, b in pairs)
                policy = {"coalesce": "elem", "atomic": atomic}
                golden = mscatter(target, "elem", policy, t, table, src, values, list(range(count)))
                corpus.add({"name": f"{atomic}-{dtype}-{target}", "expect": "ok", "op": "mscatter", "target": target,
                            "rule": "a NaN loses against a number; -0.0 < +0.0", "policy": policy,
                            "src": {**src, **corpus.put(values)},
                            "idx": {**tile("i32", 1, width, 1, count), **corpus.put(index_bytes("i32", range(count)))},
                            "table": {**t, **corpus.put(table), **corpus.golden(golden)}})
    for dtype, start, step, count in (("f16", 2048.0, 1.0, 64), ("bf16", 256.0, 1.0, 64), ("f16", 0.1, 0.1, 200),
                                      ("bf16", 0.1, 0.1, 200), ("f32", 2.0**24, 1.0, 64), ("f16", 60000.0, 10000.0, 16)):
        for target in ("a2a3", "a5", "host"):
            per_block = 32 // size(dtype)
            width = -(-count // per_block) * per_block
            src = tile(dtype, 1, width, 1, count)
            t = tensor(dtype, [1, 1, 1, 1, 4])
            table = to_bytes(dtype, start) * 4
            values = to_bytes(dtype, step) * count
            policy = {"coalesce": "elem", "atomic": "add"}
            golden = mscatter(target, "elem", policy, t, table, src, values, [2] * count)
            corpus.add({"name": f"add-{dtype}-{start}-{step}-{target}", "expect": "ok", "op": "mscatter", "target": target,
                        "rule": "add rounds after every single addition, in source order", "policy": policy,
                        "src": {**src, **corpus.put(values)},
                        "idx": {**tile("i32", 1, width, 1, count), **corpus.put(index_bytes("i32", [2] * count))},
                        "table": {**t, **corpus.put(table), **corpus.golden(golden)}})
    corpus.write()


MASKS = {"P0101": (2, 0), "P1010": (2, 1), "P0001": (4, 0), "P0010": (4, 1), "P0100": (4, 2), "P1000": (4, 3), "P1111": (1, 0)}


def tile_corpus():
    corpus = Corpus("tiles")
    rng = random.Random(2)
    number = 0
    for target in ("cpu", "a2a3", "a5", "host"):
        for dtype, index_type in (("f32", "i32"), ("f16", "u16"), ("u8", "i16"), ("i32", "u32")):
            for dst_layout in ("row_major", "col_major"):
                for smaller in (False, True):
                    number += 1
                    tile_case(corpus, rng, number, target, dtype, index_type, dst_layout, smaller)
    for target in ("a5", "host"):
        for mask, (factor, position) in MASKS.items():
            for dtype in ("f16", "i8", "f32"):
                rows, cols = rng.randint(1, 5), rng.randint(1, 9)
                src = tile(dtype, rows + 1, cols + 2, rows, cols)
                dst = tile(dtype, rows + 2, cols * factor + 3, rows, cols * factor)
                values = elements(rng, dtype, rows * cols)
                width = size(dtype)
                golden = b"".join(
                    values[i * width:(i + 1) * width] if p == position else bytes(width)
                    for i in range(rows * cols) for p in range(factor))
                corpus.add({"name": f"mask-{target}-{mask}-{dtype}", "expect": "ok", "op": "tscatter", "target": target,
                            "mask": mask, "src": {**src, **corpus.put(values)},
                            "dst": {**dst, **corpus.put(elements(rng, dtype, rows * cols * factor)), **corpus.golden(golden)}})
    corpus.write()


def tile_case(corpus, rng, number, target, dtype, index_type, dst_layout, smaller):
    width = size(dtype)
    rows, cols = rng.randint(2, 6), rng.randint(2, 9)
    walked = (-(-rows // 2), -(-cols // 2)) if smaller else (rows, cols)
    dst = tile(dtype, rng.randint(3, 8), rng.randint(4, 16), blayout=dst_layout)
    slots = dst["rows"] * dst["cols"]
    src = tile(dtype, rows, cols + 1, rows, cols)
    values = elements(rng, dtype, rows * cols)
    indices = [rng.randrange(slots) for _ in range(walked[0] * walked[1])]
    old = elements(rng, dtype, slots)

    def logical(storage):
        return storage if dst_layout == "row_major" else (storage % dst["rows"]) * dst["cols"] + storage // dst["rows"]

    result = bytearray(old if target in ("cpu", "host") else bytes(len(old)))
    for r in range(walked[0]):
        for c in range(walked[1]):
            at = logical(indices[r * walked[1] + c]) * width
            result[at:at + width] = values[(r * cols + c) * width:(r * cols + c + 1) * width]
    case = {"name": f"{number:03}-index-{target}-{dtype}-{dst_layout}-{'smaller' if smaller else 'equal'}", "expect": "ok",
            "op": "tscatter", "target": target, "src": {**src, **corpus.put(values)},
            "idx": {**tile(index_type, rows, cols, *walked), **corpus.put(index_bytes(index_type, indices))},
            "dst": {**dst, **corpus.put(old), **corpus.golden(bytes(result))}}
    corpus.add(case)
    fault = json.loads(json.dumps(case))
    indices[-1] = slots
    fault.update(name=case["name"] + "-fault", expect="fault", rule=f"the last lane is {slots} of {slots} slots")
    fault["idx"].update(corpus.put(index_bytes(index_type, indices)))
    corpus.add(fault)


def schedule_corpus():
    """A5 Conflict::Default: one of several results, listed or described."""
    corpus = Corpus("schedules")
    t = tensor("f32", [1, 1, 1, 4, 8])
    table = struct.pack("<32f", *range(100, 132))
    values = struct.pack("<16f", *range(16))
    src = {**tile("f32", 2, 8), **corpus.put(values)}
    for name, indices in (("collide", [1, 1]), ("unique", [3, 0])):
        outcomes = []
        for order in ((0, 1), (1, 0)):
            result = bytearray(table)
            for r in order:
                result[indices[r] * 32:indices[r] * 32 + 32] = values[r * 32:r * 32 + 32]
            if bytes(result) not in outcomes:
                outcomes.append(bytes(result))
        places = [corpus.put(outcome)["file_offset"] for outcome in outcomes]
        corpus.add({"name": f"any-{name}", "expect": "ok", "op": "mscatter", "target": "a5",
                    "policy": {"coalesce": "row", "conflict": "default"}, "src": src,
                    "idx": {**tile("i32", 1, 8, 1, 2), **corpus.put(index_bytes("i32", indices))},
                    "table": {**t, **corpus.put(table), "golden_any": ["data.bin"] * len(places), "golden_any_offset": places}})
    rng = random.Random(3)
    indices = [rng.randrange(6) for _ in range(64)]
    values = struct.pack("<64f", *range(64))
    src = tile("f32", 8, 8)
    policy = {"coalesce": "elem", "conflict": "default"}
    corpus.add({"name": "unordered", "expect": "ok", "unordered": True, "op": "mscatter", "target": "a5", "policy": policy,
                "src": {**src, **corpus.put(values)},
                "idx": {**tile("i32", 8, 8), **corpus.put(index_bytes("i32", indices))},
                "table": {**t, **corpus.put(table),
                          **corpus.golden(mscatter("a5", "elem", policy, t, table, src, values, indices))}})
    corpus.write()


if __name__ == "__main__":
    memory_corpus()
    number_corpus()
    tile_corpus()
    schedule_corpus()
