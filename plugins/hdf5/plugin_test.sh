#!/bin/sh
# The filter plug-in under HDF5's own tools: exact and bounded round trips, damage, misuse.
# usage: plugin_test.sh EXAMPLE_PROGRAM PLUGIN_FOLDER
set -eu
example=$1
plugin=$2
for tool in h5repack h5diff h5dump; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HDF5_PLUGIN_PATH="$plugin"
fail() { echo "FAILED: $*" >&2; exit 1; }
repack() { # NUMBERS OUT: every dataset of plain.h5 through the filter; 1 when this build lacks the codec
    n=$(echo "$1" | tr ',' '\n' | wc -l)
    h5repack --enable-error-stack -f "UD=397,0,$n,$1" "$work/plain.h5" "$2" >"$work/log" 2>&1 || true
    if grep -q "no codec is named" "$work/log"; then return 1; fi
    h5dump -p -H "$2" | grep -q "FILTER_ID 397" || { cat "$work/log"; fail "filter $1 was not applied"; }
}

# a program that writes and reads through the filter, and the plain file the tools start from
"$example" "$work/written.h5" 0 >"$work/log" || fail "example with the filter"
grep -q "error [^0]" "$work/log" && fail "the default codec is not exact: $(cat "$work/log")"
"$example" "$work/plain.h5" >/dev/null || fail "example without the filter"
h5diff "$work/plain.h5" "$work/written.h5" || fail "written through the filter differs"

# exact codecs: every dataset, also big-endian and integer, bit for bit; and readable by h5dump
tried=0
for numbers in 0 1 2,9 3 4 5 6 7 9 10 11; do
    repack "$numbers" "$work/packed.h5" || continue
    tried=$((tried + 1))
    h5diff "$work/plain.h5" "$work/packed.h5" || fail "exact codec $numbers"
    h5dump -d /T -b LE -o "$work/a" "$work/plain.h5" >/dev/null
    h5dump -d /T -b LE -o "$work/b" "$work/packed.h5" >/dev/null
    cmp "$work/a" "$work/b" || fail "bits of codec $numbers"
done
[ $tried -ge 2 ] || fail "only $tried codecs could be tried"

# haar: smaller, close, and integers exact
repack 8 "$work/haar.h5" || fail "no haar"
h5diff "$work/plain.h5" "$work/haar.h5" /level /level || fail "haar touched integers"
h5diff -d 1.5 "$work/plain.h5" "$work/haar.h5" /T /T >/dev/null || fail "haar is far off"
[ "$(stat -c %s "$work/haar.h5")" -lt "$(stat -c %s "$work/plain.h5")" ] || fail "haar is larger"

# bounded: absolute 0.01, relative 1e-4 (values span less than 88, with the edge chunks' padding 317)
if repack 9,0,1,1,2 "$work/bounded.h5"; then
    h5diff -d 0.0100001 "$work/plain.h5" "$work/bounded.h5" || fail "bound of 0.01"
    h5diff "$work/plain.h5" "$work/bounded.h5" /level /level || fail "a bound touched integers"
    [ "$(stat -c %s "$work/bounded.h5")" -lt 60000 ] || fail "bounded file is large"
    repack 0,0,2,1,4 "$work/bounded.h5" || fail "relative bound"
    h5diff -d 0.0088 "$work/plain.h5" "$work/bounded.h5" || fail "bound of 1e-4"
    # values must reach a lossy codec unshuffled
    h5repack --enable-error-stack -f SHUF -f UD=397,0,5,9,0,1,1,2 "$work/plain.h5" "$work/shuffled.h5" \
        >"$work/log" 2>&1 || true
    grep -q "must be the first filter" "$work/log" || fail "a lossy codec behind a shuffle was accepted"
fi

# misuse is refused with a reason
for numbers in 99 8,0,2,1,3 2,0,7,1,1 2,0,1,0,0; do
    h5repack --enable-error-stack -f "UD=397,0,$(echo $numbers | tr ',' '\n' | wc -l),$numbers" \
        "$work/plain.h5" "$work/refused.h5" >"$work/log" 2>&1 || true
    grep -q "saikai filter" "$work/log" || fail "numbers $numbers were accepted"
done

# a damaged chunk is an error, never other data
repack 2 "$work/packed.h5"
offset=$(grep -abo SKH1 "$work/packed.h5" | head -1 | cut -d: -f1)
printf '\377\377\377\377' | dd of="$work/packed.h5" bs=1 seek=$((offset + 60)) conv=notrunc 2>/dev/null
if h5dump --enable-error-stack -d /T "$work/packed.h5" >"$work/log" 2>&1; then fail "damage was read"; fi
grep -q "is damaged (checksum)" "$work/log" || { cat "$work/log"; od -A d -t x1 -j $((offset - 16)) -N 128 "$work/packed.h5"; fail "damage was not named"; }
# without the plug-in the file does not open as something else
if HDF5_PLUGIN_PATH=/nonexistent h5dump -d /T "$work/written.h5" >/dev/null 2>&1; then
    fail "read without the plug-in"
fi
echo "passed"
