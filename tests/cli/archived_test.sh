#!/bin/sh
# saikai ls, info, verify, rm and export of generations that lie in archives: the same words, exit codes and data as of the
# same generations in files; what is damaged, missing or unfinished is named. usage: archived_test.sh SAIKAI MAKE_STORE MAKE_TILES
set -u
saikai=$1
make_store=$2
make_tiles=$3
. "$(dirname "$(realpath "$0")")/store_helpers.sh"
newest=gen-0002-000000000200-1
older=gen-0002-000000000100-0
oldest=gen-0001-000000000010-0
mkdir -p files/saikai-store tiles/saikai-store
"$make_store" files/saikai-store && "$make_tiles" tiles/saikai-store || exit 1

# packed FROM TO: a copy of a store with all its generations in archives
packed()
{
    rm -rf "$2"
    cp -r "$1" "$2"
    for gen in "$2"/saikai-store/gen-*; do
        pack "$gen"
    done
}
packed files packed
packed tiles packed-tiles

# What may differ: how a generation lies there, and what takes its time from the clock.
strip()
{
    sed -e '/^Form  /d' -e 's/ (.* ago)$//' -e 's/"\(level\|form\|archives\|file_bytes\)":[^,]*,//g' "$1"
}

# same CODE FILES PACKED ARG...: of both the same is said, with this exit code
same()
{
    code=$1 one=$2 other=$3
    shift 3
    for d in "$one" "$other"; do
        (cd "$d" && "$saikai" "$@" > "$dir/out.$d" 2>&1 < /dev/null; echo "exit code $?" >> "$dir/out.$d")
        strip "$dir/out.$d" > "$dir/said.$d"
    done
    if ! cmp -s "said.$one" "said.$other" || ! grep -q "^exit code $code$" "said.$one"; then
        echo "saikai $*: exit code $code expected; $one and $other:"
        diff "said.$one" "said.$other" || cat "said.$one"
        failed=1
    fi
}
same 0 files packed ls --json
for gen in 10 100 200 250; do
    same $((gen == 250)) files packed info --gen $gen
    same $((gen == 250)) files packed info --gen $gen --json
    same $((gen == 250)) files packed info --gen $gen --rank 2
    same $((gen == 250)) files packed verify --gen $gen
    same $((gen == 250)) files packed verify --gen $gen --json
done
same 1 files packed info --rank 7
same 1 files packed info --gen 77
same 2 files packed info --gen seven
same 1 files packed verify
same 0 files packed info saikai-store/$older
same 2 files packed rm --all
same 1 files packed rm $newest --yes
for gen in 10 20 30 40; do
    same $((gen == 40)) tiles packed-tiles info --gen $gen
    same $((gen == 40)) tiles packed-tiles verify --gen $gen
done

expect 0 "^$older .* 3 of 3 archived  *files .* complete" ls files/saikai-store
expect 0 "^$older .* 3 of 3 archived  *2 archives .* complete, 1 start died$" ls packed/saikai-store
expect 0 '^gen-0003-000000000250-0 .* 2 of 3 -  *2 archives .* incomplete$' ls packed/saikai-store
json 0 "all(g['form'] == 'archives' and g['archives'] == 2 and 0 < g['file_bytes'] < g['size_bytes'] for g in d['generations'])" \
    ls packed/saikai-store
expect 2 "is an archive of several ranks' containers" verify packed/saikai-store/$older/set-000001.1-of-2.ska

# ---- export: the same files, byte for byte
"$saikai" export --hdf5 out.h5 packed/saikai-store > out 2>&1
with_hdf5=1
grep -q 'without HDF5' out && with_hdf5=0 && echo "skip export: built without HDF5"
# exported CODE FILES PACKED ARG...
exported()
{
    [ $with_hdf5 = 1 ] || return
    for try in 1 2 3; do # HDF5 may write the time of day, in seconds
        rm -f "$2/out.h5" "$3/out.h5"
        same "$1" "$2" "$3" export --hdf5 out.h5 "$4" "$5" "$6" "$7" $8
        [ "$1" = 0 ] || return
        cmp -s "$2/out.h5" "$3/out.h5" && return
    done
    cmp "$2/out.h5" "$3/out.h5"
    failed=1
}
for gen in 10 100 200; do
    exported 0 files packed --gen $gen --set far.memory=1KiB ''
done
exported 1 files packed --gen 250 --set far.memory=1KiB ''
exported 0 files packed --gen 250 --set far.memory=1KiB --partial
exported 0 files packed --gen 200 --rank 1 ''
exported 1 files packed --gen 200 --rank 5 ''
exported 0 files packed --gen 200 --variable u ''
exported 0 files packed --gen 200 --variable '[uz]' '--rank 2'
exported 1 files packed --gen 200 --variable nothing ''
exported 2 files packed --gen 200 --rank 1 --global
for gen in 10 20 30 40; do
    exported $((gen > 20)) tiles packed-tiles --gen $gen --set far.memory=1KiB --global
    exported 0 tiles packed-tiles --gen $gen --set far.memory=1KiB '--global --partial'
done
exported 0 tiles packed-tiles --gen 10 --variable t --global
exported 1 tiles packed-tiles --gen 10 --variable own --global

