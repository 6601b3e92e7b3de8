#!/usr/bin/env bash
# No quadratic blow-up: instructions, counted by callgrind, of programs of some size and of four times that size. Linear
# work grows fourfold, n log n a little more, quadratic work sixteenfold. Flags are left out: the search for redundant ones
# takes a walk for each, up to a bound (`VISITS` in pto-ir's `lower/sync`) that such small programs do not reach.
# long
# packages: valgrind python3
set -euo pipefail

pto=$BUILT/pto # which `test.sh` names
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each pattern is a way to make a program longer that some stage might look at once too often.
cat > "$work/patterns.py" <<'PATTERNS'
import sys

F, I = "!pto.tile_buf<vec, 8x32xf32>", "!pto.tile_buf<vec, 1x8xi32>"
HEAD = "func.func @k(%a: !pto.memref<8x32xf32>, %b: !pto.memref<1x8xi32>, %t: !pto.memref<64x32xf32>) {\n"
TAIL = "  return\n}\n"


def group(k):
    return (f"  %s{k} = pto.alloc_tile : {F}\n  %i{k} = pto.alloc_tile : {I}\n"
            f"  pto.tload ins(%a : !pto.memref<8x32xf32>) outs(%s{k} : {F})\n"
            f"  pto.tload ins(%b : !pto.memref<1x8xi32>) outs(%i{k} : {I})\n" + scatter(k))


def scatter(k):
    return (f"  pto.mscatter ins(%s{k}, %i{k} : {F}, {I}) outs(%t : !pto.memref<64x32xf32>) "
            "{coalesce = #pto<coalesce row>, scatterOob = #pto<scatter_oob skip>}\n")


def straight(n):
    return HEAD + "".join(group(k) for k in range(n)) + TAIL


def loops(n):
    c = "".join(f"  %{x} = arith.constant {v} : index\n" for x, v in (("c0", 0), ("c1", 1), ("c9", 9)))
    body = "".join(f"  scf.for %r{k} = %c0 to %c9 step %c1 {{\n{group(k)}  }}\n" for k in range(n))
    return HEAD + c + body + TAIL


def branches(n):
    c = "  %y = arith.constant true\n"
    return HEAD + c + "".join(f"  scf.if %y {{\n{group(k)}  }}\n" for k in range(n)) + TAIL


def long_lives(n):
    # Every tile is live until the end: placement and flags see them all at every point.
    n = max(1, n // 4)
    one = [group(k).replace(scatter(k), "") for k in range(n)]
    return HEAD + "".join(one) + "".join(scatter(k) for k in range(n)) + TAIL


def arithmetic(n):
    c = "  %v0 = arith.constant 1 : index\n"
    return HEAD + c + "".join(f"  %v{k + 1} = arith.addi %v{k}, %v{k} : index\n" for k in range(4 * n)) + TAIL


def functions(n):
    return "".join(HEAD.replace("@k", f"@k{k}") + group(k) + TAIL for k in range(n))


def errors(n):
    # Nothing is defined: a suggestion looks at up to 256 names, so few of them would show as growth.
    return HEAD + "".join(f"  pto.tloda ins(%nowhere{k} : f33) outs(%t : f32)\n" for k in range(2 * n)) + TAIL


def comments(n):
    return HEAD + "".join(f"  // {k}\n" for k in range(4 * n)) + TAIL


print(globals()[sys.argv[1]](int(sys.argv[2])), end="")
PATTERNS

count() { # a file, then a command: instructions
  local file=$1
  shift
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$pto" "$@" "$file" 2>&1 >/dev/null |
    sed -n "s/.*Collected : \([0-9]*\).*/\1/p" || true
}

# A program that a stage refuses is work all the same. What every start costs is taken off.
commands=("check --target a5" "fmt --form ssa" "lower --to level2 --target a5")
python3 "$work/patterns.py" straight 0 > "$work/empty.pto"
starts=()
for command in "${commands[@]}"; do
  starts+=("$(count "$work/empty.pto" $command)")
done

passed=0
failed=0
small=16
for pattern in straight loops branches long_lives arithmetic functions errors comments; do
  python3 "$work/patterns.py" "$pattern" "$small" > "$work/small.pto"
  python3 "$work/patterns.py" "$pattern" $((4 * small)) > "$work/large.pto"
  for at in "${!commands[@]}"; do
    command=${commands[$at]}
    less=$(($(count "$work/small.pto" $command) - starts[at]))
    more=$(($(count "$work/large.pto" $command) - starts[at]))
    if [ "$less" -gt 0 ] && [ $((more * 10)) -le $((less * 60)) ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "FAILED: $pattern, pto $command: $less instructions, $more for four times the program"
    fi
  done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
