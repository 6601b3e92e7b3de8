#!/usr/bin/env python3
"""Writes the corpus `broken`: programs that break one rule each, for every instruction and target that the rule holds on.

Small random programs are changed in one place and judged by the model of legality below, which is written from the
specification in plain Python and shares nothing with the Rust checker. A program stays if exactly one rule is broken:
`rule` names it, and a test wants the tool to raise that one and no other. `reject` cases are broken by static facts,
`fault` cases by extents that only a run knows. It always writes the same bytes; no case has data, since none may run.
"""
import json
import pathlib
import random

HERE = pathlib.Path(__file__).parent
PER_KIND, TRIES = 2, 60_000
SIZE = dict(i8=1, u8=1, i16=2, u16=2, i32=4, u32=4, f16=2, bf16=2, f32=4, f8e4m3=1, f8e5m2=1, hif8=1, i64=8, u64=8, f64=8)
NINE = {"i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32"}
WIDE, FLOAT8 = {"i64", "u64", "f64"}, {"f8e4m3", "f8e5m2", "hif8"}
TARGETS = ["cpu", "a2a3", "a5", "host"]
PAYLOAD = dict(cpu=NINE, a2a3=NINE, a5=NINE | FLOAT8, host=NINE | FLOAT8 | WIDE)
TILE_PAYLOAD = dict(cpu=NINE, a2a3=NINE, a5=NINE, host=NINE | FLOAT8 | WIDE)
INDEX = dict(cpu={"i32", "u32"}, a2a3={"i32", "u32"}, a5={"i32", "u32"}, host={"i32", "u32", "i64", "u64"})
TILE_INDEX = {target: index | {"i16", "u16"} for target, index in INDEX.items()}
ATOMIC = {
    "cpu": dict(add={"i32", "u32", "f32", "f16"}, max={"i32", "f32"}, min={"i32", "f32"}),
    "a2a3": dict(add={"i8", "i16", "i32", "f16", "bf16", "f32"}, max=set(), min=set()),
    "a5": dict(add={"i32", "u32", "f32", "f16", "bf16"}, max={"i32", "u32", "f32"}, min={"i32", "u32", "f32"}),
    "host": dict(add=NINE | WIDE, max=NINE | WIDE, min=NINE | WIDE),
}
TABLES = dict(cpu=["nd"], a2a3=["nd", "nz"], a5=["nd"], host=["nd", "dn", "nz"])
FACTOR = dict(P1111=1, P0101=2, P1010=2, P0001=4, P0010=4, P0100=4, P1000=4)
DEVICES = ("a2a3", "a5")


def c0(dtype):
    return 32 // SIZE[dtype]


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def span(table):
    if 0 in table["shape"]:
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(table["shape"], table["strides"]))


def blayout(tile):
    return tile.get("blayout", "row_major")


def slayout(tile):
    return tile.get("slayout", "none_box")


def row_major(tile):
    return blayout(tile) == "row_major" and slayout(tile) == "none_box"


def fractal(tile):
    return blayout(tile) == "col_major" and slayout(tile) == "row_major"


def valid(tile, before):
    """Valid extents, unknown before the run where they are dynamic."""
    return (None, None) if before and tile.get("dynamic") else (tile["valid_rows"], tile["valid_cols"])


def differs(a, b):
    return a is not None and b is not None and a != b


def exceeds(a, b):
    return a is not None and b is not None and a > b


def equal(*pairs):
    """True, False, or None while it is unknown."""
    if any(differs(a, b) for a, b in pairs):
        return False
    return None if any(a is None or b is None for a, b in pairs) else True


def either(a, b):
    if a or b:
        return True
    return False if a is False and b is False else None


def mode(case, payload, index):
    """`row`, `elem`, `neither`, or None while it is unknown."""
    if case["target"] == "cpu":
        return "elem"
    if "coalesce" in case["policy"]:
        return case["policy"]["coalesce"]
    elem = equal((index[0], payload[0]), (index[1], payload[1]))
    row = either(equal((index[0], 1), (index[1], payload[0])), equal((index[0], payload[0]), (index[1], 1)))
    if elem:
        return "elem"
    if elem is False and row is not None:
        return "row" if row else "neither"
    return None


