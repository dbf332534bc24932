#!/bin/sh
# saikai export --global and what info says of tiles. usage: global_test.sh SAIKAI MAKE_TILES
set -u
saikai=$1
make_tiles=$2
. "$(dirname "$(realpath "$0")")/store_helpers.sh"
export SAIKAI_STORE_PREFIX="$dir/store"
mkdir store && "$make_tiles" store || exit 1

expect 0 'part of 11x17' info --gen 10
expect 0 'same on all ranks' info --gen 10
expect 0 '"scope": *"global"' info --json --gen 10
expect 0 '"global_dims": *\[' info --json --gen 10
"$saikai" export --hdf5 out.h5 --global --gen 10 > out 2>&1
if grep -q 'without HDF5' out; then
    echo "skip export: built without HDF5"
    exit $failed
fi
expect 0 '^out.h5: 6 ranks' export --hdf5 out.h5 --global --gen 10
expect 0 '^coded.h5: 6 ranks' export --hdf5 coded.h5 --global store/gen-0001-000000000020-0
expect 1 "do not have \[10:11, 11:17\] of 't'" export --hdf5 no.h5 --global --gen 30
expect 0 '6 ranks' export --hdf5 gap.h5 --global --partial --gen 30
expect 1 'missing rank 3' export --hdf5 no.h5 --global --gen 40
expect 2 'does not go with it' export --hdf5 no.h5 --global store/gen-0001-000000000010-0/rank-000001.skc
[ ! -e no.h5 ] || { echo "an export that failed left a file"; failed=1; }
if ! command -v h5dump > /dev/null; then
    echo "skip h5dump: not found"
    exit $failed
fi
# every value of an array, as h5dump prints it
values()
{
    h5dump -d "$2" -y -w 1 "$1" | sed -n '/DATA {/,/}/p' | grep -o '^ *-\{0,1\}[0-9.]\{1,\},\{0,1\}$' | tr -d ' ,'
}
for j in 0 1 2 3 4 5 6 7 8 9 10; do
    i=0
    while [ $i -lt 17 ]; do
        echo $((100 * j + i))
        i=$((i + 1))
    done
done > expected
for file in out.h5 coded.h5; do
    values $file /t > got
    cmp -s expected got || { echo "$file: /t has other values"; diff expected got | head; failed=1; }
done
awk 'NR > 10 * 17 + 11 { $0 = 0 } { print }' expected > expected.gap
values gap.h5 /t > got
cmp -s expected.gap got || { echo "gap.h5: /t has other values"; diff expected.gap got | head; failed=1; }
dump 'DATASPACE SIMPLE { ( 11, 17 ) ' -H -d /t out.h5
dump '(19): { 19, -19 }' -d /fluid%2Fz out.h5
dump '(0): 10 }' -d /step out.h5
dump '"replicated"' -a /step/scope out.h5
dump '(0): 6 }' -a /ranks out.h5
h5dump -d /own out.h5 > /dev/null 2>&1 && { echo "/own belongs to single ranks"; failed=1; }
# by ranks: where each tile lies
expect 0 '6 ranks' export --hdf5 ranks.h5 --gen 10
dump '(0): 11, 17 }' -a /rank000004/t/global_dims ranks.h5
dump '(0): 5, 5 }' -a /rank000004/t/offset ranks.h5
exit $failed
