#!/bin/sh
# saikai compress, decompress and compare: round trips, bounds, inputs of every kind, mistakes and damage.
# usage: compress_test.sh SAIKAI MAKE_FIELD
set -eu
saikai=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$2" "$work"
cd "$work"
fail() { echo "FAILED: $*" >&2; exit 1; }
# refused CODE PATTERN COMMAND...: exits with CODE and says PATTERN
refused() {
    code=$1 pattern=$2
    shift 2
    got=0
    "$@" >out.txt 2>&1 || got=$?
    [ $got -eq "$code" ] || { cat out.txt; fail "exit code $got instead of $code: $*"; }
    grep -q -e "$pattern" out.txt || { cat out.txt; fail "no word of '$pattern': $*"; }
}
has() { # CODEC: this build has it
    "$saikai" compress -q -c "$1" -t f64 field.f64 has.sks 2>/dev/null
}
f64="--type f64 --dims 12x20x31"

# lossless: default, by name, chains, levels, threads and pieces; the same bytes for any number of threads
for how in "" "-c zstd" "-c zstd:19" "-c gzip --level 9" "-c lz4" "-c raw" "-c shuffle+zstd" "-c fpc" \
    "-c fpzip" "-c predict" "-c fast" "--piece 4KiB"; do
    codec=$(echo "$how" | sed -n 's/^-c \([a-z0-9+]*\).*/\1/p')
    if [ -n "$codec" ] && ! has "$codec"; then continue; fi
    # shellcheck disable=SC2086
    "$saikai" compress -q $how -j 1 $f64 field.f64 a.sks
    # shellcheck disable=SC2086
    "$saikai" compress -q $how -j 3 $f64 field.f64 b.sks
    cmp a.sks b.sks || fail "threads change the bytes: $how"
    "$saikai" decompress -q -j 2 a.sks back.f64
    cmp back.f64 field.f64 || fail "round trip: $how"
    "$saikai" compare --bound exact $f64 field.f64 a.sks >/dev/null || fail "compare: $how"
done
"$saikai" compress $f64 --json field.f64 a.sks | grep -q '"compressed_bytes"' || fail "json of compress"

# auto: never more than what a slow disk deserves; a bound makes the wavelet compete
"$saikai" compress -c auto $f64 field.f64 a.sks >out.txt
"$saikai" compare --bound exact $f64 field.f64 a.sks >/dev/null || fail "auto is not exact"
"$saikai" compress -c auto --bandwidth 1TB $f64 field.f64 b.sks >out.txt
[ "$(stat -c %s a.sks)" -le "$(stat -c %s b.sks)" ] || fail "auto: the smallest is larger than the fastest"
if has wavelet; then
    "$saikai" compress -c auto --bandwidth 10kB --bound rel:1e-3 $f64 field.f64 b.sks >out.txt
    grep -q "wavelet" out.txt || { cat out.txt; fail "auto does not use the bound"; }
    "$saikai" compare --bound rel:1e-3 $f64 field.f64 b.sks >/dev/null || fail "auto broke the bound"
fi

# the 2015 method: lossy, near, NaN kept
"$saikai" compress -c haar --parameter n=128,quantiser=simple $f64 field.f64 h.sks | grep -q "without a bound" ||
    fail "haar does not say that it keeps no bound"
refused 1 "differ: *[1-9]" "$saikai" compare --bound exact $f64 field.f64 h.sks
"$saikai" compare --bound rel:0.05 $f64 field.f64 h.sks >out.txt || fail "haar is far off"
grep -q "not finite: *1, of them 0" out.txt || fail "NaN was not kept"
refused 1 "BROKEN" "$saikai" compare --bound rel:1e-9 $f64 field.f64 h.sks
refused 2 "keeps no bound" "$saikai" compress -c haar --bound rel:1e-3 $f64 field.f64 x.sks
refused 2 "give --bound" "$saikai" compress -c quick $f64 field.f64 x.sks
"$saikai" compress -c quick --bound rel:1e-3 $f64 field.f64 quick.sks >out.txt || fail "quick does not take a bound"
"$saikai" compare --bound rel:1e-3 $f64 field.f64 quick.sks >out.txt || fail "quick does not keep its bound"
refused 1 "n=0" "$saikai" compress -c haar --parameter n=0 $f64 field.f64 x.sks

