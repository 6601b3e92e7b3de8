#!/usr/bin/env bash
# The pages in a real browser: sections and drawn elements are there, the script ran, nothing was injected.
# packages: chromium
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$BUILT/examples/sample" "$work" # which `test.sh` names

passed=0
failed=0
check() { # description, then a command that succeeds
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $what"
  fi
}

# Chromium with a profile of its own; its log on standard error has the page's console.
browse() {
  local profile
  profile=$(mktemp -d -p "$work")
  timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars \
    --enable-logging=stderr --user-data-dir="$profile" "$@"
}

at_least() { # number, pattern, file
  [ "$(grep -o -- "$2" "$3" | wc -l)" -ge "$1" ]
}
absent() { # pattern, file
  ! grep -q -- "$1" "$2"
}
is_picture() { # file: a PNG of more than an empty page
  [ "$(head -c 4 "$1" | tail -c 3)" = PNG ] && [ "$(stat -c %s "$1")" -gt 20000 ]
}

# name, then the least number of cells, runs and tiles that the page must show
page() {
  local name=$1 cells=$2 runs=$3 tiles=$4
  local dom="$work/$name.dom" log="$work/$name.log"
  browse --dump-dom "file://$work/$name.html" >"$dom" 2>"$log" || true
  for id in verdict timeline ub operation-0; do
    check "$name: section $id" at_least 1 "id=\"$id\"" "$dom"
  done
  check "$name: $cells cells" at_least "$cells" 'class="cell ' "$dom"
  check "$name: $runs runs" at_least "$runs" 'class="block' "$dom"
  check "$name: $tiles tiles" at_least "$tiles" 'class="tile' "$dom"
  check "$name: the script ran to its end" at_least 1 '<html [^>]*data-ready="[0-2]"' "$dom"
  check "$name: no error on the console" absent 'CONSOLE' "$log"
  check "$name: nothing injected" absent '<script>window\|<img' "$dom"
}

page rows 32 20 4
page elements 80 4 3
page gather 100 20 4
page large 1500 20 4
page long 5000 500 100
page cpu 12 0 2
page hostile 80 4 3

# A page that uses itself: stretching, moving and tips, and what came of it in an attribute.
probe='<script>
  window.addEventListener("load", function () {
    document.querySelector("[data-zoom=\"2\"]").click();
    var wide = document.querySelector(".time").getAttribute("width");
    var block = document.querySelector(".block");
    block.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 9, clientY: 9 }));
    var tip = document.getElementById("tip");
    document.documentElement.dataset.probe = [wide, tip.hidden, tip.textContent.includes("rows.pto:")].join(" ");
  });
</script>'
{ cat "$work/rows.html"; printf '%s' "$probe"; } >"$work/probe.html"
browse --dump-dom "file://$work/probe.html" >"$work/probe.dom" 2>/dev/null || true
check "the page can be stretched and shows tips" at_least 1 'data-probe="200% false true"' "$work/probe.dom"

for name in rows elements gather large; do
  for form in html svg; do
    for scheme in 0 1; do # dark, light
      png="$work/$name.$form.$scheme.png"
      browse --window-size=1200,1400 --blink-settings=preferredColorScheme=$scheme \
        --screenshot="$png" "file://$work/$name.$form" >/dev/null 2>&1 || true
      check "$name.$form is drawn (scheme $scheme)" is_picture "$png"
    done
    check "$name.$form differs between light and dark" bash -c "! cmp -s '$work/$name.$form.0.png' '$work/$name.$form.1.png'"
  done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