# ---- some in files, some in archives, and one in both
packed files mixed
rm -rf mixed/saikai-store/$older
cp -r files/saikai-store/$older mixed/saikai-store
cp files/saikai-store/$oldest/rank-000001.skc mixed/saikai-store/$oldest
same 1 files mixed verify
same 0 files mixed info --gen 10
exported 0 files mixed --gen 10 --set far.memory=1KiB ''
json 0 "[g['form'] for g in d['generations']] == ['archives', 'archives', 'files', 'both']" ls mixed/saikai-store
rm mixed/saikai-store/$oldest/set-000001.1-of-2.ska # of ranks 0 and, in its own file, 1
expect 1 'rank 0: the file is missing, it was in an archive' verify mixed/saikai-store/$oldest
expect 1 'Ranks       2 of 3' info mixed/saikai-store/$oldest

# ---- damage
one=damaged/saikai-store/$older/set-000001.1-of-2.ska
two=damaged/saikai-store/$older/set-000001.2-of-2.ska
# Index and ends of an archive are there twice: what is damaged once costs nothing. So it is the same file, or none and an error.
try_export()
{
    code=0
    "$saikai" export --hdf5 no.h5 damaged/saikai-store --gen 100 >out 2>&1 || code=$?
    if [ $code = 0 ]; then
        cmp -s no.h5 good.h5 || { echo "another file was exported after: $*"; failed=1; }
    elif [ $code != 1 ] || [ -e no.h5 ] || [ ! -s out ]; then
        echo "exit code $code, or an unfinished file, after: $*"
        cat out
        failed=1
    fi
    rm -f no.h5
}
# damaged_by COMMAND ARG...: afterwards it is found and said
damaged_by()
{
    packed files damaged
    rm -f good.h5
    [ $with_hdf5 = 0 ] || "$saikai" export --hdf5 good.h5 damaged/saikai-store --gen 100 >out 2>&1
    "$@"
    expect 1 "set-000001.2-of-2.ska" verify damaged/saikai-store --gen 100
    grep -q "put a good copy of the file back, or remove the generation: saikai rm damaged/saikai-store/$older" out ||
        { echo "not said what to do after: $*"; cat out; failed=1; }
    expect 0 'all good' verify damaged/saikai-store --gen 200
    [ $with_hdf5 = 0 ] || try_export "$@"
}
size=$(wc -c < packed/saikai-store/$older/set-000001.2-of-2.ska)
at=2
while [ $at -lt "$size" ]; do # also in what nothing but the restoring of the files needs
    damaged_by flip $two $at
    at=$((at + size / 23 + 1))
done
damaged_by truncate -s $((size - 10)) $two
damaged_by truncate -s 100 $two
expect 1 "^$older .* damaged" ls damaged/saikai-store
expect 1 'set-000001.2-of-2.ska' info damaged/saikai-store/$older
damaged_by truncate -s 0 $two
damaged_by rm $two
expect 1 "^$older: INCOMPLETE, 1 of 3 ranks" verify damaged/saikai-store --gen 100
expect 1 "$two is missing" verify damaged/saikai-store --gen 100
expect 1 'rank 1-2: the file is missing' verify damaged/saikai-store --gen 100
expect 1 "^$older .* 1 of 3 .* incomplete" ls damaged/saikai-store
expect 1 '^Missing     rank 1-2' info damaged/saikai-store/$older
json 1 "d['generations'][0]['missing_archives'] == ['$two'] and not d['good']" verify damaged/saikai-store --gen 100
packed files damaged
flip $one 100
json 1 "'1-of-2' in d['generations'][0]['faults'][0]['file'] and d['generations'][0]['state'] == 'complete'" \
    verify damaged/saikai-store --gen 100
# a container that was damaged before it was archived
packed files damaged
rm $two
flip files/saikai-store/$older/rank-000002.skc 200
(cd files/saikai-store/$older && "$saikai" archive create -q -o "$dir/$two" rank-000001.skc rank-000002.skc)
expect 1 "rank 2, variable 'u': .*set-000001.2-of-2.ska:rank-000002.skc: chunk 0" verify damaged/saikai-store/$older
flip files/saikai-store/$older/rank-000002.skc 200
# a container of another generation
(cd files/saikai-store/$oldest && "$saikai" archive create -q -o "$dir/$two" rank-000001.skc rank-000002.skc)
expect 1 'rank 1: .*holds rank 1 of iteration 10 instead' verify damaged/saikai-store/$older

# ---- unfinished
packed files packed
new=gen-0004-000000000300-0
mkdir packed/saikai-store/$new
: > packed/saikai-store/$new/set-000001.1-of-2.ska.123.tmp
expect 0 "^$new .* 0 of ?  *-  *-  .* unfinished$" ls packed/saikai-store
expect 0 "^Generation  $newest" info packed/saikai-store
expect 1 "^$new: INCOMPLETE" verify packed/saikai-store
cp packed/saikai-store/$newest/set-000001.1-of-2.ska packed/saikai-store/$new
expect 0 "^$new .* incomplete$" ls packed/saikai-store
expect 0 "^$newest: good, 3 of 3 ranks" verify packed/saikai-store --gen newest
expect 0 "removed 1 generation" rm -y packed/saikai-store --gen 300
[ -e packed/saikai-store/$new ] && { echo "$new is still there"; failed=1; }
expect 0 'removed 2 generations' rm -y --keep 1 packed/saikai-store
exit $failed