def memory_rules(case, before):
    target, table, idx, policy = case["target"], case["table"], case["idx"], case["policy"]
    tile = case["src"] if case["op"] == "mscatter" else case["dst"]
    dtype, layout = tile["dtype"], table["layout"]
    payload, index = valid(tile, before), valid(idx, before)
    coalesce = mode(case, payload, index)
    yield "type.element", dtype not in PAYLOAD[target]
    yield "type.index", idx["dtype"] not in INDEX[target]
    yield "type.table", table["dtype"] != dtype
    yield "layout.payload", not {"cpu": row_major(tile), "a5": slayout(tile) == "none_box"}.get(target, True)
    yield "layout.index", not {"host": True, "a5": slayout(idx) == "none_box"}.get(target, row_major(idx))
    yield "layout.table", layout not in TABLES[target]
    yield "layout.pair", target == "a2a3" and not {"nd": row_major(tile), "nz": fractal(tile)}.get(layout, True)
    yield "shape.nz-tile-rows", target == "a2a3" and layout == "nz" and fractal(tile) and tile["rows"] % 16 != 0
    yield "shape.nz-tile-cols", target == "a2a3" and layout == "nz" and fractal(tile) and tile["cols"] % c0(dtype) != 0
    for boxed in (tile, idx):
        block = (16, c0(boxed["dtype"])) if slayout(boxed) == "row_major" else (c0(boxed["dtype"]), 16)
        partial = boxed["rows"] % block[0] or boxed["cols"] % block[1]
        yield "layout.box", target == "host" and slayout(boxed) != "none_box" and bool(partial)
    contiguous = tile["cols"] if blayout(tile) == "row_major" else tile["rows"]
    unaligned = contiguous * SIZE[dtype] % 32 != 0
    yield "align.row-width", target != "host" and slayout(tile) == "none_box" and unaligned
    yield "shape.empty", target in DEVICES and 0 in payload
    yield "policy.coalesce", coalesce == "neither"
    same = equal((index[0], payload[0]), (index[1], payload[1]))
    yield "shape.index-payload", target == "cpu" and same is False
    yield "shape.rows", target == "cpu" and tile["rows"] != idx["rows"]
    fits = same if coalesce == "elem" else equal((index[0], 1), (index[1], payload[0]))
    if coalesce == "row" and target != "a2a3":
        fits = either(fits, equal((index[0], payload[0]), (index[1], 1)))
    yield "shape.index-coalesce", target != "cpu" and coalesce in ("row", "elem") and fits is False
    yield "policy.oob", policy.get("oob") == ("zero" if case["op"] == "mscatter" else "skip")
    atomic = policy.get("atomic")
    if case["op"] == "mscatter":
        types = ATOMIC[target].get(atomic, PAYLOAD[target])
        yield "policy.atomic-target", not types
        yield "policy.atomic-type", atomic not in (None, "none") and bool(types) and dtype not in types
        yield "policy.conflict-target", target == "a2a3" and "conflict" in policy
    else:
        yield "policy.gather", target != "cpu" and (atomic is not None or "conflict" in policy)
    if before and table.get("dynamic"):
        return
    shape, strides, nz, row = table["shape"], table["strides"], layout == "nz", coalesce == "row"
    cols, rows = payload[1], product(shape[:4])
    yield "shape.table", target == "cpu" and shape[:3] != [1, 1, 1]
    yield "shape.nz-block-rows", nz and target in ("a2a3", "host") and shape[3] != 16
    yield "shape.nz-block-cols", nz and target in ("a2a3", "host") and shape[4] != c0(table["dtype"])
    width = shape[0] * shape[1] * c0(table["dtype"])
    partial = {"a2a3": differs(cols, width), "host": exceeds(cols, width)}.get(target, False)
    yield "shape.nz-row", nz and row and partial
    yield "shape.row-columns", not nz and row and target in ("a2a3", "host") and exceeds(cols, shape[4])
    yield "shape.row-width", row and target == "a5" and differs(shape[4], cols)
    gaps = shape[3] > 1 and differs(strides[3], cols) and not differs(shape[4], cols)
    yield "layout.packed", row and target == "a5" and gaps
    yield "layout.inner-stride", row and target in DEVICES and shape[4] > 1 and strides[4] != 1
    reach = 0
    if coalesce == "elem":
        reach = product(shape)
    elif row and cols is not None:
        capacity, step = (shape[3], cols) if target == "a5" else (rows, strides[3])
        reach = (capacity - 1) * step + cols if capacity else 0
    yield "bounds.table", target != "host" and not nz and reach > span(table)
    yield "shape.empty-table", target != "cpu" and policy.get("oob") in ("clamp", "wrap") and 0 in shape