# plots: whole documents, a curve and three panels
"$saikai" compare --svg plot $f64 field.f64 h.sks >/dev/null || fail "plots"
tail -1 plot-histogram.svg | grep -q "</svg>" || fail "no histogram"
grep -q "B - A" plot-slice.svg || fail "no slice"
[ "$(grep -c '<rect' plot-slice.svg)" -gt 1800 ] || fail "the slice is not drawn"
refused 1 "nonesuch/plot" "$saikai" compare --svg nonesuch/plot $f64 field.f64 h.sks

# bounds
if has wavelet; then
    for bound in abs:0.01 rel:1e-2 rel:1e-4 psnr:70; do
        "$saikai" compress -q --bound $bound $f64 field.f64 w.sks
        "$saikai" compare --bound $bound $f64 field.f64 w.sks >out.txt || { cat out.txt; fail "bound $bound"; }
        [ "$(stat -c %s w.sks)" -lt 20000 ] || fail "bound $bound: large"
    done
    "$saikai" compress --verify --bound rel:1e-3 --type f32 --dims 240x31 field.f32 w.sks |
        grep -q "largest error: [0-9]" || fail "--verify says no error"
fi

# variables of HDF5 and netCDF files
for file in field.h5:/group/T field.nc:/T; do
    [ -e "${file%%:*}" ] || continue
    "$saikai" compress -q "$file" v.sks
    "$saikai" decompress -q v.sks back.f64
    cmp back.f64 field.f64 || fail "$file"
    "$saikai" compare --bound exact "$file" field.f64 >/dev/null || fail "compare $file"
    refused 1 "level" "$saikai" compress "${file%%:*}" x.sks
    refused 1 "has no .*level" "$saikai" compress "${file%%:*}:/nonesuch" x.sks
    refused 1 "not 5x5: leave --dims out" "$saikai" compress --dims 5x5 "$file" x.sks
    refused 1 "not i32: leave --type out" "$saikai" compress --type i32 "$file" x.sks
    "$saikai" compress -q --bound abs:1 "$(echo "$file" | sed 's/T$/level/')" i.sks
    "$saikai" compare --bound exact "$(echo "$file" | sed 's/T$/level/')" i.sks >/dev/null ||
        fail "a bound touched integers: $file"
done
if [ -e field.h5 ]; then
    refused 1 "neither integer nor float" "$saikai" compress field.h5:/name x.sks
    head -c 3000 field.h5 >cut.h5
    refused 1 "cut.h5: HDF5 cannot open it" "$saikai" compress cut.h5:/group/T x.sks
fi

# mistakes, each with its remedy
refused 2 "--type" "$saikai" compress field.f64 x.sks
refused 1 "correct --dims or --type" "$saikai" compress --type f64 --dims 12x20x30 field.f64 x.sks
refused 2 "slowest first" "$saikai" compress --type f64 --dims 12,20 field.f64 x.sks
refused 2 "--type 'f16'" "$saikai" compress --type f16 field.f64 x.sks
refused 2 "rel:X" "$saikai" compress --bound 1e-3 $f64 field.f64 x.sks
refused 2 "no codec is named 'sz'" "$saikai" compress -c sz $f64 field.f64 x.sks
refused 1 "No such file" "$saikai" compress $f64 nonesuch.f64 x.sks
refused 1 "field.f64: .*not" "$saikai" decompress field.f64 x.f64
refused 1 "f32" "$saikai" compare --type f64 field.f64 field.f32:/x
refused 2 "holds raw values" "$saikai" compare field.f64 field.f32
refused 1 "values" "$saikai" compare --type f32 field.f64 field.f32
[ ! -e x.sks ] && [ ! -e x.f64 ] || fail "a failed command left an output"

# damage: named, and no output
"$saikai" compress -q -c zstd --piece 8KiB $f64 field.f64 d.sks
size=$(stat -c %s d.sks)
printf 'XXXX' | dd of=d.sks bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
refused 1 "d.sks.*piece" "$saikai" decompress d.sks x.f64
head -c $((size - 100)) d.sks >t.sks
refused 1 "t.sks" "$saikai" decompress t.sks x.f64
refused 1 "t.sks" "$saikai" compare $f64 field.f64 t.sks
[ ! -e x.f64 ] || fail "damage left an output"
ls | grep -q 'tmp' && fail "temporary files are left: $(ls)"

# an existing output stays until the new one is complete; empty arrays
cp field.f32 keep.f64
refused 1 "d.sks" "$saikai" decompress d.sks keep.f64
cmp keep.f64 field.f32 || fail "a failed decompress touched the old output"
: >empty.f64
"$saikai" compress -q --type f64 empty.f64 e.sks
"$saikai" decompress -q e.sks e.f64
[ -e e.f64 ] && [ ! -s e.f64 ] || fail "empty array"
echo "passed"