def tile_rules(case, before):
    target, src, dst, idx = case["target"], case["src"], case["dst"], case.get("idx")
    (rows, cols), to = valid(src, before), valid(dst, before)
    types = TILE_PAYLOAD[target]
    yield "type.element", src["dtype"] not in types or dst["dtype"] not in types
    yield "type.same", src["dtype"] != dst["dtype"]
    yield "layout.tscatter-box", any(slayout(tile) != "none_box" for tile in tiles(case).values())
    for other in (src, idx):
        placed = other is not None and "addr" in other and "addr" in dst
        apart = not placed or end(other) <= dst["addr"] or end(dst) <= other["addr"]
        yield "alias.clear", target in DEVICES and not apart
    if idx is None:
        factor = FACTOR.get(case["mask"])
        yield "policy.name", factor is None
        yield "target.mask", target not in ("a5", "host")
        yield "layout.mask", "col_major" in (blayout(src), blayout(dst))
        yield "shape.mask-rows", differs(rows, to[0])
        yield "shape.mask-columns", factor is not None and cols is not None and differs(cols * factor, to[1])
        return
    index = valid(idx, before)
    yield "type.index", idx["dtype"] not in TILE_INDEX[target]
    width = 4 if SIZE[dst["dtype"]] == 4 else 2
    known = src["dtype"] in types and idx["dtype"] in TILE_INDEX[target]
    yield "type.index-width", target in DEVICES and known and SIZE[idx["dtype"]] != width
    yield "shape.index-region", exceeds(index[0], rows) or exceeds(index[1], cols)


def tiles(case):
    return {role: case[role] for role in ("src", "idx", "dst") if role in case}


def end(tile):
    return tile.get("addr", 0) + tile["rows"] * tile["cols"] * SIZE[tile["dtype"]]


def all_rules(case, before):
    yield from (tile_rules if case["op"] == "tscatter" else memory_rules)(case, before)
    target, placed, floating = case["target"], 0, 0
    for tile in tiles(case).values():
        rows, cols = valid(tile, before)
        yield "layout.location", tile.get("loc", "vec") != "vec"
        yield "shape.valid-extent", exceeds(rows, tile["rows"]) or exceeds(cols, tile["cols"])
        yield "align.address", target in DEVICES and tile.get("addr", 0) % 32 != 0
        size = -(-tile["rows"] * tile["cols"] * SIZE[tile["dtype"]] // 32) * 32
        placed, floating = (max(placed, tile["addr"] + size), floating) if "addr" in tile else (placed, floating + size)
    limit = dict(a2a3=192 << 10, a5=min(case.get("dyn_ub", 128 << 10), 216 << 10)).get(target)
    yield "budget.ub", limit is not None and placed + floating > limit
    yield "budget.dyn-ub", target == "a5" and case.get("dyn_ub", 0) > 216 << 10


def broken(case, before):
    return {rule for rule, is_broken in all_rules(case, before) if is_broken}


class Programs:
    """Small legal programs, and changes to one place of them."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one_of(self, choices):
        return self.random.choice(sorted(choices))

    def tile(self, dtype, rows, cols, aligned):
        width = -(-cols // c0(dtype)) * c0(dtype) if aligned else cols
        return dict(dtype=dtype, rows=rows, cols=width, valid_rows=rows, valid_cols=cols)

    def nz_tile(self, dtype, rows, cols):
        tile = self.tile(dtype, rows, cols, True)
        return tile | dict(rows=-(-rows // 16) * 16, blayout="col_major", slayout="row_major")

    def memory(self, op, target):
        rows, cols, dtype = self.random.randint(2, 5), self.random.randint(2, 9), self.one_of(PAYLOAD[target])
        coalesce = "elem" if target == "cpu" else self.one_of({"row", "elem"})
        policy = {"coalesce": coalesce} if self.random.random() < 0.8 else {}
        if self.random.random() < 0.5:
            policy["oob"] = self.one_of({"clamp", "wrap"})
        if target in ("a2a3", "host") and self.random.random() < 0.4:
            blocks = [self.random.randint(1, 2), self.random.randint(1, 2), 2, 16, c0(dtype)]
            cols = blocks[0] * blocks[1] * c0(dtype) if coalesce == "row" else cols
            strides = [product(blocks[i + 1 :]) for i in range(5)]
            table = dict(dtype=dtype, shape=blocks, strides=strides, layout="nz")
            payload = self.nz_tile(dtype, rows, cols)
        else:
            height = self.random.randint(2, 6)
            width = cols if coalesce == "row" else self.random.randint(2, 9)
            table = dict(dtype=dtype, shape=[1, 1, 1, height, width], layout="nd")
            table["strides"] = [height * width] * 3 + [width, 1]
            payload = self.tile(dtype, rows, cols, target != "host")
        lanes = (rows, cols) if coalesce == "elem" else (1, rows)
        idx = self.tile(self.one_of(INDEX[target]), *lanes, False)
        if target == "cpu":
            idx["rows"] = payload["rows"]
        return dict(op=op, target=target, policy=policy, idx=idx, table=table) | {
            "src" if op == "mscatter" else "dst": payload
        }

    def tscatter(self, target):
        rows, cols, dtype = self.random.randint(2, 5), self.random.randint(2, 9), self.one_of(TILE_PAYLOAD[target])
        src = self.tile(dtype, rows, cols, False)
        if self.random.random() < 0.4:
            mask = self.one_of(FACTOR)
            dst = self.tile(dtype, rows, cols * FACTOR[mask], False)
            return dict(op="tscatter", target=target, mask=mask, src=src, dst=dst)
        width = {4: {"i32", "u32"}}.get(SIZE[dtype], {"i16", "u16"})
        idx = self.tile(self.one_of(width if target in DEVICES else TILE_INDEX[target]), rows, cols, False)
        return dict(op="tscatter", target=target, src=src, idx=idx, dst=self.tile(dtype, rows + 1, cols + 2, False))

    def change(self, case):
        tile = case[self.one_of(tiles(case))]
        extent = self.one_of({"rows", "cols"})
        step = self.random.choice([-1, 1])
        changes = [
            lambda: tile.update(dtype=self.one_of(SIZE)),
            lambda: tile.update(loc=self.one_of({"mat", "left", "right", "acc"})),
            lambda: tile.update({"valid_" + extent: tile[extent] + 1}),
            lambda: tile.update({"valid_" + extent: max(0, tile["valid_" + extent] + step)}),
            lambda: tile.update({extent: max(1, tile[extent] + step)}),
            lambda: tile.update(valid_rows=0),
            lambda: tile.update(blayout=self.one_of({"row_major", "col_major"})),
            lambda: tile.update(slayout=self.one_of({"row_major", "col_major"})),
            lambda: tile.update(rows=self.random.choice([1 << 13, 1 << 15])),
            lambda: tile.update(addr=self.random.choice([16, 32, 1 << 17])),
            lambda: self.overlap(case),
            lambda: case.update(dyn_ub=self.random.choice([32, 221_216])),
        ]
        if "table" in case:
            table, policy, at = case["table"], case["policy"], self.random.randrange(5)
            changes += 2 * [
                lambda: table.update(dtype=self.one_of(SIZE)),
                lambda: table.update(layout=self.one_of({"nd", "dn", "nz"})),
                lambda: table["shape"].__setitem__(at, max(0, table["shape"][at] + step)),
                lambda: table["strides"].__setitem__(at, max(0, table["strides"][at] + step)),
                lambda: policy.update(oob=self.one_of({"skip", "zero"})),
                lambda: policy.update(atomic=self.one_of({"none", "add", "max", "min"})),
                lambda: policy.update(conflict=self.one_of({"last", "default"})),
            ]
        if "mask" in case:
            changes.append(lambda: case.update(mask=self.one_of({"P0011", "P0101", "P1000"})))
        self.random.choice(changes)()

    def overlap(self, case):
        """Every tile has an address; two of them may share bytes."""
        address = 0
        for tile in tiles(case).values():
            tile["addr"] = address
            address = -(-end(tile) // 32) * 32 - self.random.choice([0, 32])


def main():
    programs, kinds, cases = Programs(1), {}, []
    for _ in range(TRIES):
        target, op = programs.one_of(TARGETS), programs.one_of({"mscatter", "mgather", "tscatter"})
        case = programs.tscatter(target) if op == "tscatter" else programs.memory(op, target)
        dynamic = programs.random.random() < 0.4
        if not dynamic and broken(case, before=False) - {"target.mask"}:
            continue
        programs.change(case)
        if dynamic:
            for operand in [*tiles(case).values()] + ([case["table"]] if "table" in case else []):
                operand["dynamic"] = True
        static, known = broken(case, before=True), broken(case, before=False)
        # A tile past the end of UB breaks the budget as well, and MGATHER has a rule of its own on overlaps.
        twice = any(end(tile) > 192 << 10 for tile in tiles(case).values()) and "addr" in str(case)
        twice |= op == "mgather" and "addr" in str(case) and case["target"] in DEVICES
        if len(static or known) != 1 or twice:
            continue
        kind = (*(static or known), "mask" in case, op, target, "reject" if static else "fault")
        number = kinds[kind] = kinds.get(kind, 0) + 1
        if number <= PER_KIND:
            form = "-mask" if "mask" in case else ""
            name = f"{kind[-1]}-{op}{form}-{target}-{kind[0]}-{number}"
            cases.append(dict(name=name, expect=kind[-1], rule=kind[0]) | case)
    folder = HERE / "broken"
    folder.mkdir(exist_ok=True)
    lines = [json.dumps(case) + "\n" for case in sorted(cases, key=lambda case: case["name"])]
    (folder / "cases.jsonl").write_text("".join(lines))
    print(f"{len(cases)} cases of {len(kinds)} kinds, {len({kind[0] for kind in kinds})} rules")


if __name__ == "__main__":
    main()
